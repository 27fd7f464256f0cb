package aggregate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests

	"logstow/field"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/message"
)

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomValue is a value of one of a few fields.
func randomValue(r *rand.Rand) message.Value {
	kind := pick(r, message.Number, message.Number, message.Bare, message.Bare, message.String, message.Missing, message.Null, message.Bool, message.Composite)
	text := ""
	switch kind {
	case message.Missing:
	case message.Null:
		text = "null"
	case message.Bool:
		text = pick(r, "true", "false")
	case message.Composite:
		text = pick(r, `{"a":1}`, `[1,2]`)
	case message.Number:
		text = randomNumber(r)
	default:
		text = pick(r, "GET", "POST", "", "-", "a\x00b", "a", "a\x00", "7", "007", "1.0", "true", randomNumber(r), randomNumber(r))
	}
	return message.Value{Kind: kind, Text: []byte(text)}
}

func randomNumber(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return fmt.Sprintf("%d.%d", r.IntN(20)-10, r.IntN(100))
	case 1:
		return strconv.FormatFloat(r.NormFloat64(), 'g', -1, 64)
	case 2:
		return pick(r, "1e300", "-1e300", "1e-301", "9223372036854775807", "-9223372036854775808", "1e40", "123456789012345678901234567890.5", "2e-200", "1e20", "0", "-0", "0.0", "1E5", "-1e-7", "1.5e-9")
	default:
		return strconv.Itoa(r.IntN(30) - 10)
	}
}

