package segment

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"logstow/blobnaming"
	"logstow/filter"
	"logstow/record"
)

// Verify reads and verifies a whole segment of size bytes: the footer, the hashes of blocks and sections, the syntax,
// order, times and levels of the records, the minutes, sources and label attributes. It checks that the token filter contains all tokens,
// that the columns have the values of the text, and for a compaction output the order, counts and sums of each input's
// records. Damage is a [*CorruptError]. To compare the result with the blob's metadata, call [Footer.Check].
func Verify(ctx context.Context, read Range, size int64) (*Footer, error) {
	f, err := verifyFooter(ctx, read, size)
	if err != nil {
		return nil, err
	}
	v := verifier{
		decoder:  NewDecoder(),
		all:      newTally(f.BucketStart, f.BucketWidth),
		filtered: f.Filter != (blobnaming.Filter{}),
		instance: f.Instance,
	}
	v.all.labels.unlisted = f.Unlisted
	if err := verifySections(ctx, read, f); err != nil {
		return nil, err
	}
	if v.columns, err = newColumnVerifier(ctx, read, f); err != nil {
		return nil, err
	}
	if f.Instances != nil {
		v.instanceOf = f.InstanceOf
	}
	if f.IsOutput() {
		if v.origins, err = newOriginVerifier(ctx, read, f); err != nil {
			return nil, err
		}
	}
	if err := verifyBlocks(ctx, read, f, v.block); err != nil {
		return nil, err
	}
	if v.origins != nil {
		if err := v.origins.done(f); err != nil {
			return nil, err
		}
	}
	if err := verifyFilter(ctx, read, f, v.tokens); err != nil {
		return nil, err
	}
	if !slices.Equal(v.all.listMinutes(), f.Minutes) || !slices.Equal(v.all.listOnMinute(), f.OnMinute) {
		return nil, corruptFooter(f.Footer, "its minutes are not those of the records")
	}
	if !slices.Equal(v.all.listSources(), f.Sources) {
		return nil, corruptFooter(f.Footer, "its sources are not those of the records")
	}
	if labels, _ := v.all.labels.list(); !slices.Equal(labels, f.Labels) {
		return nil, corruptFooter(f.Footer, "its label attributes are not those of the records")
	}
	return f, nil
}

// VerifyStored is the part of [Verify] that detects damage in storage and transfer: it verifies the footer and all
// hashes without decompressing.
func VerifyStored(ctx context.Context, read Range, size int64) (*Footer, error) {
	f, err := verifyFooter(ctx, read, size)
	if err != nil {
		return nil, err
	}
	if err := verifyBlocks(ctx, read, f, checkStored); err != nil {
		return nil, err
	}
	if err := verifySections(ctx, read, f); err != nil {
		return nil, err
	}
	return f, nil
}

// verifyFooter is ReadFooter for a blob that must be a segment.
func verifyFooter(ctx context.Context, read Range, size int64) (*Footer, error) {
	f, err := ReadFooter(ctx, read, size, -1)
	if errors.Is(err, ErrNoFooter) {
		err = corruptTrailer(size, "no magic at the blob's end")
	}
	return f, err
}

func verifyBlocks(ctx context.Context, read Range, f *Footer, check func(stored []byte, b Block) error) error {
	for _, b := range f.Blocks {
		stored, err := readRange(ctx, read, b.Offset, b.Stored)
		if err != nil {
			return fmt.Errorf("read block %d of segment: %w", b.Index, err)
		}
		if err := check(stored, b); err != nil {
			return err
		}
	}
	return nil
}

func verifySections(ctx context.Context, read Range, f *Footer) error {
	for _, s := range f.Sections {
		hash, head, err := hashRange(ctx, read, s.Offset, s.Length)
		switch {
		case err != nil:
			return fmt.Errorf("read section %s of segment: %w", s.Name, err)
		case hash != s.Hash:
			return s.corrupt("hash is %s, %s expected", hash, s.Hash)
		case binary.LittleEndian.Uint32(head) != frameMagic, int64(binary.LittleEndian.Uint32(head[4:])) != s.Length-frameHeader:
			return s.corrupt("it is not one skippable frame")
		}
	}
	return nil
}

// hashRange reads n bytes at off piece by piece. It returns their hash and the first min(n, 8) bytes.
func hashRange(ctx context.Context, read Range, off, n int64) (hash Hash, head []byte, err error) {
	const piece = 1 << 20
	h := sha256.New()
	for n > 0 {
		b, err := readRange(ctx, read, off, min(n, piece))
		if err != nil {
			return Hash{}, nil, err
		}
		if head == nil {
			head = b[:min(len(b), frameHeader)]
		}
		_, _ = h.Write(b) // never fails
		off, n = off+int64(len(b)), n-int64(len(b))
	}
	return Hash(h.Sum(nil)), head, nil
}

// verifier verifies the text of one segment's blocks and recounts its records.
type verifier struct {
	decoder *Decoder
	text    []byte
	all     tally
	// filtered is set if the segment has a token filter; tokens then has the tokens of each block so far.
	filtered  bool
	collector filter.Collector
	tokens    []filter.Set
	prefixBuf [][2]int
	// instance is that of a plain segment; instanceOf returns that of a block, nil if all are the same.
	instance   string
	instanceOf func(Block) string
	// columns verifies the columns; nil if there are none.
	columns *columnVerifier
	// origins verifies the origins of an output; nil for a plain segment.
	origins *originVerifier
}

func (v *verifier) block(stored []byte, b Block) (err error) {
	if v.text, err = v.decoder.DecodeBlock(v.text[:0], stored, b); err != nil {
		return err
	}
	if v.origins != nil {
		if err := v.origins.startBlock(b); err != nil {
			return err
		}
	}
	if v.columns != nil {
		if err := v.columns.startBlock(b); err != nil {
			return err
		}
	}
	var n uint64
	if v.instanceOf != nil {
		v.instance = v.instanceOf(b)
	}
	var check BlockCheck
	check.Reset(&b)
	source := ""
	v.prefixBuf = v.prefixBuf[:0]
	for rest := v.text; len(rest) > 0; n++ {
		var line record.Line
		if line, rest, err = record.Next(rest); err != nil {
			return b.Corrupt("record %d: %v", n, err)
		}
		if !v.all.covers(line.Time) {
			return b.Corrupt("record %d is outside the bucket", n)
		}
		check.Add(line.Text, &line.Columns)
		instance := v.instance
		if v.origins != nil {
			if instance, err = v.origins.add(line, n, b); err != nil {
				return err
			}
		}
		if v.columns != nil {
			if err := v.columns.add(line, n, b); err != nil {
				return err
			}
		}
		if string(line.Source) != source {
			source = string(line.Source)
		}
		v.all.add(line.Time, line.Level, source)
		v.all.labels.add(line.Time, line.Level, line.Attributes, instance, len(line.Raw))
		if v.filtered {
			from := len(v.text) - len(rest) - len(line.Text)
			v.prefixBuf = append(v.prefixBuf, [2]int{from, from + line.Prefix()})
		}
	}
	if v.filtered {
		v.tokens = append(v.tokens, v.collector.Collect(v.text, v.prefixes()))
	}
	return check.Done(true)
}

// prefixes yields start and end of the text before the attributes and the message of each record.
func (v *verifier) prefixes() iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for _, p := range v.prefixBuf {
			if !yield(p[0], p[1]) {
				return
			}
		}
	}
}
