package compaction

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/test/catalogtest"
	"logstow/segment"
	"logstow/store"
)

// afterDay is an hour after the end of the day of the segments.
func afterDay() time.Time { return catalogtest.Hour().Truncate(day).Add(day + time.Hour) }

// planned are the numbers of the inputs of each generation.
func planned(t *testing.T, c Chain, l Limits, now time.Time) (all [][]uint64) {
	t.Helper()
	plans, err := c.Plan(l, now, now.Add(-time.Hour), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range plans {
		if g.Name != blobnaming.OutputName("web", catalogtest.Hour(), "", len(c.Outputs)+i+1) {
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
func parsed(first, last int) (all []catalog.Segment) {
	for i := first; i <= last; i++ {
		all = append(all, catalogtest.Plain(i, func(s *catalog.Segment) { s.Meta.Parse = "none/1" }))
	}
	return all
}

// chainOf is the chain of a listing of the day.
func chainOf(plain []catalog.Segment, outputs []catalog.Output) Chain {
	d := catalog.Day{Service: "web", Day: catalogtest.Hour().Truncate(day)}
	for _, s := range plain {
		d.Raw = append(d.Raw, catalog.Entry{Kind: catalog.KindPlain, Segment: s})
	}
	c := Chain{Scope: catalog.Scope{Service: "web", Day: d.Day}, Outputs: outputs}
	for _, listed := range Chains(&d) {
		if listed.Scope == c.Scope {
			c.Plain, c.Twins = listed.Plain, listed.Twins
		}
	}
	return c
}

func TestPlan(t *testing.T) {
	t.Parallel()
	change := func(f func(*catalog.Segment)) []catalog.Segment {
		return append(catalogtest.Plains(1, 2), catalogtest.Plain(3, f))
	}
	// An output that was made before the day ended, and one made later.
	early := catalogtest.OutputOf(1, catalogtest.Plains(1, 3))
	early.Created = catalogtest.Hour().Add(3 * time.Hour)
	late := early
	late.Created = afterDay()
	twin := func(n, of int, change func(*catalog.Segment)) catalog.Segment {
		return catalogtest.Plain(n, func(s *catalog.Segment) {
			s.Meta = catalogtest.Plain(of, nil).Meta
			change(s)
		})
	}
	// The first three, and those up to last, which were stored after that.
	later := func(last int) []catalog.Segment {
		all := catalogtest.Plains(1, last)
		for i := range all[3:] {
			all[3+i].Created = late.Created.Add(time.Second)
		}
		return all
	}
	inDay := catalogtest.Hour().Add(3 * time.Hour)
	stored := late.Created.Add(time.Second)
	for name, c := range map[string]struct {
		plain   []catalog.Segment
		outputs []catalog.Output
		limits  func(*Limits)
		now     time.Time // zero is after the day
		want    string
	}{
		"nothing":                          {nil, nil, nil, time.Time{}, "[]"},
		"one":                              {catalogtest.Plains(1, 1), nil, nil, time.Time{}, "[[1]]"},
		"two":                              {catalogtest.Plains(1, 2), nil, nil, time.Time{}, "[[1 2]]"},
		"in order of start":                {[]catalog.Segment{catalogtest.Plain(1, func(s *catalog.Segment) { s.Meta.Start += 5e9; s.Meta.End += 5e9 }), catalogtest.Plain(2, nil)}, nil, nil, time.Time{}, "[[2 1]]"},
		"contained":                        {catalogtest.Plains(1, 3), []catalog.Output{early}, nil, time.Time{}, "[]"},
		"rest of the day":                  {catalogtest.Plains(1, 4), []catalog.Output{early}, nil, time.Time{}, "[[4]]"},
		"a late one":                       {later(4), []catalog.Output{late}, nil, time.Time{}, "[]"},
		"seven late ones":                  {later(10), []catalog.Output{late}, nil, time.Time{}, "[]"},
		"eight late ones":                  {later(11), []catalog.Output{late}, nil, time.Time{}, "[[4 5 6 7 8 9 10 11]]"},
		"an old late one":                  {later(4), []catalog.Output{late}, nil, stored.Add(24 * time.Hour), "[[4]]"},
		"what did not fit an output":       {catalogtest.Plains(1, 4), []catalog.Output{late}, nil, time.Time{}, "[[4]]"},
		"a late one, not a day":            {later(4), []catalog.Output{late}, nil, stored.Add(24*time.Hour - 1), "[]"},
		"of two parsers":                   {append(catalogtest.Plains(1, 2), parsed(3, 5)...), nil, nil, time.Time{}, "[[1 2] [3 4 5]]"},
		"first of its parser":              {append(later(4), parsed(5, 6)...), []catalog.Output{late}, nil, time.Time{}, "[[5 6]]"},
		"a rejected output":                {catalogtest.Plains(1, 3), []catalog.Output{{Segment: late.Segment, Inputs: late.Inputs, Rejected: true}}, nil, time.Time{}, "[[1 2 3]]"},
		"few of a day that goes on":        {catalogtest.Plains(1, 239), nil, nil, inDay, "[]"},
		"many of a day that goes on":       {catalogtest.Plains(1, 240), nil, func(l *Limits) { l.Pending = 240; l.Inputs = 2; l.Target = 1 }, inDay, ""},
		"large ones of a day":              {change(func(s *catalog.Segment) { s.Size = 8 << 20 }), nil, nil, inDay, "[[1 2 3]]"},
		"their hour has not ended":         {change(func(s *catalog.Segment) { s.Size = 8 << 20 }), nil, nil, catalogtest.Hour().Add(2*time.Hour - 1), "[]"},
		"an hour of it has not ended":      {append(catalogtest.Plains(1, 2), catalogtest.Plain(3, func(s *catalog.Segment) { s.Name.Bucket = s.Name.Bucket.Add(time.Hour) })), nil, func(l *Limits) { l.Pending = 2 }, catalogtest.Hour().Add(2 * time.Hour), "[[1 2]]"},
		"copies":                           {append(catalogtest.Plains(1, 3), twin(9, 2, func(*catalog.Segment) {})), nil, nil, time.Time{}, "[[1 2 3]]"},
		"an earlier copy":                  {append(catalogtest.Plains(1, 3), twin(9, 2, func(s *catalog.Segment) { s.Created = s.Created.Add(-1) })), nil, nil, time.Time{}, "[[1 9 3]]"},
		"an earlier copy in the cool tier": {append(catalogtest.Plains(1, 3), twin(9, 2, func(s *catalog.Segment) { s.Created, s.Tier = s.Created.Add(-1), store.Cool })), nil, nil, time.Time{}, "[[1 2 3]]"},
		"a twin of another parser":         {append(catalogtest.Plains(1, 3), twin(9, 2, func(s *catalog.Segment) { s.Meta.Parse = "none/1" })), nil, nil, time.Time{}, "[[1 2 3]]"},
		"a twin of another class":          {append(catalogtest.Plains(1, 3), twin(9, 2, func(s *catalog.Segment) { s.Meta.Class, s.Created = "x", s.Created.Add(1) })), nil, nil, time.Time{}, "[[1 2 3]]"},
		"a twin of what is contained":      {append(catalogtest.Plains(1, 3), twin(9, 2, func(s *catalog.Segment) { s.Meta.Records = 7 })), []catalog.Output{early}, nil, time.Time{}, "[]"},
		"large":                            {change(func(s *catalog.Segment) { s.Size = 200 << 20 }), nil, nil, time.Time{}, "[[1 2] [3]]"},
		"cool":                             {change(func(s *catalog.Segment) { s.Tier = store.Cool }), nil, nil, time.Time{}, "[[1 2]]"},
		"cool by default":                  {change(func(s *catalog.Segment) { s.Tier, s.TierInferred = store.Cool, true }), nil, nil, time.Time{}, "[[1 2 3]]"},
		"hot":                              {change(func(s *catalog.Segment) { s.Tier = store.Hot }), nil, nil, time.Time{}, "[[1 2 3]]"},
		"target":                           {catalogtest.Plains(1, 5), nil, func(l *Limits) { l.Target = 2500 }, time.Time{}, "[[1 2] [3 4] [5]]"},
		"inputs":                           {catalogtest.Plains(1, 7), nil, func(l *Limits) { l.Inputs = 3 }, time.Time{}, "[[1 2 3] [4 5 6] [7]]"},
		"footer":                           {catalogtest.Plains(1, 7), nil, func(l *Limits) { l.Footer = 700 }, time.Time{}, "[[1 2 3 4] [5 6 7]]"},
		"blocks": {
			[]catalog.Segment{catalogtest.Plain(1, func(s *catalog.Segment) { s.Meta.RawBytes = 3 << 20 }), catalogtest.Plain(2, nil), catalogtest.Plain(3, func(s *catalog.Segment) { s.Meta.RawBytes = 3 << 20 })},
			nil, func(l *Limits) { l.Blocks = 5 },
			time.Time{},
			"[[1 2] [3]]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := DefaultLimits()
			if c.limits != nil {
				c.limits(&l)
			}
			now := c.now
			if now.IsZero() {
				now = afterDay()
			}
			got := planned(t, chainOf(c.plain, c.outputs), l, now)
			if shown := fmt.Sprint(got); shown != c.want && (c.want != "" || len(got) == 0) {
				t.Errorf("%s, want %s", shown, c.want)
			}
		})
	}
}

// If a segment turns out to be damaged, its twin is tried.
func TestPlanSkips(t *testing.T) {
	t.Parallel()
	plain := append(catalogtest.Plains(1, 2), catalogtest.Plain(9, func(s *catalog.Segment) {
		s.Meta, s.Created = catalogtest.Plain(2, nil).Meta, s.Created.Add(time.Second)
	}))
	c := chainOf(plain, nil)
	plans, err := c.Plan(DefaultLimits(), afterDay(), afterDay(), func(s catalog.Segment) bool { return s.Name.Number == 2 })
	if err != nil || len(plans) != 1 || len(plans[0].Inputs) != 2 || plans[0].Inputs[1].Name.Number != 9 {
		t.Errorf("%+v, error %v", plans, err)
	}
}

func TestPlanLeavesChains(t *testing.T) {
	t.Parallel()
	one, two := catalogtest.OutputOf(1, catalogtest.Plains(1, 1)), catalogtest.OutputOf(2, catalogtest.Plains(2, 1))
	unread, gone := one, one
	unread.Inputs, unread.Err = nil, &segment.CorruptError{Part: "section origins"}
	gone.Inputs, gone.Err = nil, store.ErrNotFound
	for name, c := range map[string]struct {
		outputs []catalog.Output
		want    error
	}{
		"first missing":       {[]catalog.Output{two}, ErrGap},
		"one twice":           {[]catalog.Output{one, one}, ErrGap},
		"list damaged":        {[]catalog.Output{unread, two}, ErrDamaged},
		"gone since":          {[]catalog.Output{gone, two}, ErrGap},
		"damaged, a gap then": {[]catalog.Output{unread, catalogtest.OutputOf(3, catalogtest.Plains(3, 1))}, ErrDamaged},
	} {
		chain := chainOf(catalogtest.Plains(10, 20), c.outputs)
		if plans, err := chain.Plan(DefaultLimits(), afterDay(), afterDay(), nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, error %v", name, plans, err)
		}
	}
}

// A finished output whose name is taken becomes the next generation, unless one of the new outputs shares an input with it.
func TestRename(t *testing.T) {
	t.Parallel()
	one, two, three := catalogtest.OutputOf(1, catalogtest.Plains(1, 2)), catalogtest.OutputOf(2, catalogtest.Plains(3, 2)), catalogtest.OutputOf(3, catalogtest.Plains(5, 2))
	unread := two
	unread.Inputs, unread.Err = nil, &segment.CorruptError{Part: "section origins"}
	for name, c := range map[string]struct {
		outputs []catalog.Output
		inputs  []catalog.Segment
		want    outcome
		name    int
		err     error
	}{
		"disjoint":        {[]catalog.Output{one, two}, catalogtest.Plains(7, 2), unknown, 3, nil},
		"of two new ones": {[]catalog.Output{one, two, three}, catalogtest.Plains(7, 2), unknown, 4, nil},
		"shared":          {[]catalog.Output{one, two}, catalogtest.Plains(4, 2), taken, 2, nil},
		"shared, later":   {[]catalog.Output{one, two, three}, catalogtest.Plains(6, 2), taken, 2, nil},
		"free again":      {[]catalog.Output{one}, catalogtest.Plains(7, 2), unknown, 2, ErrGap},
		"all free again":  {nil, catalogtest.Plains(7, 2), unknown, 2, ErrGap},
		"a lower one is":  {[]catalog.Output{two, three}, catalogtest.Plains(7, 2), unknown, 2, ErrGap},
		"list damaged":    {[]catalog.Output{one, unread}, catalogtest.Plains(7, 2), unknown, 2, ErrDamaged},
	} {
		chain := chainOf(nil, c.outputs)
		b := &built{name: blobnaming.OutputName("web", catalogtest.Hour(), "", 2)}
		got, err := rename(&chain, b, c.inputs)
		if got != c.want || b.name.Output() != c.name || !errors.Is(err, c.err) {
			t.Errorf("%s: outcome %d, %s, error %v", name, got, b.name, err)
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
