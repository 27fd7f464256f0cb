package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/segment"
)

// relayed makes a segment of the blocks of others, and of records of its own after every third.
func relayed(tb testing.TB, compressor *segment.Compressor, opts segment.Options, from ...[]byte) (blob []byte, own []record.Record) {
	tb.Helper()
	opts.Compressor = compressor
	decoder := segment.NewDecoder()
	var out bytes.Buffer
	w := segment.NewWriter(&out, opts)
	for i, other := range from {
		f, err := verify(tb, other)
		if err != nil {
			tb.Fatal(err)
		}
		for _, b := range f.Blocks {
			stored := other[b.Offset : b.Offset+b.Stored]
			records, err := decoder.DecodeRecords(stored)
			if err != nil {
				tb.Fatal(err)
			}
			block, err := compressor.RelayBlock(stored, records, f.Instance, opts.NoFilter)
			if err == nil {
				err = w.AppendBlock(block)
			}
			if err != nil {
				tb.Fatal(err)
			}
		}
		if i%3 == 2 {
			r := rec(time.Duration(i)*time.Second, record.Info, "own", "own")
			if err := w.Append(r); err != nil {
				tb.Fatal(err)
			}
			own = append(own, r)
		}
	}
	if _, err := w.Close(9); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes(), own
}

