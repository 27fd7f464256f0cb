package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"logstow/catalog"
	"logstow/internal/test/catalogtest"
	"logstow/internal/test/testrand"
	"logstow/record"
)

func TestContain(t *testing.T) {
	t.Parallel()
	inputs := catalogtest.Plains(1, 3)
	output := catalogtest.OutputOf(1, inputs)
	later := catalogtest.OutputOf(2, inputs[2:])
	unread, rejected := output, output
	unread.Err, rejected.Rejected = errors.New("damaged"), true
	change := func(f func(*catalog.Segment)) catalog.Segment {
		s := inputs[1]
		s.Name.Number = 77
		f(&s)
		return s
	}
	for name, c := range map[string]struct {
		s       catalog.Segment
		outputs []catalog.Output
		want    catalog.Place
	}{
		"an input":          {inputs[1], []catalog.Output{output}, catalog.Place{Output: 0, Input: 1}},
		"of the second":     {inputs[1], []catalog.Output{catalogtest.OutputOf(7, catalogtest.Plains(8, 2)), output}, catalog.Place{Output: 1, Input: 1}},
		"a copy":            {change(func(*catalog.Segment) {}), []catalog.Output{output}, catalog.Place{Output: 0, Input: 1}},
		"another bucket":    {change(func(s *catalog.Segment) { s.Name.Bucket = catalogtest.Hour().Add(30 * time.Minute) }), []catalog.Output{output}, catalog.Place{Output: 0, Input: 1}},
		"another":           {catalogtest.Plain(9, nil), []catalog.Output{output}, catalog.Place{Output: -1}},
		"another size":      {change(func(s *catalog.Segment) { s.Size++ }), []catalog.Output{output}, catalog.Place{Output: -1, Differs: true}},
		"another end":       {change(func(s *catalog.Segment) { s.Meta.End++ }), []catalog.Output{output}, catalog.Place{Output: -1, Differs: true}},
		"another count":     {change(func(s *catalog.Segment) { s.Meta.Records++ }), []catalog.Output{output}, catalog.Place{Output: -1, Differs: true}},
		"another hour":      {change(func(s *catalog.Segment) { s.Name.Bucket = catalogtest.Hour().Add(time.Hour) }), []catalog.Output{output}, catalog.Place{Output: 0, Input: 1}},
		"another day":       {change(func(s *catalog.Segment) { s.Name.Bucket = catalogtest.Hour().Add(24 * time.Hour) }), []catalog.Output{output}, catalog.Place{Output: -1}},
		"another service":   {change(func(s *catalog.Segment) { s.Name.Service = "x" }), []catalog.Output{output}, catalog.Place{Output: -1}},
		"another class":     {change(func(s *catalog.Segment) { s.Meta.Class = "x" }), []catalog.Output{output}, catalog.Place{Output: -1}},
		"list unread":       {inputs[1], []catalog.Output{unread}, catalog.Place{Output: -1}},
		"output rejected":   {inputs[1], []catalog.Output{rejected}, catalog.Place{Output: -1}},
		"the output itself": {output.Segment, []catalog.Output{output}, catalog.Place{Output: -1}},
		"of two the first":  {inputs[2], []catalog.Output{later, output}, catalog.Place{Output: 1, Input: 2}},
		"no outputs":        {inputs[1], nil, catalog.Place{Output: -1}},
	} {
		if got := catalog.Contain([]catalog.Segment{c.s}, c.outputs)[0]; got != c.want || got.Contained() != (c.want.Output >= 0) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if shared := catalog.Shared([]catalog.Output{later, output}); len(shared) != 1 || !slices.Equal(shared[0], []int{0}) {
		t.Errorf("shared: %v", shared)
	}
	if shared := catalog.Shared([]catalog.Output{output, catalogtest.OutputOf(2, catalogtest.Plains(4, 2)), rejected}); shared != nil {
		t.Errorf("shared: %v", shared)
	}
}

// No list has to be read for what MayContain rules out: it never rules out an input.
func TestMayContain(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range 200 {
		var inputs []catalog.Segment
		for i := range 1 + rnd.IntN(20) {
			inputs = append(inputs, catalogtest.Plain(i+1, func(s *catalog.Segment) {
				s.Meta.Start -= rnd.Int64N(1e9)
				s.Meta.Seq = rnd.Int64N(5)
				s.Meta.Levels = record.Counts{rnd.Uint64N(3), rnd.Uint64N(3), 1}
			}))
		}
		o := catalogtest.OutputOf(1, inputs)
		for i, s := range inputs {
			if !catalog.MayContain(o.Meta, s.Meta) {
				t.Fatalf("input %d of %+v is ruled out", i, inputs)
			}
		}
	}
	o := catalogtest.OutputOf(1, catalogtest.Plains(5, 3)).Meta
	for name, s := range map[string]catalog.Segment{
		"before": catalogtest.Plain(4, nil), "after": catalogtest.Plain(8, nil),
		"seq":   catalogtest.Plain(6, func(s *catalog.Segment) { s.Meta.Seq = 8 }),
		"level": catalogtest.Plain(6, func(s *catalog.Segment) { s.Meta.Levels[record.Fatal] = 1 }),
		"many":  catalogtest.Plain(6, func(s *catalog.Segment) { s.Meta.Levels[record.Info] = 4 }),
	} {
		if catalog.MayContain(o, s.Meta) {
			t.Errorf("%s is not ruled out", name)
		}
	}
}

func TestUndecided(t *testing.T) {
	t.Parallel()
	first, second := catalogtest.OutputOf(1, catalogtest.Plains(1, 3)).Segment, catalogtest.OutputOf(2, catalogtest.Plains(10, 3)).Segment
	other := catalogtest.OutputOf(1, []catalog.Segment{catalogtest.Plain(1, func(s *catalog.Segment) { s.Meta.Class = "x" })}).Segment
	outputs := []catalog.Segment{first, second, other}
	for name, c := range map[string]struct {
		plain []catalog.Segment
		want  string
	}{
		"nothing left":    {nil, "[]"},
		"outputs only":    {outputs, "[]"},
		"of the first":    {catalogtest.Plains(2, 1), "[0]"},
		"of both":         {append(catalogtest.Plains(2, 1), catalogtest.Plains(11, 1)...), "[0 1]"},
		"between":         {catalogtest.Plains(5, 3), "[]"},
		"late":            {[]catalog.Segment{catalogtest.Plain(2, func(s *catalog.Segment) { s.Meta.Seq = 4 })}, "[]"},
		"another class":   {[]catalog.Segment{catalogtest.Plain(1, func(s *catalog.Segment) { s.Meta.Class = "x" })}, "[2]"},
		"another day":     {[]catalog.Segment{catalogtest.Plain(2, func(s *catalog.Segment) { s.Name.Bucket = s.Name.Bucket.Add(24 * time.Hour) })}, "[]"},
		"another service": {[]catalog.Segment{catalogtest.Plain(2, func(s *catalog.Segment) { s.Name.Service = "x" })}, "[]"},
	} {
		if got := fmt.Sprint(catalog.Undecided(outputs, c.plain)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestMayShare(t *testing.T) {
	t.Parallel()
	output := func(generation, first, n int, age time.Duration) catalog.Segment {
		s := catalogtest.OutputOf(generation, catalogtest.Plains(first, n)).Segment
		s.Created = catalogtest.Hour().Add(-age)
		return s
	}
	for name, c := range map[string]struct {
		outputs []catalog.Segment
		want    string
	}{
		"a chain":                      {[]catalog.Segment{output(1, 1, 5, 3), output(2, 2, 5, 2), output(3, 1, 9, 1)}, "[]"},
		"the first was made again":     {[]catalog.Segment{output(1, 1, 5, 0), output(2, 2, 5, 2), output(3, 7, 2, 1)}, "[0 1]"},
		"in the same instant":          {[]catalog.Segment{output(1, 1, 5, 2), output(2, 2, 5, 2)}, "[0 1]"},
		"of other times":               {[]catalog.Segment{output(1, 1, 5, 0), output(2, 6, 5, 2)}, "[]"},
		"in another order of the list": {[]catalog.Segment{output(2, 2, 5, 2), output(1, 1, 5, 3)}, "[]"},
	} {
		if got := fmt.Sprint(catalog.MayShare(c.outputs)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
