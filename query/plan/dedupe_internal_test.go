package plan

import (
	"fmt"
	"slices"
	"testing"

	"logstow/catalog"
	"logstow/internal/test/catalogtest"
	"logstow/query/source"
	"logstow/segment"
	"logstow/store"
)

func TestDedupe(t *testing.T) {
	t.Parallel()
	damage, gone := error(&segment.CorruptError{}), fmt.Errorf("blob: %w", store.ErrNotFound)
	at := func(n int, change func(*catalog.Segment)) *source.Segment {
		s := catalogtest.Plain(1, change)
		s.Name.Number = uint64(n)
		return &source.Segment{Name: s.Name, Meta: s.Meta, Size: s.Size, Created: s.Created}
	}
	same := func(*catalog.Segment) {}
	class := func(s *catalog.Segment) { s.Meta.Class = "x" }
	parser := func(s *catalog.Segment) { s.Meta.Parse = "none/1" }
	for name, c := range map[string]struct {
		found   []*source.Segment
		certify map[uint64]error // by number
		want    string           // number and numbers of copies
	}{
		"copies":                            {[]*source.Segment{at(1, same), at(2, same)}, nil, "1[2]"},
		"copies in two services":            {[]*source.Segment{at(1, same), at(2, func(s *catalog.Segment) { s.Name.Service = "db" })}, nil, "1[] 2[]"},
		"a twin of another class":           {[]*source.Segment{at(1, class), at(2, same), at(3, same)}, map[uint64]error{1: damage}, "2[3]"},
		"the first of two that are damaged": {[]*source.Segment{at(1, class), at(2, same)}, map[uint64]error{1: damage, 2: damage}, "1[]"},
		// The original was removed after it was listed: it is in an output, in which readers find what vanished.
		"a twin of what vanished": {[]*source.Segment{at(1, class), at(2, same), at(3, same)}, map[uint64]error{1: damage, 2: gone, 3: gone}, "2[3]"},
		"all vanished":            {[]*source.Segment{at(1, class), at(2, same), at(3, parser)}, map[uint64]error{1: gone, 2: gone, 3: gone}, "1[] 2[] 3[]"},
		"a copy that did not":     {[]*source.Segment{at(1, class), at(2, same), at(3, same)}, map[uint64]error{1: gone, 2: gone}, "3[2]"},
	} {
		rec := source.NewRecorder(1)
		got := ""
		for _, s := range Dedupe(rec, slices.Clone(c.found), func(s *source.Segment) error { return c.certify[s.Name.Number] }) {
			var copies []uint64
			for _, other := range s.Copies {
				copies = append(copies, other.Name.Number)
			}
			got += fmt.Sprintf(" %d%v", s.Name.Number, copies)
		}
		if got != " "+c.want {
			t.Errorf("%s:%s, want %s", name, got, c.want)
		}
	}
}
