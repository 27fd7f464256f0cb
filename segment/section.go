package segment

import (
	"context"
	"encoding/binary"
	"fmt"

	"logstow/blobnaming"
	"logstow/filter"
)

// filterSection is the name of the section of the token filter.
const filterSection = "filter"

// appendFilter appends the section of the token filter, for offset in the blob, to dst. There is
// none if there are too many tokens for a filter.
func appendFilter(dst []byte, b *filter.Builder, offset int64) ([]byte, Section, blobnaming.Filter) {
	dst = binary.LittleEndian.AppendUint32(dst, frameMagic)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst, partitions, length := b.Append(dst)
	if partitions == 0 {
		return nil, Section{}, blobnaming.Filter{}
	}
	binary.LittleEndian.PutUint32(dst[4:], uint32(len(dst)-frameHeader))
	return dst,
		Section{Name: filterSection, Offset: offset, Length: int64(len(dst)), CRC: checksum(dst)},
		blobnaming.Filter{Offset: offset + frameHeader, Partitions: partitions, SliceLength: length}
}

// verifyFilter verifies each slice of the token filter, and that it contains the tokens of each
// block.
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
