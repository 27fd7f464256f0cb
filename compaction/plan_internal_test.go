package compaction

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

func testHour() time.Time { return time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC) }

// listed is a plain segment of one record, of the nth second.
func listed(n int, change func(*Segment)) Segment {
	at := testHour().Add(time.Duration(n) * time.Second).UnixNano()
	s := Segment{
		Name: blobnaming.Name{Service: "web", Bucket: testHour(), Number: uint64(n)}, Size: 1000, ETag: "e", Created: testHour().Add(2 * time.Hour),
		Meta: blobnaming.Metadata{
			Start: at, End: at, Records: 1, RawBytes: 100, Levels: record.Counts{record.Info: 1},
			Batch: blobnaming.Batch{byte(n), byte(n >> 8), 1}, Instance: "pod", Seq: int64(n), Footer: 500,
		},
	}
	if change != nil {
		change(&s)
	}
	return s
}

// some are n segments from the first on.
func some(first, n int) (all []Segment) {
	for i := range n {
		all = append(all, listed(first+i, nil))
	}
	return all
}

// outputOf is an output of segments.
func outputOf(generation int, inputs []Segment) Output {
	o := Output{Segment: Segment{
		Name: blobnaming.OutputName("web", testHour(), "", generation), Size: 900, ETag: "o",
		Meta: blobnaming.Metadata{Records: 1, Origins: 1, Footer: 2, Instance: blobnaming.OutputInstance},
	}}
	o.Meta.Start, o.Meta.End, o.Meta.Class = inputs[0].Meta.Start, inputs[0].Meta.End, inputs[0].Meta.Class
	for _, s := range inputs {
		o.Inputs = append(o.Inputs, s.origin())
		o.Meta.Start, o.Meta.End, o.Meta.Seq = min(o.Meta.Start, s.Meta.Start), max(o.Meta.End, s.Meta.End), max(o.Meta.Seq, s.Meta.Seq)
		for l, n := range s.Meta.Levels {
			o.Meta.Levels[l] += n
		}
	}
	return o
}

