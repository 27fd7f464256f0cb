package query

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/testrand"
	"logstow/record"
)

// A blob of another service with the content of a segment does not hide it, and is not read as that service's.
func TestForeignCopyHidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, false)
	b := w.add("web", "i", 600, [16]byte{1}, small(origin(), "disk full"))
	w.store("api", b.name.Bucket, b, b.bodies[0])
	sel := Selection{From: origin(), To: origin().Add(time.Hour)}
	q := w.query(sel, Options{})
	lines := got(t, q)
	if problems := q.Report().Problems; len(lines) != 1 || !strings.HasPrefix(lines[0], "web ") || len(problems) != 1 || !strings.Contains(problems[0].Error(), "api/") {
		t.Errorf("%q, problems %v", lines, problems)
	}
}

// A blob with the metadata of another segment and other records does not hide that segment's records.
func TestTwinHidesNothing(t *testing.T) {
	t.Parallel()
	segmentOf := func(w *world, message string) *built {
		return w.add("a", "i", 600, [16]byte{1}, []record.Record{{Time: origin().UnixNano(), Level: record.Error, Source: "app", Message: []byte(message)}})
	}
	w := newWorld(t, nil, false)
	b := segmentOf(w, "disk full")
	original, twin := b.bodies[0], segmentOf(newWorld(t, nil, false), "all is ok").bodies[0]
	if len(twin) != len(original) {
		t.Fatalf("the twin has %d bytes, the original %d", len(twin), len(original))
	}
	w.memory.put(b.name.String(), twin, b.meta.Encode())
	for _, sel := range []Selection{{}, {Newest: true}, {Levels: record.LevelSet(1 << record.Error)}, {Patterns: []string{"full"}}} {
		sel.From, sel.To = origin(), origin().Add(3600e9)
		q := w.query(sel, Options{})
		if lines := got(t, q); len(lines) > 0 || len(q.Report().Problems) != 1 {
			t.Errorf("%+v: the twin alone has %q, problems %v", sel, lines, q.Report().Problems)
		}
	}
	w.store("a", b.name.Bucket, b, original)
	for _, sel := range []Selection{{}, {Newest: true}, {Levels: record.LevelSet(1 << record.Error)}, {Patterns: []string{"full"}}} {
		sel.From, sel.To = origin(), origin().Add(3600e9)
		if lines := got(t, w.query(sel, Options{})); !slices.Equal(lines, []string{"a 2025-12-31T22:00:00.000000000Z\tERROR\tapp\t-\tdisk full"}) {
			t.Errorf("%+v: with a twin %q", sel, lines)
		}
	}
}

// A blob that differs from a segment in the token filter alone, which is read without the footer, hides nothing from a search. Nor does
// one with bytes after the footer, which would have another size.
func TestTwinWithAnotherFilterHidesNothing(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	messages := func() (all []string) {
		for range 2000 {
			all = append(all, fmt.Sprintf("%016x", rnd.Uint64()))
		}
		return all
	}
	w := newWorld(t, nil, false)
	said := messages()
	b := w.add("a", "i", 4096, [16]byte{1}, small(origin(), said...))
	f := b.meta.Filter
	other := b
	for other == b || f.Partitions != other.meta.Filter.Partitions || f.SliceLength != other.meta.Filter.SliceLength {
		other = newWorld(t, nil, false).add("a", "i", 4096, [16]byte{1}, small(origin(), messages()...))
	}
	original := b.bodies[0]
	twin := bytes.Clone(original)
	copy(twin[f.Offset:], other.bodies[0][other.meta.Filter.Offset:][:f.Partitions*f.SliceLength])
	search := func() []string {
		return got(t, w.query(Selection{From: origin(), To: origin().Add(time.Hour), Patterns: []string{said[77]}}, Options{}))
	}
	if lines := search(); len(lines) != 1 {
		t.Fatalf("the segment has %q", lines)
	}
	w.memory.put(b.name.String(), twin, b.meta.Encode())
	if lines := search(); len(lines) != 0 {
		t.Fatalf("the twin has %q", lines)
	}
	w.store("a", b.name.Bucket, b, original)
	if lines := search(); len(lines) != 1 {
		t.Errorf("beside the twin the segment has %q", lines)
	}
	longer := append(bytes.Clone(twin), "more"...)
	longer[f.Offset-1] ^= 1 // in a block
	w.memory.put(b.name.String(), longer, b.meta.Encode())
	if lines := search(); len(lines) != 1 {
		t.Errorf("beside the longer twin the segment has %q", lines)
	}
}
