package blobnaming_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"logstow/blobnaming"
)

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

func TestValidWidth(t *testing.T) {
	t.Parallel()
	var valid []int
	for seconds := range 2 * 60 * 60 {
		if w := time.Duration(seconds) * time.Second; blobnaming.ValidWidth(w) {
			valid = append(valid, seconds)
			if time.Hour%w != 0 {
				t.Errorf("%v does not divide the hour", w)
			}
		}
	}
	want := []int{300, 600, 900, 1200, 1800, 3600}
	if len(valid) != len(want) {
		t.Fatalf("valid widths are %v seconds, want %v", valid, want)
	}
	for i := range want {
		if valid[i] != want[i] {
			t.Fatalf("valid widths are %v seconds, want %v", valid, want)
		}
	}
	if blobnaming.ValidWidth(-time.Hour) || blobnaming.ValidWidth(5*time.Minute+1) {
		t.Error("negative and odd widths must not be valid")
	}
}

func TestBucketStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at    string
		width time.Duration
		want  string
	}{
		{"2014-07-31T18:59:59.999999999Z", time.Hour, "2014-07-31T18:00:00Z"},
		{"2014-07-31T18:00:00Z", time.Hour, "2014-07-31T18:00:00Z"},
		{"2014-07-31T18:59:59.999999999Z", 20 * time.Minute, "2014-07-31T18:40:00Z"},
		{"2014-07-31T18:14:59Z", 15 * time.Minute, "2014-07-31T18:00:00Z"},
		{"1969-12-31T23:59:59.999999999Z", 5 * time.Minute, "1969-12-31T23:55:00Z"},
		{"1969-12-31T23:55:00Z", 5 * time.Minute, "1969-12-31T23:55:00Z"},
	} {
		got := blobnaming.BucketStart(parseTime(t, c.at).UnixNano(), c.width)
		if !got.Equal(parseTime(t, c.want)) || got.Location() != time.UTC {
			t.Errorf("bucket of %s by %v starts %v, want %s", c.at, c.width, got, c.want)
		}
	}
	for _, at := range []int64{math.MinInt64, math.MaxInt64} {
		start := blobnaming.BucketStart(at, time.Hour)
		if into := time.Unix(0, at).Sub(start); into < 0 || into >= time.Hour {
			t.Errorf("bucket of %d starts %v", at, start)
		}
	}
}
