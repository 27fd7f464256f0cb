package aggregate

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"logstow/internal/sketch"
	"logstow/internal/test/testrand"
	"logstow/message"
)

// distributions are those that sketches are bad at, each of any number of values.
func distributions(r *rand.Rand) map[string]func(i int) float64 {
	return map[string]func(i int) float64{
		"uniform":     func(int) float64 { return r.Float64() },
		"exponential": func(int) float64 { return math.Round(r.ExpFloat64() * 1e4) },
		"pareto":      func(int) float64 { return math.Pow(1-r.Float64(), -2) },
		"both signs":  func(int) float64 { return r.NormFloat64() * 1000 },
		"range":       func(int) float64 { return math.Pow(10, r.Float64()*590-295) },
		"two":         func(i int) float64 { return []float64{1e-9, 1e9}[i%2] },
		"constant":    func(int) float64 { return 17 },
		"sorted":      func(i int) float64 { return float64(i) },
		"zeros":       func(i int) float64 { return float64(max(0, i%10-8)) },
		"negative":    func(i int) float64 { return -1 / float64(1+i) },
		"bin edges":   func(i int) float64 { return math.Pow((1+sketch.Accuracy)/(1-sketch.Accuracy), float64(i%2000-1000)) },
	}
}

// addAll adds values of a field to several workers in random order, and returns the result's only row.
func addAll(t *testing.T, r *rand.Rand, compute string, values [][]byte, workers int, limit int64) []Value {
	t.Helper()
	a := newAggregation(t, "", compute)
	defer a.Close()
	var all []*Worker
	for range workers {
		w := a.Worker()
		if limit > 0 {
			w.limit = limit
		}
		all = append(all, w)
	}
	for _, i := range r.Perm(len(values)) {
		rec := Record{Values: []message.Value{{Kind: message.Bare, Text: values[i]}}}
		if err := all[r.IntN(workers)].Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	result, err := a.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range result.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range row.Values {
			if v.Approximate != result.Approximate[i] {
				t.Fatalf("%v is approximate, the column %v", v, result.Approximate[i])
			}
		}
		return slices.Clone(row.Values)
	}
	t.Fatal("no row")
	return nil
}

// TestQuantileBound compares quantiles of more than ExactValues values with those of all values sorted.
func TestQuantileBound(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	const compute = "p0(f), p1(f), p25(f), p50(f), p90(f), p99(f), p99.9(f), p100(f)"
	fractions := []Fraction{{0, 100}, {1, 100}, {25, 100}, {50, 100}, {90, 100}, {99, 100}, {999, 1000}, {100, 100}}
	all := distributions(r)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		numbers := make([]float64, ExactValues+1+r.IntN(10_000))
		texts := make([][]byte, len(numbers))
		for i := range numbers {
			numbers[i] = f(i)
			texts[i] = strconv.AppendFloat(nil, numbers[i], 'g', -1, 64)
		}
		first := addAll(t, r, compute, texts, 1, 0)
		slices.Sort(numbers)
		for i, q := range fractions {
			want := numbers[rankOf(q, uint64(len(numbers)))-1]
			got, ok := first[i].Number()
			if !ok || !first[i].Approximate || math.Abs(got-want) > 0.01*math.Abs(want) {
				t.Errorf("%s, quantile %v of %d: %v, want %v", name, q, len(numbers), first[i], want)
			}
		}
		// The same for any workers, and with spilling.
		for _, workers := range []int{2, 5} {
			limit := int64(0)
			if workers == 5 {
				limit = 300_000
			}
			if again := addAll(t, r, compute, texts, workers, limit); fmt.Sprint(again) != fmt.Sprint(first) {
				t.Errorf("%s: %v with %d workers, %v with one", name, again, workers, first)
			}
		}
	}
}

// TestExactLimit has as many values as are exact, and one more.
func TestExactLimit(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	for n := ExactValues - 1; n <= ExactValues+1; n++ {
		var texts [][]byte
		for i := range n {
			texts = append(texts, fmt.Appendf(nil, "%d.5", i))
		}
		for _, workers := range []int{1, 3} {
			for _, limit := range []int64{0, 1} {
				got := addAll(t, r, "p50(f), distinct(f), min(f)", texts, workers, limit)
				approximate := n > ExactValues
				if got[0].Approximate != approximate || got[1].Approximate != approximate || got[2].Approximate {
					t.Fatalf("%d values: %v", n, got)
				}
				if want := fmt.Sprintf("%d.5", (n+1)/2-1); !approximate && (string(got[0].Text) != want || got[1].Int != int64(n)) {
					t.Fatalf("%d values, %d workers: %v, want %s", n, workers, got, want)
				}
			}
		}
	}
}

