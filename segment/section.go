package segment

import (
	"context"
	"encoding/binary"
	"fmt"

	"logstow/blobnaming"
	"logstow/filter"
)

// newFrame returns the header of a frame without its length, which addSection sets.
func newFrame() []byte {
	return append(binary.LittleEndian.AppendUint32(nil, frameMagic), 0, 0, 0, 0)
}

// addSection sets the length of a frame of newFrame, and adds it to f as the last section.
func (f *Footer) addSection(name string, frame []byte) {
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)-frameHeader))
	f.Sections = append(f.Sections, Section{Name: name, Offset: f.Footer, Length: int64(len(frame)), Hash: HashOf(frame)})
	f.Footer += int64(len(frame))
}

// filterSection is the name of the section of the token filter.
const filterSection = "filter"

// encodeFilter encodes the section of the token filter as a frame and adds it to f. It is nil if there are too many
// tokens for a filter.
func encodeFilter(b *filter.Builder, f *Footer) []byte {
	frame, partitions, length := b.Append(newFrame())
	if partitions == 0 {
		return nil
	}
	f.Filter = blobnaming.Filter{Offset: f.Footer + frameHeader, Partitions: partitions, SliceLength: length}
	f.addSection(filterSection, frame)
	return frame
}

// verifyFilter verifies each slice of the token filter, and that the filter contains the tokens of each block.
func verifyFilter(ctx context.Context, read Range, f *Footer, tokens []filter.Set) error {
	const piece = 1 << 20
	if f.Filter == (blobnaming.Filter{}) {
		return nil
	}
	at, length, ok := filter.Locate(f.Filter, 0)
	if !ok {
		return corruptFilter(f.Filter.Offset, "no filter is of %d slices of %d bytes", f.Filter.Partitions, f.Filter.SliceLength)
	}
	for p := int64(0); p < f.Filter.Partitions; {
		n := min(max(1, piece/length), f.Filter.Partitions-p)
		stored, err := readRange(ctx, read, at+p*length, n*length)
		if err != nil {
			return fmt.Errorf("read token filter of segment: %w", err)
		}
		for ; len(stored) > 0; p++ {
			if err := verifySlice(stored[:length], p, f, tokens); err != nil {
				return corruptFilter(at+p*length, "%v", err)
			}
			stored = stored[length:]
		}
	}
	return nil
}

func verifySlice(stored []byte, partition int64, f *Footer, tokens []filter.Set) error {
	s, err := filter.ParseSlice(stored)
	if err == nil {
		err = s.Check(partition, f.Filter.Partitions, len(f.Blocks))
	}
	if err != nil {
		return err
	}
	for i, set := range tokens {
		if !s.Holds(i, set) {
			return fmt.Errorf("a token of block %d is missing", i)
		}
	}
	return nil
}

func corruptFilter(at int64, format string, args ...any) error {
	return &CorruptError{Part: "section " + filterSection, Offset: at, Reason: fmt.Sprintf(format, args...)}
}
