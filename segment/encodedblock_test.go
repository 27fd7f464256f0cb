package segment_test

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/columns"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/segment"
)

// byTime are records as a block has them.
func byTime(records []record.Record) []record.Record {
	records = cleaned(records)
	slices.SortStableFunc(records, func(x, y record.Record) int { return cmp.Compare(x.Time, y.Time) })
	return records
}

// A segment of encoded blocks and of records between them holds what one of records alone does, in the same order.
func TestEncodedBlocks(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many blocks")
	rnd := testrand.New(t)
	compressor, decoder := segment.NewCompressor(), segment.NewDecoder()
	for round := range (effort.Cases{Test: 5, Full: 12}).N() {
		opts := options()
		opts.Compressor, opts.NoFilter, opts.BlockSize = compressor, round%3 == 0, 1+rnd.IntN(8<<10)
		var out bytes.Buffer
		w := segment.NewWriter(&out, opts)
		var all []record.Record
		var blocks [][]record.Record // those that are known
		for range 1 + rnd.IntN(6) {
			records := randomRecords(rnd, 1+rnd.IntN(200))
			all = append(all, records...)
			if rnd.IntN(2) == 0 {
				for _, r := range records {
					if err := w.Append(r); err != nil {
						t.Fatal(err)
					}
				}
				continue
			}
			b := compressor.EncodeBlock(records, opts.NoFilter)
			if b.Records() != len(records) {
				t.Fatalf("%d records, want %d", b.Records(), len(records))
			}
			decoded, err := decoder.DecodeRecords(b.Stored())
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(byTime(records), comparable(decoded)); diff != "" {
				t.Fatalf("decoded from the log (-want +got):\n%s", diff)
			}
			if err := w.AppendBlock(b); err != nil {
				t.Fatal(err)
			}
			blocks = append(blocks, byTime(records))
		}
		m, err := w.Close(7)
		if err != nil {
			t.Fatal(err)
		}
		blob := out.Bytes()
		f, err := verify(t, blob)
		if err != nil {
			t.Fatal(err)
		}
		want, wantMeta := write(t, opts, all...)
		wantFooter, err := verify(t, want)
		if err != nil {
			t.Fatal(err)
		}
		if m.Start != wantMeta.Start || m.End != wantMeta.End || m.Records != wantMeta.Records || m.RawBytes != wantMeta.RawBytes || m.Levels != wantMeta.Levels {
			t.Fatalf("metadata %+v, want %+v", m, wantMeta)
		}
		if diff := gocmp.Diff(wantFooter.Minutes, f.Minutes); diff != "" {
			t.Fatal(diff)
		}
		if diff := gocmp.Diff(wantFooter.Sources, f.Sources); diff != "" {
			t.Fatal(diff)
		}
		if (len(f.Sections) == 0) != opts.NoFilter { // verify found all tokens in it
			t.Fatalf("sections %+v", f.Sections)
		}
		rest := all
		for i, text := range blockTexts(t, blob) {
			n := int(f.Blocks[i].Records)
			got := parse(t, text)
			if diff := gocmp.Diff(byTime(rest[:n]), got); diff != "" {
				t.Fatalf("block %d (-want +got):\n%s", i, diff)
			}
			if len(blocks) > 0 && gocmp.Equal(blocks[0], got) {
				blocks = blocks[1:]
			}
			rest = rest[n:]
		}
		if len(rest)+len(blocks) > 0 {
			t.Fatalf("%d records are missing, %d blocks are not blocks of the segment", len(rest), len(blocks))
		}
	}
}

// comparable are records with an empty message where there is none.
func comparable(records []record.Record) []record.Record {
	for i := range records {
		if records[i].Message == nil {
			records[i].Message = []byte{}
		}
	}
	return records
}