// A segment of relayed blocks has their records, each with its instance, and their bytes.
func TestRelayedBlocks(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	compressor := segment.NewCompressor()
	for round := range 8 {
		var senders [][]byte
		want := map[string][]string{}
		for i := range 1 + rnd.IntN(9) {
			opts := options()
			opts.Instance, opts.BlockSize, opts.NoFilter = fmt.Sprintf("node-%d", i%4), 1+rnd.IntN(4<<10), rnd.IntN(2) == 0
			blob, _ := write(t, opts, randomRecords(rnd, 1+rnd.IntN(100))...)
			senders = append(senders, blob)
			for _, text := range blockTexts(t, blob) {
				want[opts.Instance] = append(want[opts.Instance], string(text))
			}
		}
		opts := options()
		opts.Instance, opts.NoFilter = "relay", round%2 == 0
		blob, own := relayed(t, compressor, opts, senders...)
		f, err := verify(t, blob) // recounts the label attributes by instance, and the tokens
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		records := uint64(0)
		for i, text := range blockTexts(t, blob) {
			b := f.Blocks[i]
			records += b.Records
			if name := f.InstanceOf(b); name != "relay" {
				got[name] = append(got[name], string(text))
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if records != f.Records || uint32(len(f.Instances)) != f.Metadata.Instances || slices.Contains(f.Instances, "relay") != (len(own) > 0) {
			t.Errorf("%d records of %d, instances %q", records, f.Records, f.Instances)
		}
		if !bytes.Contains(blob[f.Footer:], []byte("Requires")) {
			t.Error("a reader that ignores the instances may read it")
		}
	}
}

// A segment of blocks of its own instance is a plain one.
func TestRelayedBlocksOfOneInstance(t *testing.T) {
	t.Parallel()
	opts := options()
	sender, _ := write(t, opts, rec(0, record.Info, "a", "x"))
	blob, _ := relayed(t, segment.NewCompressor(), opts, sender)
	f, err := verify(t, blob)
	if err != nil || f.Instances != nil || f.Mixed() {
		t.Errorf("%v, instances %q", err, f.Instances)
	}
}

func TestRelayBlockRefuses(t *testing.T) {
	t.Parallel()
	c := segment.NewCompressor()
	if _, err := c.RelayBlock(nil, []record.Record{rec(2, record.Info, "a", "x"), rec(1, record.Info, "a", "x")}, "a", false); !errors.Is(err, segment.ErrRecord) {
		t.Errorf("out of order: %v", err)
	}
	early := rec(-time.Second, record.Info, "a", "x")
	b, err := c.RelayBlock(c.EncodeBlock([]record.Record{early}, true).Stored(), []record.Record{early}, "a", true)
	if err != nil {
		t.Fatal(err)
	}
	opts := options()
	opts.NoFilter = true
	if err := segment.NewWriter(new(bytes.Buffer), opts).AppendBlock(b); !errors.Is(err, segment.ErrRecord) {
		t.Errorf("before the bucket: %v", err)
	}
}

// An output keeps the instance of each record of a relayed input, in the order of instances.
func TestOutputOfRelayedInputs(t *testing.T) {
	t.Parallel()
	all := randomParts(t, []int{20, 30, 10})
	inputs, _ := merge(all)
	instances := map[int][]string{1: {"a", "zz"}}
	parts := segment.PartsOf(inputs, instances)
	if len(parts) != 4 {
		t.Fatalf("parts %+v", parts)
	}
	type line struct {
		record.Line
		part int
	}
	var lines []line
	for i, p := range all {
		for n, l := range p.lines {
			instance := p.origin.Instance
			if i == 1 {
				instance = instances[1][n%2]
			}
			at := slices.IndexFunc(parts, func(p segment.Part) bool { return p.Input == i && p.Instance == instance })
			lines = append(lines, line{l, at})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		if a.Time != b.Time {
			return int(min(max(a.Time-b.Time, -1), 1))
		}
		return a.part - b.part
	})
	opts := outputOptions(inputs)
	opts.Parts = parts
	var out bytes.Buffer
	w := segment.NewWriter(&out, opts)
	for _, l := range lines {
		if err := w.AppendLine(l.Line, l.part); err != nil {
			t.Fatal(err)
		}
	}
	m, err := w.Close(inputs[0].Seq + 3)
	if err == nil {
		t.Fatal("a Seq that is not that of the inputs was accepted")
	}
	_ = m
	out.Reset()
	w = segment.NewWriter(&out, opts)
	seq := int64(0)
	for _, o := range inputs {
		seq = max(seq, o.Seq)
	}
	for _, l := range lines {
		if err := w.AppendLine(l.Line, l.part); err != nil {
			t.Fatal(err)
		}
	}
	if m, err = w.Close(seq); err != nil {
		t.Fatal(err)
	}
	blob := out.Bytes()
	if _, err := verify(t, blob); err != nil {
		t.Fatal(err)
	}
	f, origins, err := segment.ReadOrigins(t.Context(), ranges(blob), int64(len(blob)), m.Origins)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range f.Blocks {
		p := origins.Pages[b.Index]
		page, err := origins.DecodePage(blob[p.Offset:p.Offset+p.Length], b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.Records) {
			if got := origins.Parts[page.Part(i)]; got.Input != parts[lines[n].part].Input || got.Instance != parts[lines[n].part].Instance {
				t.Fatalf("record %d is of %+v, want %+v", n, got, parts[lines[n].part])
			}
			n++
		}
	}
	for i, p := range origins.Parts {
		var want uint64
		for _, l := range lines {
			if l.part == i {
				want++
			}
		}
		if p.Levels.Total() != want {
			t.Errorf("part %d has %d records, want %d", i, p.Levels.Total(), want)
		}
	}
}

// The golden segment of a relay reads back as it was written, from two other golden ones.
func TestGoldenRelay(t *testing.T) {
	t.Parallel()
	var from [][]byte
	for i, name := range []string{"tiny", "attributes"} {
		opts := goldens()[name].opts
		opts.Instance, opts.Salt, opts.Columns = fmt.Sprintf("node-%d", i), [16]byte{1}, nil
		blob, _ := write(t, opts, goldens()[name].records()...)
		from = append(from, blob)
	}
	opts := options()
	opts.Instance = "relay-0"
	blob, _ := relayed(t, segment.NewCompressor(), opts, from...)
	path := filepath.Join(goldenDir, "relay.log")
	want, err := os.ReadFile(path)
	if *update && errors.Is(err, fs.ErrNotExist) {
		want, err = blob, os.WriteFile(path, blob, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(blob, want) {
		t.Errorf("%s is written otherwise now", path)
	}
	f, err := verify(t, want)
	if err != nil || !slices.Equal(f.Instances, []string{"node-0", "node-1"}) {
		t.Errorf("%v, instances %q", err, f.Instances)
	}
}
