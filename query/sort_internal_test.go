package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/heap"
	"logstow/query/sorting"

	"logstow/internal/test/querytest"
	"logstow/message"

	"logstow/internal/test/testrand"
	"logstow/record"
)

// sorted are the lines of a query in an order.
func sorted(t testing.TB, q *Query, p *Plan, items ...string) []string {
	t.Helper()
	order, err := sorting.Parse(items)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	if err := q.Sort(t.Context(), p, order, func(m Match) error {
		want, ok := record.Split(m.Line)
		if at, err := record.ParseTime(m.Line[:record.TimeLen]); !ok || err != nil || at != m.Time || m.Level() != want.Level || m.Instance == "" || m.Store != "memory" {
			t.Errorf("%q: %+v", m.Line, m)
		}
		lines = append(lines, fmt.Sprintf("%s %s", m.Segment.Name.Service, m.Line))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// ranked is what a line of [world.want] is sorted by: the class (0 is a number, 1 a text, 2 missing) and the value.
type ranked struct {
	class  int
	number *big.Rat
	text   string
}

// rankOf is the obvious rank of a line by a name.
func rankOf(line, name string) ranked {
	service, line, _ := strings.Cut(line, " ")
	c, _ := record.Split([]byte(line))
	msg := record.AppendMessage(nil, c.Raw)
	switch name {
	case "time":
		return ranked{class: 1, text: line[:record.TimeLen]}
	case "level":
		if c.Level == record.None {
			return ranked{class: 2}
		}
		return ranked{class: 1, text: fmt.Sprint(int(c.Level))}
	case "service":
		return ranked{class: 1, text: service}
	case "source":
		return ranked{class: 1, text: string(c.Source)}
	case "message":
		return ranked{class: 1, text: string(msg)}
	}
	own := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "message."), `field("`), `")`)
	v := querytest.Field(fieldAttributes(name, c.Attributes), msg, own)
	if v.Kind == message.Missing || v.Kind == message.Null {
		return ranked{class: 2}
	}
	if _, ok := v.Decimal(); ok {
		n, _ := new(big.Rat).SetString(string(v.Text))
		return ranked{number: n}
	}
	return ranked{class: 1, text: string(v.Text)}
}

// Sorted queries print what sorting all lines of the reference does, however little memory there is.
func TestSortAgreesWithReference(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	names := []string{"time", "level", "service", "source", "message", "ab", "k1", `field("k1")`, "n.ab", "nosuch"}
	for range worlds(20) {
		w := newWorld(t, rnd, rnd.IntN(2) == 0)
		w.fill(rnd.IntN(30))
		opts := Options{TempDir: t.TempDir()}
		if w.tables != nil {
			w.indexed()
			opts.Plan = PlanIndex
		}
		for range 15 {
			sel := w.selection()
			sel.Newest = false
			all := sel
			all.Limit = 0
			want := w.want(&all)
			var items, by []string
			var down []bool
			for range 1 + rnd.IntN(2) {
				name := names[rnd.IntN(len(names))]
				direction := []string{"", " asc", " desc", "  DESC"}[rnd.IntN(4)]
				items, by, down = append(items, name+direction), append(by, name), append(down, strings.Contains(strings.ToLower(direction), "desc"))
			}
			if _, err := sorting.Parse(items); err != nil {
				continue // the same twice
			}
			slices.SortStableFunc(want, func(a, b string) int {
				for i, name := range by {
					x, y := rankOf(a, name), rankOf(b, name)
					c := cmp.Compare(x.class, y.class)
					if c == 0 {
						if c = strings.Compare(x.text, y.text); x.number != nil {
							c = x.number.Cmp(y.number)
						}
						if down[i] {
							c = -c
						}
					}
					if c != 0 {
						return c
					}
				}
				return 0
			})
			if sel.Limit > 0 {
				want = want[:min(len(want), sel.Limit)]
			}
			opts.GroupMemory = []int64{0, 1}[rnd.IntN(2)]
			q := w.query(sel, opts)
			p, err := q.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := sorted(t, q, p, items...); !slices.Equal(got, want) && len(q.Report().Problems) == 0 {
				t.Fatalf("%+v by %q\ngot  %q\nwant %q", sel, items, got, want)
			}
		}
		noFilesIn(t, opts.TempDir)
	}
}

func noFilesIn(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error("temporary files are left:", left, err)
	}
}

