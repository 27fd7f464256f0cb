package aggregate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logstow/field"
	"logstow/message"
)

func text(s string) message.Value   { return message.Value{Kind: message.String, Text: []byte(s)} }
func number(s string) message.Value { return message.Value{Kind: message.Number, Text: []byte(s)} }

// table is a result as lines: headers, then rows.
func lines(t *testing.T, r *Result) []string {
	t.Helper()
	var header []string
	for _, k := range r.Keys {
		header = append(header, k.Header)
	}
	for _, c := range r.Columns {
		header = append(header, c.Header)
	}
	out := []string{strings.Join(header, "|")}
	for row, err := range r.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		var cells []string
		for _, v := range slices.Concat(row.Keys, row.Values) {
			cell := string(v.Append(nil))
			if v.Kind == Missing {
				cell = "missing"
			}
			cells = append(cells, cell)
		}
		out = append(out, strings.Join(cells, "|"))
	}
	return out
}

func finish(t *testing.T, a *Aggregation) *Result {
	t.Helper()
	r, err := a.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// spec parses lists.
func spec(t *testing.T, by, compute string) Spec {
	t.Helper()
	s := Spec{Pivot: -1}
	var err error
	if by != "" {
		if s.By, err = ParseBy([]string{by}); err != nil {
			t.Fatal(err)
		}
	}
	if compute != "" {
		if s.Compute, err = ParseCompute([]string{compute}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// begin begins an aggregation of a Spec.
func begin(s Spec, o Options) (*Aggregation, error) {
	p, err := Compile(s)
	if err != nil {
		return nil, err
	}
	return New(p, o), nil
}

func start(t *testing.T, s Spec) (*Aggregation, *Worker) {
	t.Helper()
	a, err := begin(s, Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(a.Close(), a.Close()); err != nil {
			t.Error(err)
		}
	})
	return a, a.Worker()
}

func add(t *testing.T, w *Worker, rec Record) {
	t.Helper()
	if err := w.Add(&rec); err != nil {
		t.Fatal(err)
	}
}

func fieldNames(fields []field.Name) string {
	var names []string
	for _, f := range fields {
		name := f.Field
		if f.Fixed != "" {
			name = "fixed " + string(f.Fixed)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by, compute               string
		bounded                   bool
		fields, conditions        string
		ordered, timed, onlyCount bool
	}{
		{"", "", false, "", "", false, false, true},
		{"level, route", "count, count(a), ratio(a) as x, ratio(b), share", false, "fixed level, route", "a b", false, false, true},
		{"route", "sum(route), p50(took), p99(took)", false, "route, took", "", false, false, false},
		{"5m", "count", false, "", "", false, true, true},
		{"", "rate", false, "", "", false, true, true},
		{"", "rate", true, "", "", false, false, true},
		{"", "first(f)", true, "f", "", true, true, false},
		{"", "distinct(f)", true, "f", "", false, false, false},
	} {
		s := spec(t, c.by, c.compute)
		if c.bounded {
			s.To = 1
		}
		a, _ := start(t, s)
		var conditions []string
		for _, f := range a.Conditions {
			conditions = append(conditions, f.Expr)
		}
		if got := fmt.Sprint(fieldNames(a.Fields), strings.Join(conditions, " "), a.Ordered, a.Timed(), a.CountsOnly()); got != fmt.Sprint(c.fields, c.conditions, c.ordered, c.timed, c.onlyCount) {
			t.Errorf("%s, %s: %s", c.by, c.compute, got)
		}
	}
}

func TestAddCount(t *testing.T) {
	t.Parallel()
	s := spec(t, "level", "count, ratio(e), rate, share")
	s.From, s.To = 0, 10e9
	a, w := start(t, s)
	if err := errors.Join(
		w.AddCount(&Record{Values: []message.Value{text("INFO")}, Holds: []bool{false}}, 30),
		w.AddCount(&Record{Values: []message.Value{text("INFO")}, Holds: []bool{true}}, 10),
		w.AddCount(&Record{Values: []message.Value{{}}, Holds: []bool{true}}, 1<<62),
	); err != nil {
		t.Fatal(err)
	}
	r := finish(t, a)
	if got, want := lines(t, r), []string{
		"level|count|ratio(e)|rate|share", "missing|4611686018427387904|1|461168601842738800|1", "INFO|40|0.25|4|8.673617379884035e-18",
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if r.Total != 1<<62+40 {
		t.Error(r.Total)
	}
}

// TestEmptySteps has steps without records, in a range that starts and ends inside a step.
func TestEmptySteps(t *testing.T) {
	t.Parallel()
	s := spec(t, "1s", "count, rate, sum(f), count(c)")
	s.From, s.To = 1_500_000_000, 5_250_000_000
	a, w := start(t, s)
	add(t, w, Record{Time: 1_600_000_000, Values: []message.Value{number("1")}, Holds: []bool{true}})
	add(t, w, Record{Time: 3_600_000_000, Values: []message.Value{number("0.5")}, Holds: []bool{true}})
	add(t, w, Record{Time: 5_200_000_000, Values: []message.Value{{}}, Holds: []bool{false}})
	if got, want := lines(t, finish(t, a)), []string{
		"1s|count|rate|sum(f)|count(c)", "1000000000|1|2|1|1", "2000000000|0|missing|missing|0", "3000000000|1|1|0.5|1",
		"4000000000|0|missing|missing|0", "5000000000|1|4|missing|0",
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// No record at all.
	a, _ = start(t, s)
	if got := lines(t, finish(t, a)); len(got) != 6 || got[5] != "5000000000|0|missing|missing|0" {
		t.Errorf("%q", got)
	}
	// No key, no range, no record.
	a, _ = start(t, spec(t, "", "count, min(f), count(c), distinct(f), rate"))
	if got := lines(t, finish(t, a)); !slices.Equal(got[1:], []string{"0|missing|0|missing|missing"}) {
		t.Errorf("%q", got)
	}
	a, _ = start(t, spec(t, "5m", "count"))
	if got := lines(t, finish(t, a)); len(got) != 1 {
		t.Errorf("%q", got)
	}
	a, _ = start(t, spec(t, "f", "count"))
	if got := lines(t, finish(t, a)); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestPivot(t *testing.T) {
	t.Parallel()
	s := spec(t, "route, method", "count, max(took)")
	s.Pivot = 1
	a, w := start(t, s)
	for _, r := range []string{"/a GET 1", "/a GET 2", "/b POST 3", "/b - 4", "/b  5", "/b POST 10"} {
		parts := strings.Split(r, " ")
		rec := Record{Values: []message.Value{text(parts[0]), text(parts[1]), number(parts[2])}}
		if parts[1] == "" {
			rec.Values[1] = message.Value{}
		}
		add(t, w, rec)
	}
	if got, want := lines(t, finish(t, a)), []string{
		"route|- count|- max(took)|\"-\" count|\"-\" max(took)|GET count|GET max(took)|POST count|POST max(took)",
		"/b|1|5|1|4|0|missing|2|10", "/a|0|missing|0|missing|2|2|0|missing",
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	s.Compute = s.Compute[:1]
	for _, n := range []int{MaxColumns, MaxColumns + 1} {
		a, w = start(t, s)
		for i := range n {
			add(t, w, Record{Values: []message.Value{text("/"), number(fmt.Sprint(i))}})
		}
		r, err := a.Finish(t.Context())
		if n > MaxColumns {
			if !errors.Is(err, ErrColumns) || err.Error() != "too many columns: --pivot method has more than 100 values" {
				t.Error(err)
			}
			continue
		}
		if err != nil || len(r.Columns) != MaxColumns || r.Columns[1].Header != "1" || r.Columns[1].Pivot.Kind != Integer || r.Columns[2].Header != "10" {
			t.Error(err, r.Columns)
		}
	}
}

// Columns have different headers, whatever values the pivot key has: JSON and Parquet go by them.
func TestPivotHeaders(t *testing.T) {
	t.Parallel()
	s := spec(t, "path, k", "count")
	s.Pivot = 1
	a, w := start(t, s)
	for _, k := range []message.Value{{}, text("-"), text("path"), text(`"path"`), text("\xfe"), text("\xff"), text("")} {
		add(t, w, Record{Values: []message.Value{text("/"), k}})
	}
	if got, want := lines(t, finish(t, a))[0], "path|-||\"path\"|\"-\"|\"\"path\"\"|\ufffd|\"\ufffd\""; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestIgnored counts values that are no numbers once, however many functions ignore them.
func TestIgnored(t *testing.T) {
	t.Parallel()
	a, w := start(t, spec(t, "bucket(f)", "sum(f), p50(f), max(g), distinct(h)"))
	for _, v := range []message.Value{number("1"), text("1"), {}, {Kind: message.Null, Text: []byte("null")}, number("1e999"), {Kind: message.Bool, Text: []byte("true")}} {
		add(t, w, Record{Values: []message.Value{v, number("1"), text("x")}})
	}
	r := finish(t, a)
	if !slices.Equal(r.Ignored, []Ignored{{field.Name{Field: "f"}, 3}}) {
		t.Error(r.Ignored)
	}
	if got, want := lines(t, r)[1:], []string{"1|1|1|1|1", "missing|missing|missing|1|1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestKeyKinds groups by text: a key is a number only if no record has it as a string.
func TestKeyKinds(t *testing.T) {
	t.Parallel()
	a, w := start(t, spec(t, "f", "count, first(f)"))
	for i, v := range []message.Value{number("200"), number("404"), text("404"), {Kind: message.Bare, Text: []byte("1.0")}, {Kind: message.Bool, Text: []byte("true")}, text(""), {}} {
		add(t, w, Record{Time: int64(i), Values: []message.Value{v}})
	}
	want := map[string]ValueKind{"404": Text, "": Text, "1.0": Text, "200": Integer, "true": Bool}
	for row, err := range finish(t, a).Rows() {
		key := string(row.Keys[0].Append(nil))
		kind := want[key]
		if row.Keys[0].Kind == Missing {
			kind = Missing
		}
		if err != nil || row.Keys[0].Kind != kind {
			t.Errorf("%q is a %d", key, row.Keys[0].Kind)
		}
		if key == "404" && row.Values[1].Kind != Integer {
			t.Error("the first 404 is a number", row.Values[1])
		}
	}
}

// TestLongKeys has keys and values larger than the slabs of the tables.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{0, 1} {
		a, w := start(t, spec(t, "f", "count, last(f)"))
		if limit > 0 {
			w.limit = limit
		}
		for i := range 200 {
			v := text(strings.Repeat("x", i%10*20_000) + "end")
			add(t, w, Record{Time: int64(i), Sequence: []byte{1}, Values: []message.Value{v}})
		}
		n := 0
		for row, err := range finish(t, a).Rows() {
			if err != nil || string(row.Keys[0].Text) != string(row.Values[1].Text) || row.Values[0].Int != 20 || len(row.Keys[0].Text) != n*20_000+3 {
				t.Fatal(n, err, len(row.Keys[0].Text), row.Values[0].Int)
			}
			n++
		}
		if n != 10 {
			t.Error(n)
		}
	}
}

func TestSpillErrors(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	a, err := begin(spec(t, "f", "count"), Options{Dir: missing})
	if err != nil {
		t.Fatal(err)
	}
	w := a.Worker()
	w.limit = 1
	for i := range 1000 {
		if err = w.Add(&Record{Values: []message.Value{text(fmt.Sprint(i))}}); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "cannot create temporary file: ") {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	a, w := start(t, spec(t, "f", "count"))
	add(t, w, Record{Values: []message.Value{text("x")}})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("cause")
	cancel(cause)
	if _, err := a.Finish(ctx); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestValueText(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]Value{
		"":                      {},
		"-5":                    {Kind: Integer, Int: -5},
		"0.1":                   floatValue(0.1),
		"1e-7":                  floatValue(1e-7),
		"1e+21":                 floatValue(1e21),
		"100000000000000000000": floatValue(1e20),
		"0":                     floatValue(0),
		"18446744073709551615":  integerValue(math.MaxUint64),
		"x":                     {Kind: Text, Text: []byte("x")},
	} {
		if got := string(v.Append(nil)); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
		x, ok := v.Number()
		if ok != v.IsNumber() || v.Kind == Integer && x != -5 || v.Kind == Decimal && x != math.MaxUint64 || v.Kind == Float && x != v.Float {
			t.Errorf("%v: %v, %v", v, x, ok)
		}
	}
}

// TestAllocations adds records to groups that exist.
func TestAllocations(t *testing.T) {
	_, w := start(t, spec(t, "route, bucket(took), bucket(took, 0.25), 5m", "count, avg(took), stddev(took), min(took), max(took), distinct(route), first(route), last(took), ratio(a)"))
	records := make([]Record, 100)
	for i := range records {
		records[i] = Record{
			Time: int64(i) * 1e9, Sequence: []byte("sequence"), Holds: []bool{i%2 == 0},
			Values: []message.Value{text(fmt.Sprint("/", i%7)), number(fmt.Sprintf("%d.5", i%10))},
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		for i := range records {
			if err := w.Add(&records[i]); err != nil {
				t.Fatal(err)
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