// Sources are cleaned, as by Append; tokens of messages behind long ones are in the filter.
func TestEncodedBlocksOfAnySource(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.Compressor = segment.NewCompressor()
	var records []record.Record
	for _, source := range []string{"s", "", "a\tb\n", strings.Repeat("s", 300), strings.Repeat("s", 300), strings.Repeat("t", 100_000), "s"} {
		records = append(records, rec(0, record.Info, source, "order-12345678 and a long text behind it, of more than fifty bytes in all"))
	}
	want, _ := write(t, opts, records...)
	var out bytes.Buffer
	w := segment.NewWriter(&out, opts)
	if err := w.AppendBlock(opts.Compressor.EncodeBlock(records, false)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(7); err != nil {
		t.Fatal(err)
	}
	if _, err := verify(t, out.Bytes()); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Error("the segment differs from one that was written by Append")
	}
}

func TestEncodedBlocksRefused(t *testing.T) {
	t.Parallel()
	compressor := segment.NewCompressor()
	block := func(after time.Duration, noFilter bool) *segment.EncodedBlock {
		return compressor.EncodeBlock([]record.Record{rec(0, record.Info, "s", "a"), rec(after, record.Info, "s", "b")}, noFilter)
	}
	withColumns, noFilter := options(), options()
	withColumns.Columns = &columns.Options{}
	noFilter.NoFilter = true
	for name, tc := range map[string]struct {
		opts  segment.Options
		block *segment.EncodedBlock
	}{
		"after the bucket":  {options(), block(time.Hour, false)},
		"before the bucket": {options(), block(-1, false)},
		"columns":           {withColumns, block(1, false)},
		"no tokens":         {options(), block(1, true)},
		"tokens":            {noFilter, block(1, false)},
	} {
		var out bytes.Buffer
		w := segment.NewWriter(&out, tc.opts)
		if err := w.Append(rec(0, record.Warn, "s", "kept")); err != nil {
			t.Fatal(err)
		}
		if err := w.AppendBlock(tc.block); !errors.Is(err, segment.ErrRecord) {
			t.Errorf("%s: %v, want ErrRecord", name, err)
		}
		if m, err := w.Close(7); err != nil || m.Records != 1 {
			t.Errorf("%s: then %d records are left, error %v", name, m.Records, err)
		}
		if err := w.AppendBlock(block(1, false)); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("%s: after Close: %v", name, err)
		}
	}
}

// The last block that a segment can have may be an encoded one.
func TestEncodedBlocksFill(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.NoFilter, opts.Compressor = true, segment.NewCompressor()
	w := segment.NewWriter(new(bytes.Buffer), opts)
	n := 0
	for !w.Full() {
		if n%2 == 0 {
			if err := w.Append(rec(0, record.Info, "s", "between")); err != nil {
				t.Fatal(err)
			}
		}
		if n++; n > segment.MaxBlocks {
			t.Fatal("never full")
		}
		if err := w.AppendBlock(opts.Compressor.EncodeBlock([]record.Record{rec(1, record.Info, "s", "x")}, true)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.AppendBlock(opts.Compressor.EncodeBlock([]record.Record{rec(1, record.Info, "s", "x")}, true)); !errors.Is(err, segment.ErrFull) {
		t.Errorf("a full segment: %v, want ErrFull", err)
	}
	m, err := w.Close(7)
	if want := uint64(n + (n+1)/2); err != nil || m.Records != want {
		t.Errorf("%d records, error %v; want %d", m.Records, err, want)
	}
}

// FuzzDecodeRecords decodes any bytes: never a panic, and records that are decoded are those of the block that they are
// encoded as again.
func FuzzDecodeRecords(f *testing.F) {
	compressor, decoder := segment.NewCompressor(), segment.NewDecoder()
	f.Add(compressor.EncodeBlock([]record.Record{rec(5, record.Info, "a.log", "one\n\ttwo"), rec(0, record.None, "", "")}, true).Stored())
	f.Add(compressor.EncodeBlock([]record.Record{rec(0, record.Fatal, "a.log", "")}, true).Stored())
	f.Add(compressor.Encode(nil, []byte("no record\n")))
	f.Fuzz(func(t *testing.T, stored []byte) {
		records, err := decoder.DecodeRecords(stored)
		if err != nil || len(records) == 0 {
			return
		}
		again, err := decoder.DecodeRecords(compressor.EncodeBlock(records, true).Stored())
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(comparable(byTime(records)), comparable(again)); diff != "" {
			t.Error(diff)
		}
	})
}
