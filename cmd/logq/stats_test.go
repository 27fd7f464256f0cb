package main

import (
	"strings"
	"testing"
	"time"

	"logstow/field"
	"logstow/query"
)

// Gaps are the periods in which nothing was logged, no other ones, on days with any number of hours.
func TestGaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, step, from, to string }{
		{"Europe/Berlin", "day", "2026-10-20", "2026-11-02"},
		{"Europe/Berlin", "day", "2026-03-25", "2026-04-02"},
		{"Europe/Berlin", "hour", "2026-10-24", "2026-10-27"},
		{"America/New_York", "hour", "2026-03-07", "2026-03-10"},
		{"America/Santiago", "day", "2026-09-01", "2026-09-10"}, // midnight is missing on the 6th
		{"Asia/Kathmandu", "hour", "2026-03-07", "2026-03-10"},
		{"Australia/Lord_Howe", "hour", "2026-10-03", "2026-10-06"},
		{"UTC", "minute", "2026-10-03", "2026-10-04"},
		{"Europe/Berlin", "5h", "2026-10-23", "2026-10-27"},
		{"Europe/Berlin", "1w", "2026-01-05", "2026-11-27"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		step, err := field.ParseName(c.step)
		if err != nil {
			t.Fatal(err)
		}
		from, err := time.ParseInLocation("2006-01-02", c.from, zone)
		to, err2 := time.ParseInLocation("2006-01-02", c.to, zone)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		var all []string
		var rows []query.Row
		for at := from; at.Before(to); at = at.Add(time.Minute) {
			key := step.Step.Start(at).Format(time.RFC3339)
			if len(all) > 0 && all[len(all)-1] == key {
				continue
			}
			if all = append(all, key); len(all)%5 == 1 {
				rows = append(rows, query.Row{Key: []string{key}, Count: 1})
			}
		}
		all = all[:(len(all)-1)/5*5+1]
		var got []string
		for _, row := range withGaps(rows, step.Step, zone) {
			got = append(got, row.Key[0])
		}
		if strings.Join(got, " ") != strings.Join(all, " ") {
			t.Errorf("%s of %s:\n%v, want\n%v", c.step, c.zone, got, all)
		}
	}
}

// The largest groups keep their order.
func TestLargest(t *testing.T) {
	t.Parallel()
	var rows []query.Row
	for i, n := range []uint64{3, 1, 5, 3, 4, 3} {
		rows = append(rows, query.Row{Key: []string{string(rune('a' + i))}, Count: n})
	}
	var got []string
	for _, row := range largest(rows, 4) {
		got = append(got, row.Key[0])
	}
	if strings.Join(got, "") != "acde" {
		t.Errorf("%s", got)
	}
}
