package containment_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"logstow/containment"
	"logstow/internal/test/containmenttest"
	"logstow/internal/test/testrand"
	"logstow/record"
)

func TestContain(t *testing.T) {
	t.Parallel()
	inputs := containmenttest.Plains(1, 3)
	output := containmenttest.OutputOf(1, inputs)
	later := containmenttest.OutputOf(2, inputs[2:])
	unread, rejected := output, output
	unread.Err, rejected.Rejected = errors.New("damaged"), true
	change := func(f func(*containment.Segment)) containment.Segment {
		s := inputs[1]
		s.Name.Number = 77
		f(&s)
		return s
	}
	for name, c := range map[string]struct {
		s       containment.Segment
		outputs []containment.Output
		want    containment.Place
	}{
		"an input":          {inputs[1], []containment.Output{output}, containment.Place{Output: 0, Input: 1}},
		"of the second":     {inputs[1], []containment.Output{containmenttest.OutputOf(7, containmenttest.Plains(8, 2)), output}, containment.Place{Output: 1, Input: 1}},
		"a copy":            {change(func(*containment.Segment) {}), []containment.Output{output}, containment.Place{Output: 0, Input: 1}},
		"another bucket":    {change(func(s *containment.Segment) { s.Name.Bucket = containmenttest.Hour().Add(30 * time.Minute) }), []containment.Output{output}, containment.Place{Output: 0, Input: 1}},
		"another":           {containmenttest.Plain(9, nil), []containment.Output{output}, containment.Place{Output: -1}},
		"another size":      {change(func(s *containment.Segment) { s.Size++ }), []containment.Output{output}, containment.Place{Output: -1, Differs: true}},
		"another end":       {change(func(s *containment.Segment) { s.Meta.End++ }), []containment.Output{output}, containment.Place{Output: -1, Differs: true}},
		"another count":     {change(func(s *containment.Segment) { s.Meta.Records++ }), []containment.Output{output}, containment.Place{Output: -1, Differs: true}},
		"another hour":      {change(func(s *containment.Segment) { s.Name.Bucket = containmenttest.Hour().Add(time.Hour) }), []containment.Output{output}, containment.Place{Output: -1}},
		"another service":   {change(func(s *containment.Segment) { s.Name.Service = "x" }), []containment.Output{output}, containment.Place{Output: -1}},
		"another class":     {change(func(s *containment.Segment) { s.Meta.Class = "x" }), []containment.Output{output}, containment.Place{Output: -1}},
		"list unread":       {inputs[1], []containment.Output{unread}, containment.Place{Output: -1}},
		"output rejected":   {inputs[1], []containment.Output{rejected}, containment.Place{Output: -1}},
		"the output itself": {output.Segment, []containment.Output{output}, containment.Place{Output: -1}},
		"of two the first":  {inputs[2], []containment.Output{later, output}, containment.Place{Output: 1, Input: 2}},
		"no outputs":        {inputs[1], nil, containment.Place{Output: -1}},
	} {
		if got := containment.Contain([]containment.Segment{c.s}, c.outputs)[0]; got != c.want || got.Contained() != (c.want.Output >= 0) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if shared := containment.Shared([]containment.Output{later, output}); len(shared) != 1 || !slices.Equal(shared[0], []int{0}) {
		t.Errorf("shared: %v", shared)
	}
	if shared := containment.Shared([]containment.Output{output, containmenttest.OutputOf(2, containmenttest.Plains(4, 2)), rejected}); shared != nil {
		t.Errorf("shared: %v", shared)
	}
}

// No list has to be read for what MayContain rules out: it never rules out an input.
func TestMayContain(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range 200 {
		var inputs []containment.Segment
		for i := range 1 + rnd.IntN(20) {
			inputs = append(inputs, containmenttest.Plain(i+1, func(s *containment.Segment) {
				s.Meta.Start -= rnd.Int64N(1e9)
				s.Meta.Seq = rnd.Int64N(5)
				s.Meta.Levels = record.Counts{rnd.Uint64N(3), rnd.Uint64N(3), 1}
			}))
		}
		o := containmenttest.OutputOf(1, inputs)
		for i, s := range inputs {
			if !containment.MayContain(o.Meta, s.Meta) {
				t.Fatalf("input %d of %+v is ruled out", i, inputs)
			}
		}
	}
	o := containmenttest.OutputOf(1, containmenttest.Plains(5, 3)).Meta
	for name, s := range map[string]containment.Segment{
		"before": containmenttest.Plain(4, nil), "after": containmenttest.Plain(8, nil),
		"seq":   containmenttest.Plain(6, func(s *containment.Segment) { s.Meta.Seq = 8 }),
		"level": containmenttest.Plain(6, func(s *containment.Segment) { s.Meta.Levels[record.Fatal] = 1 }),
		"many":  containmenttest.Plain(6, func(s *containment.Segment) { s.Meta.Levels[record.Info] = 4 }),
	} {
		if containment.MayContain(o, s.Meta) {
			t.Errorf("%s is not ruled out", name)
		}
	}
}

func TestUndecided(t *testing.T) {
	t.Parallel()
	first, second := containmenttest.OutputOf(1, containmenttest.Plains(1, 3)).Segment, containmenttest.OutputOf(2, containmenttest.Plains(10, 3)).Segment
	other := containmenttest.OutputOf(1, []containment.Segment{containmenttest.Plain(1, func(s *containment.Segment) { s.Meta.Class = "x" })}).Segment
	outputs := []containment.Segment{first, second, other}
	for name, c := range map[string]struct {
		plain []containment.Segment
		want  string
	}{
		"nothing left":    {nil, "[]"},
		"outputs only":    {outputs, "[]"},
		"of the first":    {containmenttest.Plains(2, 1), "[0]"},
		"of both":         {append(containmenttest.Plains(2, 1), containmenttest.Plains(11, 1)...), "[0 1]"},
		"between":         {containmenttest.Plains(5, 3), "[]"},
		"late":            {[]containment.Segment{containmenttest.Plain(2, func(s *containment.Segment) { s.Meta.Seq = 4 })}, "[]"},
		"another class":   {[]containment.Segment{containmenttest.Plain(1, func(s *containment.Segment) { s.Meta.Class = "x" })}, "[2]"},
		"another hour":    {[]containment.Segment{containmenttest.Plain(2, func(s *containment.Segment) { s.Name.Bucket = s.Name.Bucket.Add(time.Hour) })}, "[]"},
		"another service": {[]containment.Segment{containmenttest.Plain(2, func(s *containment.Segment) { s.Name.Service = "x" })}, "[]"},
	} {
		if got := fmt.Sprint(containment.Undecided(outputs, c.plain)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