// distinctValues are the different values of a field, as text, with their counts.
func distinctValues(t testing.TB, q *Query, p *Plan, text string) (values []string, sum DistinctSummary) {
	t.Helper()
	name, err := DistinctName(text)
	if err != nil {
		t.Fatal(err)
	}
	sum, err = q.Distinct(t.Context(), p, name, func(v DistinctValue) error {
		values = append(values, fmt.Sprintf("%q %d", v.Text, v.Count))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return values, sum
}

// The values of a field are those of the reference's lines, however little memory there is.
func TestDistinctAgreesWithReference(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range worlds(20) {
		w := newWorld(t, rnd, false)
		w.fill(rnd.IntN(30))
		opts := Options{TempDir: t.TempDir()}
		for range 15 {
			sel := w.selection()
			sel.Newest = false
			all := sel
			all.Limit = 0
			text := []string{"time", "level", "service", "source", "message", "ab", "k1", "nosuch", "count"}[rnd.IntN(9)]
			counts, missing := map[string]uint64{}, uint64(0)
			lines := w.want(&all)
			for _, line := range lines {
				key := keyOf(t, line, []string{text}, time.UTC)[0]
				if r := rankOf(line, text); r.class == 2 {
					missing++
				} else {
					counts[key]++
				}
			}
			var want []string
			for _, key := range slices.Sorted(maps.Keys(counts)) {
				want = append(want, fmt.Sprintf("%q %d", key, counts[key]))
			}
			if sel.Limit > 0 {
				want = want[:min(len(want), sel.Limit)]
			}
			opts.GroupMemory = []int64{0, 1}[rnd.IntN(2)]
			q := w.query(sel, opts)
			p, err := q.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, sum := distinctValues(t, q, p, text)
			if len(q.Report().Problems) == 0 && (!slices.Equal(got, want) || sum.Missing != missing || sum.Records != uint64(len(lines))) {
				t.Fatalf("%+v of %s, %+v\ngot  %q\nwant %q, %d missing", sel, text, sum, got, want, missing)
			}
		}
		noFilesIn(t, opts.TempDir)
	}
}

// The first records need memory for themselves alone, in whatever order the others come.
func TestSortMemory(t *testing.T) {
	effort.Need(t, effort.Full, "sorts with little memory")
	w := newWorld(t, rand.New(rand.NewPCG(6, 6)), false)
	const perSegment, segments = 4000, 20
	for i := range segments {
		records := make([]record.Record, perSegment)
		for j := range records {
			n := i*perSegment + j
			records[j] = record.Record{
				Time: origin().Add(time.Duration(n) * time.Millisecond).UnixNano(), Source: "-",
				Message: fmt.Appendf(nil, `{"n":%d,"text":"%s"}`, n, strings.Repeat("x", 1000)),
			}
		}
		w.add("svc-1", "pod-1", 64<<10, w.salt(), records)
	}
	sel := querytest.Everything()
	sel.From, sel.To, sel.Limit = origin(), origin().Add(time.Hour), 20
	q := w.query(sel, Options{TempDir: t.TempDir()})
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	order, err := sorting.Parse([]string{"n desc"})
	if err != nil {
		t.Fatal(err)
	}
	before, n := heap.Live(), perSegment*segments
	if err := q.Sort(t.Context(), p, order, func(m Match) error {
		if n == perSegment*segments {
			if grown := heap.Live() - before; grown > 24<<20 {
				t.Errorf("the heap grew by %d bytes", grown)
			}
		}
		n--
		if want := fmt.Sprintf(`{"n":%d,`, n); !strings.HasPrefix(string(m.Message()), want) {
			t.Fatalf("%.20q, want %s", m.Message(), want)
		}
		return nil
	}); err != nil || n != perSegment*segments-20 {
		t.Fatal(n, err)
	}
	runtime.KeepAlive(w)

	// Without a limit they go through temporary files.
	sel.Limit = 0
	q = w.query(sel, Options{TempDir: "no/such/directory", GroupMemory: 1})
	if err := q.Sort(t.Context(), p, order, func(Match) error {
		t.Error("a record is emitted without temporary files")
		return errors.New("stop")
	}); err == nil || !strings.Contains(err.Error(), "cannot create temporary file") {
		t.Error(err)
	}
	dir := t.TempDir()
	q, n = w.query(sel, Options{TempDir: dir, GroupMemory: 1}), perSegment*segments
	if err := q.Sort(t.Context(), p, order, func(m Match) error {
		n--
		if want := fmt.Sprintf(`{"n":%d,`, n); !strings.HasPrefix(string(m.Message()), want) {
			return fmt.Errorf("%.20q, want %s", m.Message(), want)
		}
		return nil
	}); err != nil || n != 0 {
		t.Error(n, err)
	}
	noFilesIn(t, dir)
}

// An error of the output ends a sort, and so does the end of the context.
func TestSortEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rand.New(rand.NewPCG(7, 7)), false)
	w.fill(10)
	q := w.query(querytest.Everything(), Options{TempDir: t.TempDir()})
	sel := q.matcher.Selection
	sel.To = sel.To.AddDate(100, 0, 0)
	q = w.query(*sel, Options{TempDir: q.opts.TempDir})
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	order, err := sorting.Parse([]string{"k1"})
	if err != nil {
		t.Fatal(err)
	}
	stop, n := errors.New("stop"), 0
	if err := q.Sort(t.Context(), p, order, func(Match) error {
		n++
		return stop
	}); !errors.Is(err, stop) || n != 1 {
		t.Error(n, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := q.Sort(ctx, p, order, func(Match) error {
		cancel(stop)
		n++
		return nil
	}); !errors.Is(err, stop) || n != 2 {
		t.Error(n, err)
	}
	if err := q.Sort(ctx, p, order, func(Match) error { return nil }); !errors.Is(err, stop) {
		t.Error(err)
	}
	noFilesIn(t, q.opts.TempDir)
}

func TestParseSort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"5m": "5m is a time step, not a field of a record", "a up": `a up: a name cannot contain " " (at character 2)`, "": "a name is empty",
		"a|a": "a is named twice", "a desc|a": "a is named twice", "(a)": "a name cannot contain",
	} {
		if _, err := sorting.Parse(strings.Split(text, "|")); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	order, err := sorting.Parse([]string{`field("a desc") desc`, "desc", "level", "a\tasc"})
	if err != nil {
		t.Fatal(err)
	}
	if name, ok := order.Field(); !ok || name != "a desc" {
		t.Errorf("ordered by %q, %t", name, ok)
	}
	if order, err = sorting.Parse([]string{"level", "a"}); err != nil {
		t.Fatal(err)
	}
	if name, ok := order.Field(); ok {
		t.Errorf("ordered by %q", name)
	}
}

// fieldAttributes are the attributes in which a name may be found: none of a name of the message only.
func fieldAttributes(name string, attributes []byte) []byte {
	if strings.HasPrefix(name, "message.") {
		return nil
	}
	return attributes
}