// planned are the numbers of the inputs of each generation.
func planned(t *testing.T, h Hour, l Limits) (all [][]uint64) {
	t.Helper()
	plans, err := h.Plan(l, testHour().Add(3*time.Hour), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range plans {
		if g.Name != blobnaming.OutputName("web", testHour(), "", len(h.Outputs)+i+1) {
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

func TestPlan(t *testing.T) {
	t.Parallel()
	change := func(f func(*Segment)) []Segment { return append(some(1, 2), listed(3, f)) }
	first := outputOf(1, some(1, 3))
	for name, c := range map[string]struct {
		plain   []Segment
		outputs []Output
		limits  func(*Limits)
		want    string
	}{
		"nothing":                  {nil, nil, nil, "[]"},
		"one":                      {some(1, 1), nil, nil, "[]"},
		"two":                      {some(1, 2), nil, nil, "[[1 2]]"},
		"in order of start":        {[]Segment{listed(1, func(s *Segment) { s.Meta.Start += 5e9; s.Meta.End += 5e9 }), listed(2, nil)}, nil, nil, "[[2 1]]"},
		"contained":                {some(1, 3), []Output{first}, nil, "[]"},
		"a late one":               {some(1, 4), []Output{first}, nil, "[]"},
		"seven late ones":          {some(1, 10), []Output{first}, nil, "[]"},
		"eight late ones":          {some(1, 11), []Output{first}, nil, "[[4 5 6 7 8 9 10 11]]"},
		"two old late ones":        {some(1, 5), []Output{first}, func(l *Limits) { l.LateAge = time.Hour }, "[[4 5]]"},
		"two late ones, not a day": {some(1, 5), []Output{first}, func(l *Limits) { l.LateAge = time.Hour + 1 }, "[]"},
		"one old late one":         {some(1, 4), []Output{first}, func(l *Limits) { l.LateAge = 0 }, "[]"},
		"a rejected output":        {some(1, 3), []Output{{Segment: first.Segment, Inputs: first.Inputs, Rejected: true}}, func(l *Limits) { l.Late = 3 }, "[[1 2 3]]"},
		"copies": {append(some(1, 3), listed(9, func(s *Segment) {
			s.Meta.Batch, s.Meta.Start, s.Meta.End = listed(2, nil).Meta.Batch, listed(2, nil).Meta.Start, listed(2, nil).Meta.End
		})), nil, nil, "[[1 2 3]]"},
		"large":             {change(func(s *Segment) { s.Size = 32<<20 + 1 }), nil, nil, "[[1 2]]"},
		"half the target":   {change(func(s *Segment) { s.Size = 32 << 20 }), nil, nil, "[[1 2 3]]"},
		"cool":              {change(func(s *Segment) { s.Tier = store.Cool }), nil, nil, "[[1 2]]"},
		"hot":               {change(func(s *Segment) { s.Tier = store.Hot }), nil, nil, "[[1 2 3]]"},
		"one that replaces": {change(func(s *Segment) { s.Meta.Replaces = true }), nil, nil, "[[1 2]]"},
		"target":            {some(1, 5), nil, func(l *Limits) { l.Target = 2500; l.Late = 2 }, "[[1 2] [3 4]]"},
		"inputs":            {some(1, 7), nil, func(l *Limits) { l.Inputs = 3; l.Late = 1 }, "[[1 2 3] [4 5 6] [7]]"},
		"footer":            {some(1, 7), nil, func(l *Limits) { l.Footer = 700; l.Late = 3 }, "[[1 2 3 4] [5 6 7]]"},
		"blocks": {
			[]Segment{listed(1, func(s *Segment) { s.Meta.RawBytes = 3 << 20 }), listed(2, nil), listed(3, func(s *Segment) { s.Meta.RawBytes = 3 << 20 })},
			nil, func(l *Limits) { l.Blocks = 5 }, "[[1 2]]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := DefaultLimits()
			if c.limits != nil {
				c.limits(&l)
			}
			h := Hour{Scope: Scope{Service: "web", Hour: testHour()}, Plain: c.plain, Outputs: c.outputs}
			if got := fmt.Sprint(planned(t, h, l)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestPlanLeavesHours(t *testing.T) {
	t.Parallel()
	one, two := outputOf(1, some(1, 1)), outputOf(2, some(2, 1))
	unread, gone, audit := one, one, one
	unread.Inputs, unread.Err = nil, &segment.CorruptError{Part: "section origins"}
	gone.Inputs, gone.Err = nil, store.ErrNotFound
	audit.Meta.Class = "audit"
	for name, c := range map[string]struct {
		outputs []Output
		want    error
	}{
		"first missing":       {[]Output{two}, ErrGap},
		"one twice":           {[]Output{one, one}, ErrGap},
		"list damaged":        {[]Output{unread, two}, ErrDamaged},
		"gone since":          {[]Output{gone, two}, ErrGap},
		"of another class":    {[]Output{audit}, ErrClassHash},
		"damaged, a gap then": {[]Output{unread, outputOf(3, some(3, 1))}, ErrDamaged},
	} {
		h := Hour{Scope: Scope{Service: "web", Hour: testHour()}, Plain: some(10, 20), Outputs: c.outputs}
		if plans, err := h.Plan(DefaultLimits(), testHour(), nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, error %v", name, plans, err)
		}
	}
}

// The Batch of an output depends on the identities of its inputs and on nothing else.
func TestBatchOf(t *testing.T) {
	t.Parallel()
	l := DefaultLimits()
	all := some(1, 5)
	want := batchOf(l, all)
	shuffled := slices.Clone(all)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	shuffled[2].ETag, shuffled[3].Name.Number = "x", 99
	if batchOf(l, shuffled) != want {
		t.Error("order, ETag or name change it")
	}
	for name, f := range map[string]func(s *Segment){
		"batch": func(s *Segment) { s.Meta.Batch[15]++ }, "start": func(s *Segment) { s.Meta.Start++ }, "end": func(s *Segment) { s.Meta.End++ },
		"records": func(s *Segment) { s.Meta.Records++ }, "size": func(s *Segment) { s.Size++ },
	} {
		changed := slices.Clone(all)
		f(&changed[2])
		if batchOf(l, changed) == want {
			t.Errorf("%s does not change it", name)
		}
	}
	if batchOf(l, all[:4]) == want {
		t.Error("the inputs do not change it")
	}
}

func TestContain(t *testing.T) {
	t.Parallel()
	inputs := some(1, 3)
	output := outputOf(1, inputs)
	later := outputOf(2, inputs[2:])
	unread, rejected := output, output
	unread.Err, rejected.Rejected = errors.New("damaged"), true
	change := func(f func(*Segment)) Segment {
		s := inputs[1]
		s.Name.Number = 77
		f(&s)
		return s
	}
	for name, c := range map[string]struct {
		s       Segment
		outputs []Output
		want    Place
	}{
		"an input":          {inputs[1], []Output{output}, Place{Output: 0, Input: 1}},
		"of the second":     {inputs[1], []Output{outputOf(7, some(8, 2)), output}, Place{Output: 1, Input: 1}},
		"a copy":            {change(func(*Segment) {}), []Output{output}, Place{Output: 0, Input: 1}},
		"another bucket":    {change(func(s *Segment) { s.Name.Bucket = testHour().Add(30 * time.Minute) }), []Output{output}, Place{Output: 0, Input: 1}},
		"another":           {listed(9, nil), []Output{output}, Place{Output: -1}},
		"another size":      {change(func(s *Segment) { s.Size++ }), []Output{output}, Place{Output: -1, Differs: true}},
		"another end":       {change(func(s *Segment) { s.Meta.End++ }), []Output{output}, Place{Output: -1, Differs: true}},
		"another count":     {change(func(s *Segment) { s.Meta.Records++ }), []Output{output}, Place{Output: -1, Differs: true}},
		"another hour":      {change(func(s *Segment) { s.Name.Bucket = testHour().Add(time.Hour) }), []Output{output}, Place{Output: -1}},
		"another service":   {change(func(s *Segment) { s.Name.Service = "x" }), []Output{output}, Place{Output: -1}},
		"another class":     {change(func(s *Segment) { s.Meta.Class = "x" }), []Output{output}, Place{Output: -1}},
		"list unread":       {inputs[1], []Output{unread}, Place{Output: -1}},
		"output rejected":   {inputs[1], []Output{rejected}, Place{Output: -1}},
		"the output itself": {output.Segment, []Output{output}, Place{Output: -1}},
		"of two the first":  {inputs[2], []Output{later, output}, Place{Output: 1, Input: 2}},
		"no outputs":        {inputs[1], nil, Place{Output: -1}},
	} {
		if got := Contain([]Segment{c.s}, c.outputs)[0]; got != c.want || got.Contained() != (c.want.Output >= 0) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if shared := Shared([]Output{later, output}); len(shared) != 1 || !slices.Equal(shared[0], []int{0}) {
		t.Errorf("shared: %v", shared)
	}
	if shared := Shared([]Output{output, outputOf(2, some(4, 2)), rejected}); shared != nil {
		t.Errorf("shared: %v", shared)
	}
}

// No list has to be read for what MayContain rules out: it never rules out an input.
func TestMayContain(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		var inputs []Segment
		for i := range 1 + rnd.IntN(20) {
			inputs = append(inputs, listed(i+1, func(s *Segment) {
				s.Meta.Start -= rnd.Int64N(1e9)
				s.Meta.Seq = rnd.Int64N(5)
				s.Meta.Levels = record.Counts{rnd.Uint64N(3), rnd.Uint64N(3), 1}
			}))
		}
		o := outputOf(1, inputs)
		for i, s := range inputs {
			if !MayContain(o.Meta, s.Meta) {
				t.Fatalf("input %d of %+v is ruled out", i, inputs)
			}
		}
	}
	o := outputOf(1, some(5, 3)).Meta
	for name, s := range map[string]Segment{
		"before": listed(4, nil), "after": listed(8, nil),
		"seq":   listed(6, func(s *Segment) { s.Meta.Seq = 8 }),
		"level": listed(6, func(s *Segment) { s.Meta.Levels[record.Fatal] = 1 }),
		"many":  listed(6, func(s *Segment) { s.Meta.Levels[record.Info] = 4 }),
	} {
		if MayContain(o, s.Meta) {
			t.Errorf("%s is not ruled out", name)
		}
	}
}

func TestUndecided(t *testing.T) {
	t.Parallel()
	first, second := outputOf(1, some(1, 3)).Segment, outputOf(2, some(10, 3)).Segment
	other := outputOf(1, []Segment{listed(1, func(s *Segment) { s.Meta.Class = "x" })}).Segment
	outputs := []Segment{first, second, other}
	for name, c := range map[string]struct {
		plain []Segment
		want  string
	}{
		"nothing left":    {nil, "[]"},
		"outputs only":    {outputs, "[]"},
		"of the first":    {some(2, 1), "[0]"},
		"of both":         {append(some(2, 1), some(11, 1)...), "[0 1]"},
		"between":         {some(5, 3), "[]"},
		"late":            {[]Segment{listed(2, func(s *Segment) { s.Meta.Seq = 4 })}, "[]"},
		"another class":   {[]Segment{listed(1, func(s *Segment) { s.Meta.Class = "x" })}, "[2]"},
		"another hour":    {[]Segment{listed(2, func(s *Segment) { s.Name.Bucket = s.Name.Bucket.Add(time.Hour) })}, "[]"},
		"another service": {[]Segment{listed(2, func(s *Segment) { s.Name.Service = "x" })}, "[]"},
	} {
		if got := fmt.Sprint(Undecided(outputs, c.plain)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
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