// TestDistinctBound counts different values of shapes that bad hashes confuse.
func TestDistinctBound(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	shapes := map[string]func(i int) string{
		"numbers":  func(i int) string { return strconv.Itoa(i) },
		"multiple": func(i int) string { return strconv.Itoa(i * 65536) },
		"prefix":   func(i int) string { return fmt.Sprintf("%s%d", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", i) },
		"suffix":   func(i int) string { return fmt.Sprintf("%d%s", i, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") },
		"bytes":    func(i int) string { return string([]byte{byte(i), byte(i >> 8), byte(i >> 16)}) },
		"random":   func(int) string { return strconv.FormatUint(r.Uint64(), 36) },
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		shape := shapes[name]
		for _, n := range []int{ExactDistinct + 1, 30_000, 150_000} {
			texts := make([][]byte, 0, n+n/10)
			for i := range n {
				texts = append(texts, []byte(shape(i)))
			}
			texts = append(texts, texts[:n/10]...) // some twice
			got := addAll(t, r, "distinct(f)", texts, 1, 0)[0]
			if !got.Approximate || math.Abs(float64(got.Int)-float64(n)) > 0.02*float64(n) {
				t.Errorf("%s: %v of %d values", name, got, n)
			}
			if n == 30_000 {
				for _, limit := range []int64{0, 500_000} {
					if again := addAll(t, r, "distinct(f)", texts, 4, limit)[0]; again.Int != got.Int {
						t.Errorf("%s: %v with 4 workers, %v with one", name, again, got)
					}
				}
			}
		}
	}
}

// FuzzMerge merges bytes as a group: an error, or a state that is encoded and merged alike.
func FuzzMerge(f *testing.F) {
	const compute = "count(a), stddev(f), geomean(f), min(f), max(f), p50(f), distinct(f), first(f), last(f)"
	a := newAggregation(f, "f", compute)
	defer a.Close()
	w := a.Worker()
	for _, n := range []int{1, 5, ExactValues + 1} {
		for i := range n {
			text := fmt.Appendf(nil, "%d.25e-%d", i, i%30)
			if err := w.Add(&Record{Time: int64(i), Sequence: []byte("s"), Values: []message.Value{{Kind: message.Number, Text: text}}, Holds: []bool{true}}); err != nil {
				f.Fatal(err)
			}
			if i == 3 {
				f.Add(w.table.encode(nil, w.table.group(w.key)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		one := newSingle(a.Plan)
		one.start([]byte{0})
		if err := one.table.merge(one.group, data); err != nil {
			return
		}
		encoded := one.table.encode(nil, one.group)
		other := newSingle(a.Plan)
		other.start([]byte{0})
		if err := other.table.merge(other.group, encoded); err != nil {
			t.Fatalf("%x as %x: %v", data, encoded, err)
		}
		none, err := newGroups(a.Plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := newResult(none, "", 1<<20)
		if got, want := fmt.Sprint(r.finish(other.table, other.group, 1)), fmt.Sprint(r.finish(one.table, one.group, 1)); got != want {
			t.Fatalf("%x: %s, then %s", data, want, got)
		}
	})
}

// TestMemoryOfSketches checks that what is not in the arena is counted.
func TestMemoryOfSketches(t *testing.T) {
	t.Parallel()
	_, w := start(t, spec(t, "", "p50(f), distinct(f), sum(f)"))
	for i := range ExactValues + 1 {
		add(t, w, Record{Values: []message.Value{number(fmt.Sprintf("%d.000000000000000000000000000000000000000001", i))}})
	}
	if want := int64(sketch.Overhead + counterSize + 400*10); w.table.extra < want {
		t.Errorf("%d bytes, want at least %d", w.table.extra, want)
	}
	if w.table.reset(); w.table.extra != 0 || len(w.table.sketches)+len(w.table.counters)+len(w.table.wide) != 0 {
		t.Error("the memory is not freed")
	}
}

// A function is approximate if a printed value is, not for the row that it is sorted by.
func TestApproximatePrinted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by           string
		pivot, limit int
	}{{"path, method", 1, 0}, {"1s, method", -1, 1}} {
		s := spec(t, c.by, "distinct(f)")
		s.Pivot, s.Limit = c.pivot, c.limit
		a, w := start(t, s)
		for i := range ExactDistinct + 1 {
			rec := Record{Time: int64(i%2) * 1e9, Values: make([]message.Value, len(a.Fields))}
			for n, f := range a.Fields {
				switch f.Field {
				case "method":
					rec.Values[n] = text("GET")
					if c.pivot >= 0 {
						rec.Values[n] = text(fmt.Sprint(i % 2))
					}
				case "f":
					rec.Values[n] = number(fmt.Sprint(i))
				}
			}
			add(t, w, rec)
		}
		r := finish(t, a)
		if got := lines(t, r); len(got) < 2 || r.Approximate[0] {
			t.Errorf("%s: %q, approximate %v", c.by, got, r.Approximate)
		}
	}
}
