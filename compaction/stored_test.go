package compaction_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/compaction"
	"logstow/internal/test/testrand"
	"logstow/record"
	"logstow/segment"
)

// Blocks whose records all follow each other are stored in the output as they were, also if one ends at the time at which the next
// begins; others are merged. Readers get the same, and the memory of the merge makes no difference to the bytes.
func TestBlocksStoredAsTheyWere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		segments, least, most int // the shares of input blocks in the output, in percent
		// from is the second of the hour at which a segment begins.
		from func(i int, rnd *rand.Rand) int
	}{
		"one after the other": {8, 60, 100, func(i int, _ *rand.Rand) int { return 100 * i }},
		"all at once":         {8, 0, 5, func(int, *rand.Rand) int { return 0 }},
		"some overlap":        {24, 1, 99, func(_ int, rnd *rand.Rand) int { return rnd.IntN(2000) }},
		"one":                 {1, 60, 100, func(int, *rand.Rand) int { return 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rnd := testrand.New(t)
			s := openStore(t)
			f := newFleet(t, s, rnd, "web")
			var blocks [][]byte
			for i := range c.segments {
				p, stored := ascending(f, fmt.Sprintf("pod-%d", i%3), c.from(i, rnd), 100)
				f.store(p)
				blocks = append(blocks, stored...)
			}
			want := readAll(t, s)
			var first []byte
			for _, memory := range []int64{0, 3000, 1} {
				o := options(t)
				o.KeepInputs = true
				compaction.SetMemory(&o, memory)
				compaction.SetBlockSize(&o, fleetBlock)
				if report := run(t, s, o); report.Outputs != 1 || report.Inputs != int64(c.segments) {
					t.Fatalf("%+v", report)
				}
				if diff := gocmp.Diff(want, readAll(t, s)); diff != "" {
					t.Fatalf("%d bytes of memory: %s", memory, diff)
				}
				segments, _ := list(t, s)
				output := segments[len(segments)-1]
				body, err := s.Compacted().Read(t.Context(), output.Ref(), 0, output.Size)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = body
				}
				if !bytes.Equal(body, first) {
					t.Errorf("with %d bytes of memory another output is made", memory)
				}
				kept := 0
				for _, b := range blocks {
					if bytes.Contains(body, b) {
						kept++
					}
				}
				if share := 100 * kept / len(blocks); share < c.least || share > c.most {
					t.Errorf("%d of %d blocks are as they were", kept, len(blocks))
				}
				if err := deleteAll(t.Context(), s, output.Name.String()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// ascending makes a segment of records in the order of time, for about so many seconds, and returns its blocks too.
func ascending(f *fleet, instance string, from, seconds int) (p plain, blocks [][]byte) {
	f.tb.Helper()
	var b bytes.Buffer
	salt := [16]byte{byte(f.number), byte(f.number >> 8), 1}
	w := segment.NewWriter(&b, segment.Options{
		Service: f.service, Instance: instance, Salt: salt, BlockSize: fleetBlock, BucketStart: hour().Unix(), BucketWidth: 3600,
	})
	for at := from; at < from+seconds; at += f.rnd.IntN(2) {
		f.lines++
		message := fmt.Sprintf("%s line %d %x", instance, f.lines, f.rnd.Uint64N(1<<f.rnd.IntN(60)))
		r := record.Record{Time: hour().Unix()*1e9 + int64(at)*1e9, Level: record.Level(f.rnd.IntN(record.Levels)), Source: "app.log", Message: []byte(message)}
		if err := w.Append(r); err != nil {
			f.tb.Fatal(err)
		}
	}
	f.seq[instance]++
	m, err := w.Close(f.seq[instance])
	if err != nil {
		f.tb.Fatal(err)
	}
	f.number++
	p = plain{blobnaming.Name{Service: f.service, Bucket: hour(), Number: f.number}, m, b.Bytes()}
	read := func(_ context.Context, off, n int64) ([]byte, error) { return p.body[off : off+n], nil }
	footer, err := segment.ReadFooter(f.tb.Context(), read, int64(len(p.body)), m.Footer)
	if err != nil {
		f.tb.Fatal(err)
	}
	for _, block := range footer.Blocks {
		blocks = append(blocks, p.body[block.Offset:block.Offset+block.Stored])
	}
	return p, blocks
}
