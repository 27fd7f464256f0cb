// Package aggregatetest makes specs and results for tests, and texts of results.
package aggregatetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"logstow/message"
	"logstow/query/aggregate"
)

// Row is a row of counts; a missing value is "-", times are RFC 3339.
type Row struct {
	Key   []string
	Count uint64
}

// Counts are numbers of records.
type Counts struct {
	Rows  []Row
	Total uint64
}

// Count is the spec of the number of records by keys, as --by has them, without a range.
func Count(tb testing.TB, by []string, zone *time.Location) aggregate.Spec {
	tb.Helper()
	keys, err := aggregate.ParseBy(by)
	if err != nil {
		tb.Fatal(err)
	}
	return aggregate.Spec{By: keys, Zone: zone, Pivot: -1}
}

// Read reads the result of Count, without the steps that have no records.
func Read(tb testing.TB, r *aggregate.Result, zone *time.Location) *Counts {
	tb.Helper()
	if zone == nil {
		zone = time.UTC
	}
	counts := &Counts{Total: r.Total}
	for row, err := range r.Rows() {
		if err != nil {
			tb.Fatal(err)
		}
		if row.Values[0].Int == 0 {
			continue
		}
		var key []string
		for i, v := range row.Keys {
			text := string(v.Append(nil))
			switch v.Kind {
			case aggregate.Missing:
				text = "-"
			case aggregate.Time:
				text = time.Unix(0, v.Int).In(zone).Format(r.Keys[i].Step.Layout())
			}
			key = append(key, text)
		}
		counts.Rows = append(counts.Rows, Row{key, uint64(row.Values[0].Int)})
	}
	return counts
}

// Parse is the spec of the flags --by, --compute and --sort, without a range and a pivot; "" is none.
func Parse(tb testing.TB, by, compute, sort string) aggregate.Spec {
	tb.Helper()
	list := func(text string) []string {
		if text == "" {
			return nil
		}
		return []string{text}
	}
	spec := aggregate.Spec{Pivot: -1}
	var errs [3]error
	spec.By, errs[0] = aggregate.ParseBy(list(by))
	spec.Compute, errs[1] = aggregate.ParseCompute(list(compute))
	spec.Sort, errs[2] = aggregate.ParseSort(list(sort), spec.By, spec.Compute)
	if err := errors.Join(errs[:]...); err != nil {
		tb.Fatal(err)
	}
	return spec
}

// Start is the time of the first message of Compute.
func Start() time.Time { return time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC) }

// Compute computes functions of messages, which are an interval apart. Every condition is whether the field ok
// is true.
func Compute(tb testing.TB, spec aggregate.Spec, interval time.Duration, messages []string) *aggregate.Result {
	tb.Helper()
	plan, err := aggregate.Compile(spec)
	if err != nil {
		tb.Fatal(err)
	}
	a := aggregate.New(plan, aggregate.Options{Dir: tb.TempDir()})
	tb.Cleanup(func() {
		if err := a.Close(); err != nil {
			tb.Error(err)
		}
	})
	w := a.Worker()
	for i, msg := range messages {
		rec := aggregate.Record{Time: Start().Add(time.Duration(i) * interval).UnixNano(), Sequence: fmt.Appendf(nil, "%09d", i)}
		for _, f := range a.Fields {
			rec.Values = append(rec.Values, message.NewFinder(f.Field).Find([]byte(msg)))
		}
		for range a.Conditions {
			rec.Holds = append(rec.Holds, string(message.NewFinder("ok").Find([]byte(msg)).Text) == "true")
		}
		if err := w.Add(&rec); err != nil {
			tb.Fatal(err)
		}
	}
	r, err := a.Finish(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// ErrFull is the error of a FullDisk.
var ErrFull = errors.New("no space left on device")

// FullDisk is a writer that fails after so many bytes.
type FullDisk int

// Write takes p if there is space for it.
func (f *FullDisk) Write(p []byte) (int, error) {
	if *f -= FullDisk(len(p)); *f < 0 {
		return 0, ErrFull
	}
	return len(p), nil
}
