package query

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/internal/test/querytest"
	"logstow/message"
	"logstow/query/aggregate"
	"logstow/query/cache"
	"logstow/query/stats"

	"logstow/internal/test/testrand"
	"logstow/record"
)

// Functions of random queries equal an obvious reference: all records of a group in a list, numbers as
// big.Rat. Plans, the cache, and the memory do not change them.
func TestFunctionsAgreeWithReference(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	keys := []string{"level", "service", "source", "minute", "hour", "ab", "k1", "n.ab"}
	groups := 0
	for range (effort.Cases{Short: 2, Test: 4, Full: 12}).N() {
		w := newWorld(t, rnd, true)
		w.fill(rnd.IntN(30))
		w.indexed()
		var err error
		if w.cache, err = cache.Open(t.TempDir(), 1<<20); err != nil {
			t.Fatal(err)
		}
		for range 12 {
			sel := w.selection()
			sel.Newest, sel.Limit = false, 0
			if rnd.IntN(2) == 0 {
				sel.Patterns, sel.Regexps, sel.Excludes, sel.Where, sel.Sources = nil, nil, nil, nil, nil
			}
			rnd.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			by := slices.Clone(keys[:rnd.IntN(3)])
			if slices.Contains(by, "minute") && slices.Contains(by, "hour") {
				continue // a query has one time step
			}
			var compute []string
			counts := rnd.IntN(3) == 0 // what footers answer
			for _, f := range functions() {
				if rnd.IntN(3) == 0 && (!counts || !strings.Contains(f.text, "ab") && !strings.Contains(f.text, "k1")) {
					compute = append(compute, f.text)
				}
			}
			if len(compute) == 0 {
				compute = []string{"count"}
			}
			want := w.wantFunctions(&sel, by, compute)
			groups += len(want)
			for _, opts := range []Options{
				{},
				{Plan: PlanIndex},
				{Plan: PlanList, GroupMemory: 1, TempDir: t.TempDir()},
			} {
				got := w.gotFunctions(sel, opts, by, compute)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%+v by %v of %v, %+v (-reference +stats)\n%s", sel, by, compute, opts, diff)
				}
			}
		}
	}
	if groups < 100 {
		t.Errorf("%d groups: the test checks too little", groups)
	}
}

