package query

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"logstow/record"
	"logstow/store"
)

// A segment that is gone when it is read is a problem, unless all of its day and
// class is: then retention was there, which is a note, one a day.
func TestExpired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		left  int // segments of the day that stay
		class string
		want  int // problems
	}{"some of a day": {1, "", 2}, "all": {0, "", 0}, "another class stays": {1, "audit", 0}} {
		w := newWorld(t, rand.New(rand.NewPCG(1, 2)), false)
		for i := range 3 {
			b := w.add("svc", "pod", 1000, w.salt(), []record.Record{{
				Time: origin().Add(time.Duration(i) * time.Minute).UnixNano(), Source: "-", Message: []byte("hello hello"),
			}})
			if i < c.left {
				b.meta.Class = c.class
				w.memory.put(b.name.String(), b.bodies[0], b.meta.Encode())
			}
		}
		sel := Selection{From: origin(), To: origin().Add(time.Hour), Patterns: []string{"hello"}}
		q := w.query(sel, Options{})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range w.segments[c.left:] {
			delete(w.memory.blobs, b.name.String())
			delete(w.memory.bodies, b.name.String())
		}
		n, err := q.Count(t.Context(), p)
		r := q.Report()
		if err != nil || int(n) > c.left {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		gone := 0
		for _, p := range r.Problems {
			if errors.Is(p, store.ErrNotFound) {
				gone++
			}
		}
		notes := 0
		for _, note := range r.Notes {
			if strings.HasPrefix(note, "svc/2025/12/31: retention") {
				notes++
			}
		}
		if gone != c.want || (notes == 1) != (c.want == 0) {
			t.Errorf("%s: problems %v, notes %q", name, r.Problems, r.Notes)
		}
	}
}
