package aggregate

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"logstow/message"
)

// benchmarkAdd measures adding a record with a key of a number of values, and a number.
func benchmarkAdd(b *testing.B, by, compute string, keys int) {
	a := newAggregation(b, by, compute)
	defer a.Close()
	w := a.Worker()
	r := rand.New(rand.NewPCG(1, 2))
	records := make([]Record, 1<<16)
	for i := range records {
		for _, f := range a.Fields {
			v := message.Value{Kind: message.String, Text: fmt.Appendf(nil, "/api/v1/%d", r.IntN(keys))}
			if f.Field == "took" {
				v = message.Value{Kind: message.Number, Text: strconv.AppendInt(nil, int64(r.ExpFloat64()*100), 10)}
			}
			records[i].Values = append(records[i].Values, v)
		}
		records[i].Time = int64(i) * 1e6
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if err := w.Add(&records[i%len(records)]); err != nil {
			b.Fatal(err)
		}
	}
}

func newAggregation(t testing.TB, by, compute string) *Aggregation {
	t.Helper()
	s := Spec{Pivot: -1}
	var err error
	if by != "" {
		if s.By, err = ParseBy([]string{by}); err != nil {
			t.Fatal(err)
		}
	}
	if s.Compute, err = ParseCompute([]string{compute}); err != nil {
		t.Fatal(err)
	}
	a, err := begin(s, Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func BenchmarkAdd(b *testing.B) {
	for _, c := range []struct {
		by, compute string
		keys        int
	}{
		{"route", "count", 30},
		{"route, 5m", "count", 30},
		{"route", "sum(took)", 30},
		{"route", "avg(took), stddev(took)", 30},
		{"route", "min(took), max(took)", 30},
		{"route", "p99(took)", 30},
		{"route", "p50(took), p99(took)", 30_000},
		{"", "distinct(route)", 50_000},
		{"route", "last(took)", 30},
		{"bucket(took)", "count", 30},
		{"route", "count", 50_000},
	} {
		b.Run(fmt.Sprintf("%s/%s/%d", c.by, c.compute, c.keys), func(b *testing.B) { benchmarkAdd(b, c.by, c.compute, c.keys) })
	}
}

// BenchmarkGroups measures 500,000 groups from the first record to the last row.
func BenchmarkGroups(b *testing.B) {
	const groups = 500_000
	for range b.N {
		a := newAggregation(b, "user", "count, p99(took)")
		w := a.Worker()
		rec := Record{Values: make([]message.Value, 2)}
		var key, number []byte
		for i := range 2 * groups {
			key = strconv.AppendInt(append(key[:0], "user-"...), int64(i*7919%groups), 10)
			number = strconv.AppendInt(number[:0], int64(i%1000), 10)
			rec.Values[0] = message.Value{Kind: message.String, Text: key}
			rec.Values[1] = message.Value{Kind: message.Number, Text: number}
			if err := w.Add(&rec); err != nil {
				b.Fatal(err)
			}
		}
		result, err := a.Finish(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, err := range result.Rows() {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != groups {
			b.Fatal(n)
		}
		a.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(2*groups), "ns/record")
}