// randomSpec is a Spec as typed, parsed.
func randomSpec(t *testing.T, r *rand.Rand) Spec {
	t.Helper()
	var by, compute, sort []string
	fields := []string{"f0", "f1", `field("f 2")`}
	step := r.IntN(2) == 0
	for range r.IntN(4) {
		f := pick(r, fields...)
		by = append(by, pick(r, f, f, "bucket("+f+")", "bucket("+f+", "+pick(r, "5", "0.25", "1e3")+")"))
	}
	if step {
		by = append(by, pick(r, "500ms", "7s", "minute", "5m", "hour", "2h", "7h", "day", "3d", "w"))
		if by[len(by)-1] == "w" {
			by[len(by)-1] = "1w"
		}
		r.Shuffle(len(by), func(i, j int) { by[i], by[j] = by[j], by[i] })
	}
	slices.Sort(by)
	by = slices.Compact(by)
	for range 1 + r.IntN(5) {
		f := pick(r, fields...)
		compute = append(compute, pick(r, "count", "count(a > 1)", "ratio(b)", "rate", "share", "sum("+f+")", "avg("+f+")", "min("+f+")", "max("+f+")", "stddev("+f+")", "geomean("+f+")",
			"p50("+f+")", "p99("+f+")", "p99.9("+f+")", "quantile(0."+strconv.Itoa(r.IntN(100))+", "+f+")", "p0("+f+")", "p100("+f+")", "distinct("+f+")", "first("+f+")", "last("+f+")"))
	}
	slices.Sort(compute)
	compute = slices.Compact(compute)
	r.Shuffle(len(compute), func(i, j int) { compute[i], compute[j] = compute[j], compute[i] })
	s := Spec{Pivot: -1, Zone: zone(t, pick(r, "UTC", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Havana"))}
	var err error
	if s.By, err = ParseBy([]string{strings.Join(by, ",")}); len(by) > 0 && err != nil {
		t.Fatal(by, err)
	}
	if s.Compute, err = ParseCompute([]string{strings.Join(compute, " , ")}); err != nil {
		t.Fatal(compute, err)
	}
	if r.IntN(3) == 0 && len(s.By) > 0 {
		if s.Pivot = r.IntN(len(s.By)); !s.By[s.Pivot].Step.IsZero() {
			s.Pivot = -1
		}
	}
	for i, k := range s.By {
		if r.IntN(4) == 0 && i != s.Pivot {
			sort = append(sort, k.Header+pick(r, "", " asc", " DESC"))
		}
	}
	for _, f := range s.Compute {
		if r.IntN(4) == 0 {
			sort = append(sort, f.Header+pick(r, "", " asc", " desc"))
		}
	}
	r.Shuffle(len(sort), func(i, j int) { sort[i], sort[j] = sort[j], sort[i] })
	if len(sort) > 0 {
		if s.Sort, err = ParseSort([]string{strings.Join(sort, ",")}, s.By, s.Compute); err != nil {
			t.Fatal(sort, err)
		}
	}
	if r.IntN(2) == 0 {
		s.Limit = 1 + r.IntN(10)
	}
	return s
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// randomRecords are records around a change of clocks.
func randomRecords(r *rand.Rand, s *Spec, n int) []*refRecord {
	start := pick(r, time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC), time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 10, 0, 0, 0, time.UTC), time.Date(1969, 12, 31, 20, 0, 0, 0, time.UTC)).UnixNano()
	span := int64(pick(r, 20*time.Second, time.Hour, 20*time.Hour))
	for _, k := range s.By {
		if k.Step.IsZero() {
			continue
		}
		first := k.Step.Start(0, time.UTC)
		if length := k.Step.End(first, time.UTC) - first; length >= int64(time.Hour) {
			span = int64(pick(r, time.Hour, 70*time.Hour))
		} else {
			span = length * int64(1+r.IntN(300))
		}
	}
	pool := make([]message.Value, 1+r.IntN(15))
	for i := range pool {
		pool[i] = randomValue(r)
	}
	var records []*refRecord
	for range n {
		records = append(records, &refRecord{
			time: start + r.Int64N(span), sequence: fmt.Sprintf("%x", len(records)*7919%10007),
			values: map[string]message.Value{
				name(field.Name{Field: "f0"}): pick(r, pool...), name(field.Name{Field: "f1"}): pick(r, pool...), name(field.Name{Field: "f 2"}): pick(r, pool...),
			},
			holds: map[string]bool{"a > 1": r.IntN(2) == 0, "b": r.IntN(9) == 0},
		})
	}
	if r.IntN(2) == 0 {
		s.From, s.To = start-r.Int64N(span), start+span+r.Int64N(span)
	}
	return records
}

// aggregate computes a Spec with a number of workers that get random records at the same time.
func aggregate(t *testing.T, r *rand.Rand, s Spec, records []*refRecord, workers int, limit int64) (rows []string, result *Result) {
	t.Helper()
	dir := t.TempDir()
	a, err := begin(s, Options{Workers: workers, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	parts := make([][]*refRecord, workers)
	for _, i := range r.Perm(len(records)) {
		part := r.IntN(workers)
		parts[part] = append(parts[part], records[i])
	}
	var group sync.WaitGroup
	for _, part := range parts {
		w := a.Worker()
		if limit > 0 {
			w.limit = limit
		}
		group.Go(func() {
			for _, rec := range part {
				in := Record{Time: rec.time, Sequence: []byte(rec.sequence)}
				for _, f := range a.Fields {
					in.Values = append(in.Values, rec.values[name(f)])
				}
				for _, f := range a.Conditions {
					in.Holds = append(in.Holds, rec.holds[f.Expr])
				}
				if err := w.Add(&in); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	result, err = a.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range result.Columns {
		if s.Pivot >= 0 && i%len(a.Compute) == 0 {
			text := actual(c.Pivot).text
			if c.Pivot.IsNumber() {
				text = string(c.Pivot.Append(nil))
			}
			column := &text
			if c.Pivot.Kind == Missing {
				column = nil
			}
			rows = append(rows, "column "+show(column))
		}
	}
	for row, err := range result.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, v := range row.Keys {
			fmt.Fprint(&b, actual(v), " ")
		}
		var values []refValue
		for _, v := range row.Values {
			values = append(values, actual(v))
		}
		rows = append(rows, b.String()+"|"+fmt.Sprint(values))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Fatal("files remain", left)
	}
	return rows, result
}

// TestLongRandom compares random queries of random records with the reference, for any number of workers,
// with and without spilling.
func TestLongRandom(t *testing.T) {
	effort.Need(t, effort.Test, "many groups")
	r := testrand.New(t)
	rounds := effort.Cases{Test: 30, Full: 150, Long: 20_000}.N()
	for round := range rounds {
		s := randomSpec(t, r)
		records := randomRecords(r, &s, pick(r, 0, 1, 10, 200, 500))
		want := s.reference(records)
		limit := pick[int64](r, 0, 1)
		got, result := aggregate(t, r, s, records, 1+r.IntN(8), limit)
		if !slices.Equal(got, want) {
			for i := range max(len(got), len(want)) {
				var g, w string
				if i < len(got) {
					g = got[i]
				}
				if i < len(want) {
					w = want[i]
				}
				if g != w {
					t.Logf("row %d:\n got %s\nwant %s", i, g, w)
					break
				}
			}
			t.Fatalf("round %d: %d rows, want %d of %d records; limit %d; spec %+v", round, len(got), len(want), len(records), limit, s)
		}
		if result.Total != uint64(len(records)) {
			t.Fatal(result.Total)
		}
		if slices.Contains(result.Approximate, true) {
			t.Fatal("approximate", result.Approximate)
		}
	}
}
