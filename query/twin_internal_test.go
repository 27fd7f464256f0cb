package query

import (
	"slices"
	"strings"
	"testing"
	"time"

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
		if lines := got(t, w.query(sel, Options{})); !slices.Equal(lines, []string{"a 2025-12-31T22:00:00.000000000Z\tERROR\tapp\tdisk full"}) {
			t.Errorf("%+v: with a twin %q", sel, lines)
		}
	}
}
