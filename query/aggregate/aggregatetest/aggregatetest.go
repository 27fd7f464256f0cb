// Package aggregatetest makes specs for tests, and texts of results.
package aggregatetest

import (
	"testing"
	"time"

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
