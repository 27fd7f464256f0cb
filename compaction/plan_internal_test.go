package compaction

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/containment"
	"logstow/internal/test/containmenttest"
	"logstow/segment"
	"logstow/store"
)

// planned are the numbers of the inputs of each generation.
func planned(t *testing.T, h Hour, l Limits) (all [][]uint64) {
	t.Helper()
	plans, err := h.Plan(l, containmenttest.Hour().Add(3*time.Hour), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range plans {
		if g.Name != blobnaming.OutputName("web", containmenttest.Hour(), "", len(h.Outputs)+i+1) {
			t.Errorf("generation %d is called %s", i, g.Name)
		}
		var numbers []uint64
		for _, s := range g.Inputs {
			numbers = append(numbers, s.Name.Number)
		}
		all = append(all, numbers)
	}
	return all
}

// parsed are plain segments of the parser "none".
func parsed(first, last int) (all []containment.Segment) {
	for i := first; i <= last; i++ {
		all = append(all, containmenttest.Plain(i, func(s *containment.Segment) { s.Meta.Parse = "none/1" }))
	}
	return all
}

func TestPlan(t *testing.T) {
	t.Parallel()
	change := func(f func(*containment.Segment)) []containment.Segment {
		return append(containmenttest.Plains(1, 2), containmenttest.Plain(3, f))
	}
	first := containmenttest.OutputOf(1, containmenttest.Plains(1, 3))
	second := first
	second.Created = containmenttest.Plain(1, nil).Created.Add(time.Second)
	for name, c := range map[string]struct {
		plain   []containment.Segment
		outputs []containment.Output
		limits  func(*Limits)
		want    string
	}{
		"nothing":                  {nil, nil, nil, "[]"},
		"one":                      {containmenttest.Plains(1, 1), nil, nil, "[]"},
		"two":                      {containmenttest.Plains(1, 2), nil, nil, "[[1 2]]"},
		"in order of start":        {[]containment.Segment{containmenttest.Plain(1, func(s *containment.Segment) { s.Meta.Start += 5e9; s.Meta.End += 5e9 }), containmenttest.Plain(2, nil)}, nil, nil, "[[2 1]]"},
		"contained":                {containmenttest.Plains(1, 3), []containment.Output{first}, nil, "[]"},
		"a late one":               {containmenttest.Plains(1, 4), []containment.Output{first}, nil, "[]"},
		"seven late ones":          {containmenttest.Plains(1, 10), []containment.Output{first}, nil, "[]"},
		"eight late ones":          {containmenttest.Plains(1, 11), []containment.Output{first}, nil, "[[4 5 6 7 8 9 10 11]]"},
		"two old late ones":        {containmenttest.Plains(1, 5), []containment.Output{first}, func(l *Limits) { l.LateAge = time.Hour }, "[[4 5]]"},
		"two late ones, not a day": {containmenttest.Plains(1, 5), []containment.Output{first}, func(l *Limits) { l.LateAge = time.Hour + 1 }, "[]"},
		"two that did not fit":     {containmenttest.Plains(1, 5), []containment.Output{second}, nil, "[[4 5]]"},
		"one that did not fit":     {containmenttest.Plains(1, 4), []containment.Output{second}, nil, "[]"},
		"of two parsers":           {append(containmenttest.Plains(1, 2), parsed(3, 5)...), nil, nil, "[[1 2] [3 4 5]]"},
		"first of its parser":      {append(containmenttest.Plains(1, 4), parsed(5, 6)...), []containment.Output{first}, nil, "[[5 6]]"},
		"late ones of a parser":    {append(containmenttest.Plains(1, 10), parsed(11, 11)...), []containment.Output{first}, nil, "[]"},
		"one old late one":         {containmenttest.Plains(1, 4), []containment.Output{first}, func(l *Limits) { l.LateAge = 0 }, "[]"},
		"a rejected output":        {containmenttest.Plains(1, 3), []containment.Output{{Segment: first.Segment, Inputs: first.Inputs, Rejected: true}}, func(l *Limits) { l.Late = 3 }, "[[1 2 3]]"},
		"copies": {append(containmenttest.Plains(1, 3), containmenttest.Plain(9, func(s *containment.Segment) {
			s.Meta.Batch, s.Meta.Start, s.Meta.End = containmenttest.Plain(2, nil).Meta.Batch, containmenttest.Plain(2, nil).Meta.Start, containmenttest.Plain(2, nil).Meta.End
		})), nil, nil, "[[1 2 3]]"},
		"large":           {change(func(s *containment.Segment) { s.Size = 32<<20 + 1 }), nil, nil, "[[1 2]]"},
		"half the target": {change(func(s *containment.Segment) { s.Size = 32 << 20 }), nil, nil, "[[1 2 3]]"},
		"cool":            {change(func(s *containment.Segment) { s.Tier = store.Cool }), nil, nil, "[[1 2]]"},
		"hot":             {change(func(s *containment.Segment) { s.Tier = store.Hot }), nil, nil, "[[1 2 3]]"},
		"target":          {containmenttest.Plains(1, 5), nil, func(l *Limits) { l.Target = 2500; l.Late = 2 }, "[[1 2] [3 4]]"},
		"inputs":          {containmenttest.Plains(1, 7), nil, func(l *Limits) { l.Inputs = 3; l.Late = 1 }, "[[1 2 3] [4 5 6] [7]]"},
		"footer":          {containmenttest.Plains(1, 7), nil, func(l *Limits) { l.Footer = 700; l.Late = 3 }, "[[1 2 3 4] [5 6 7]]"},
		"blocks": {
			[]containment.Segment{containmenttest.Plain(1, func(s *containment.Segment) { s.Meta.RawBytes = 3 << 20 }), containmenttest.Plain(2, nil), containmenttest.Plain(3, func(s *containment.Segment) { s.Meta.RawBytes = 3 << 20 })},
			nil, func(l *Limits) { l.Blocks = 5 }, "[[1 2]]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := DefaultLimits()
			if c.limits != nil {
				c.limits(&l)
			}
			h := Hour{Scope: containment.Scope{Service: "web", Hour: containmenttest.Hour()}, Plain: c.plain, Outputs: c.outputs}
			if got := fmt.Sprint(planned(t, h, l)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestPlanLeavesHours(t *testing.T) {
	t.Parallel()
	one, two := containmenttest.OutputOf(1, containmenttest.Plains(1, 1)), containmenttest.OutputOf(2, containmenttest.Plains(2, 1))
	unread, gone, audit := one, one, one
	unread.Inputs, unread.Err = nil, &segment.CorruptError{Part: "section origins"}
	gone.Inputs, gone.Err = nil, store.ErrNotFound
	audit.Meta.Class = "audit"
	for name, c := range map[string]struct {
		outputs []containment.Output
		want    error
	}{
		"first missing":       {[]containment.Output{two}, ErrGap},
		"one twice":           {[]containment.Output{one, one}, ErrGap},
		"list damaged":        {[]containment.Output{unread, two}, ErrDamaged},
		"gone since":          {[]containment.Output{gone, two}, ErrGap},
		"of another class":    {[]containment.Output{audit}, ErrClassHash},
		"damaged, a gap then": {[]containment.Output{unread, containmenttest.OutputOf(3, containmenttest.Plains(3, 1))}, ErrDamaged},
	} {
		h := Hour{Scope: containment.Scope{Service: "web", Hour: containmenttest.Hour()}, Plain: containmenttest.Plains(10, 20), Outputs: c.outputs}
		if plans, err := h.Plan(DefaultLimits(), containmenttest.Hour(), nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, error %v", name, plans, err)
		}
	}
}

// The Batch of an output depends on the identities of its inputs and on nothing else.
func TestBatchOf(t *testing.T) {
	t.Parallel()
	l := DefaultLimits()
	all := containmenttest.Plains(1, 5)
	want := batchOf(l, nil, all)
	shuffled := slices.Clone(all)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	shuffled[2].ETag, shuffled[3].Name.Number = "x", 99
	if batchOf(l, nil, shuffled) != want {
		t.Error("order, ETag or name change it")
	}
	for name, f := range map[string]func(s *containment.Segment){
		"batch": func(s *containment.Segment) { s.Meta.Batch[15]++ }, "start": func(s *containment.Segment) { s.Meta.Start++ }, "end": func(s *containment.Segment) { s.Meta.End++ },
		"records": func(s *containment.Segment) { s.Meta.Records++ }, "size": func(s *containment.Segment) { s.Size++ },
	} {
		changed := slices.Clone(all)
		f(&changed[2])
		if batchOf(l, nil, changed) == want {
			t.Errorf("%s does not change it", name)
		}
	}
	if batchOf(l, nil, all[:4]) == want {
		t.Error("the inputs do not change it")
	}
	seen := map[blobnaming.Batch]string{want: "no columns"}
	for name, c := range map[string]*columns.Options{
		"columns": {}, "a": {Named: []string{"a"}}, "b": {Named: []string{"b"}}, "a and b": {Named: []string{"a", "b"}}, "ab": {Named: []string{"ab"}},
	} {
		batch := batchOf(l, c, all)
		if other, ok := seen[batch]; ok {
			t.Errorf("%s give the same as %s", name, other)
		}
		seen[batch] = name
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	own := blobnaming.Batch{1}
	meta := func(origins int64, batch blobnaming.Batch) *blobnaming.Metadata {
		return &blobnaming.Metadata{Origins: origins, Batch: batch}
	}
	exists := &store.Error{Class: store.ErrExists}
	for name, c := range map[string]struct {
		err   error
		found *blobnaming.Metadata
		want  outcome
	}{
		"created":                   {nil, nil, committed},
		"created earlier":           {exists, meta(5, own), committed},
		"another output":            {exists, meta(5, blobnaming.Batch{2}), taken},
		"a plain segment":           {exists, meta(0, own), taken},
		"gone again":                {exists, nil, unknown},
		"no answer":                 {&store.Error{Class: store.ErrUnavailable}, nil, unknown},
		"no answer, but it is seen": {&store.Error{Class: store.ErrUnavailable}, meta(5, own), unknown},
	} {
		if got := judge(c.err, c.found, own); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