// gotFunctions are the functions of every group with records, by its key.
func (w *world) gotFunctions(sel Selection, opts Options, by, compute []string) map[string]string {
	w.t.Helper()
	spec := aggregate.Spec{Pivot: -1, From: sel.From.UnixNano(), To: sel.To.UnixNano()}
	var err error
	if spec.By, err = aggregate.ParseBy(by); err != nil {
		w.t.Fatal(err)
	}
	if spec.Compute, err = aggregate.ParseCompute(append([]string{"count as n"}, compute...)); err != nil {
		w.t.Fatal(err)
	}
	c, err := stats.Compile(spec, time.Time{})
	if err != nil {
		w.t.Fatal(err)
	}
	q := w.query(sel, opts)
	w.last = q
	p, err := q.Plan(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	table, err := q.Stats(w.t.Context(), p, c)
	if err != nil {
		w.t.Fatal(err)
	}
	defer table.Close()
	got := map[string]string{}
	for row, err := range table.Rows() {
		if err != nil {
			w.t.Fatal(err)
		}
		if row.Values[0].Int == 0 {
			continue
		}
		var key, values []string
		for i, v := range row.Keys {
			text := string(v.Append(nil))
			switch v.Kind {
			case aggregate.Missing:
				text = "-"
			case aggregate.Time:
				text = time.Unix(0, v.Int).UTC().Format(table.Keys[i].Step.Layout())
			}
			key = append(key, text)
		}
		for _, v := range row.Values[1:] {
			values = append(values, string(v.Append(nil)))
		}
		if _, twice := got[strings.Join(key, "|")]; twice {
			w.t.Fatalf("two rows of %q", key)
		}
		got[strings.Join(key, "|")] = strings.Join(values, "|")
	}
	return got
}

// wantFunctions is what gotFunctions should be.
func (w *world) wantFunctions(sel *Selection, by, compute []string) map[string]string {
	w.t.Helper()
	groups := map[string][]refLine{}
	total := 0
	for _, text := range w.want(sel) {
		_, line, _ := strings.Cut(text, " ")
		f, ok := record.Split([]byte(line))
		if !ok {
			w.t.Fatalf("%q", line)
		}
		at, err := time.Parse(time.RFC3339Nano, line[:record.TimeLen])
		if err != nil {
			w.t.Fatal(err)
		}
		msg := record.AppendMessage(nil, f.Raw)
		var key []string
		for _, name := range by {
			if name == "n.ab" {
				v := querytest.Field(f.Attributes, msg, name)
				if v.Kind == message.Missing || v.Kind == message.Null {
					v.Text = []byte("-")
				}
				key = append(key, string(v.Text))
			} else {
				key = append(key, keyOf(w.t, text, []string{name}, time.UTC)...)
			}
		}
		joined := strings.Join(key, "|")
		groups[joined] = append(groups[joined], refLine{at, f.Level, f.Attributes, msg})
		total++
	}
	want := map[string]string{}
	for key, lines := range groups {
		from, to := sel.From, sel.To
		for i, name := range by {
			if length := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}[name]; length > 0 {
				start, err := time.Parse(time.RFC3339, strings.Split(key, "|")[i])
				if err != nil {
					w.t.Fatal(err)
				}
				from, to = maxTime(from, start), minTime(to, start.Add(length))
			}
		}
		var values []string
		for _, f := range functions() {
			if slices.Contains(compute, f.text) {
				values = append(values, f.value(refLines{lines, total, to.Sub(from)}))
			}
		}
		want[key] = strings.Join(values, "|")
	}
	return want
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// refLine is a record.
type refLine struct {
	time                time.Time
	level               record.Level
	attributes, message []byte
}

// refLines are the records of a group, in the order of query.
type refLines struct {
	lines    []refLine
	total    int // of all groups
	duration time.Duration
}

func (l refLines) values(name string) (present []message.Value) {
	for _, one := range l.lines {
		if v := querytest.Field(one.attributes, one.message, name); v.Kind != message.Missing && v.Kind != message.Null {
			present = append(present, v)
		}
	}
	return present
}

func (l refLines) numbers(name string) (sorted []*big.Rat) {
	for _, v := range l.values(name) {
		if v.Kind == message.Number || v.Kind == message.Bare {
			if n, ok := new(big.Rat).SetString(string(v.Text)); ok && !strings.ContainsAny(string(v.Text), "/_xX") {
				sorted = append(sorted, n)
			}
		}
	}
	slices.SortFunc(sorted, (*big.Rat).Cmp)
	return sorted
}

func (l refLines) sum(name string) *big.Rat {
	sum := new(big.Rat)
	for _, n := range l.numbers(name) {
		sum.Add(sum, n)
	}
	return sum
}

func (l refLines) count(holds func(refLine) bool) (n int) {
	for _, one := range l.lines {
		if holds(one) {
			n++
		}
	}
	return n
}

// nearest is the nearest float64, as results have it.
func nearest(n *big.Rat) string {
	x, _ := n.Float64()
	return string(aggregate.Value{Kind: aggregate.Float, Float: x}.Append(nil))
}

func whole(n *big.Rat) string {
	if n.IsInt() {
		return n.Num().String()
	}
	return nearest(n)
}

// refFunction is a function as typed, and what it is of a group.
type refFunction struct {
	text  string
	value func(refLines) string
}

func functions() []refFunction {
	severe := func(one refLine) bool { return one.level >= record.Warn }
	known := func(one refLine) bool {
		return querytest.Field(one.attributes, one.message, "ab").Kind != message.Missing
	}
	ofNumbers := func(name string, f func(l refLines, sorted []*big.Rat) string) func(refLines) string {
		return func(l refLines) string {
			if sorted := l.numbers(name); len(sorted) > 0 {
				return f(l, sorted)
			}
			return ""
		}
	}
	rank := func(i func(n int) int) func(refLines, []*big.Rat) string {
		return func(_ refLines, sorted []*big.Rat) string { return whole(sorted[i(len(sorted))-1]) }
	}
	return []refFunction{
		{"count", func(l refLines) string { return fmt.Sprint(len(l.lines)) }},
		{`count(level >= "warn") as severe`, func(l refLines) string { return fmt.Sprint(l.count(severe)) }},
		{`ratio(level == "error" or service == "none") as errors`, func(l refLines) string {
			return nearest(big.NewRat(int64(l.count(func(one refLine) bool { return one.level == record.Error })), int64(len(l.lines))))
		}},
		{`ratio(has(ab))`, func(l refLines) string { return nearest(big.NewRat(int64(l.count(known)), int64(len(l.lines)))) }},
		{"rate", func(l refLines) string {
			return nearest(big.NewRat(int64(len(l.lines))*int64(time.Second), int64(l.duration)))
		}},
		{"share", func(l refLines) string { return nearest(big.NewRat(int64(len(l.lines)), int64(l.total))) }},
		{"sum(k1)", ofNumbers("k1", func(l refLines, _ []*big.Rat) string { return whole(l.sum("k1")) })},
		{"avg(k1)", ofNumbers("k1", func(l refLines, s []*big.Rat) string {
			return nearest(new(big.Rat).Quo(l.sum("k1"), big.NewRat(int64(len(s)), 1)))
		})},
		{"stddev(ab)", ofNumbers("ab", func(l refLines, s []*big.Rat) string {
			mean := new(big.Rat).Quo(l.sum("ab"), big.NewRat(int64(len(s)), 1))
			squares := new(big.Rat)
			for _, n := range s {
				d := new(big.Rat).Sub(n, mean)
				squares.Add(squares, d.Mul(d, d))
			}
			variance := new(big.Float).SetPrec(200).SetRat(squares.Quo(squares, big.NewRat(int64(len(s)), 1)))
			x, _ := variance.Sqrt(variance).Float64()
			return string(aggregate.Value{Kind: aggregate.Float, Float: x}.Append(nil))
		})},
		{"min(k1)", ofNumbers("k1", rank(func(int) int { return 1 }))},
		{"max(n.ab)", ofNumbers("n.ab", rank(func(n int) int { return n }))},
		{"p50(k1)", ofNumbers("k1", rank(func(n int) int { return (n + 1) / 2 }))},
		{"quantile(0.9, k1)", ofNumbers("k1", rank(func(n int) int { return (9*n + 9) / 10 }))},
		{"distinct(ab)", func(l refLines) string {
			different := map[string]bool{}
			for _, v := range l.values("ab") {
				different[string(v.Text)] = true
			}
			return fmt.Sprint(len(different))
		}},
		{"first(ab)", func(l refLines) string {
			return string(slices.Concat(l.values("ab"), []message.Value{{}})[0].Text)
		}},
		{"last(n.ab)", func(l refLines) string {
			values := slices.Concat([]message.Value{{}}, l.values("n.ab"))
			return string(values[len(values)-1].Text)
		}},
	}
}
