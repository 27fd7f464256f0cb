package blobnaming_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/testrand"
)

func TestPrefixes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from, to string
		want           []string
	}{
		{"two minutes", "2014-07-31T15:04:00Z", "2014-07-31T15:06:00Z", []string{"x/2014/07/31/15"}},
		{"over an hour's edge", "2014-07-31T17:59:59.9Z", "2014-07-31T18:00:00.1Z", []string{"x/2014/07/31/17", "x/2014/07/31/18"}},
		{"to is excluded", "2014-07-31T17:00:00Z", "2014-07-31T18:00:00Z", []string{"x/2014/07/31/17"}},
		{"a day", "2014-07-31T00:00:00Z", "2014-08-01T00:00:00Z", []string{"x/2014/07/31/"}},
		{"all but a day's last hour", "2014-07-31T22:00:00Z", "2014-08-01T23:00:00Z", append([]string{"x/2014/07/31/22", "x/2014/07/31/23"}, hours("x/2014/08/01/", 23)...)},
		{"its last hour in part", "2014-07-31T00:00:00Z", "2014-07-31T23:00:00.000000001Z", []string{"x/2014/07/31/"}},
		{"a leap February", "2016-02-01T00:00:00Z", "2016-03-01T00:00:00Z", []string{"x/2016/02/"}},
		{"a common February and a day", "2015-02-01T00:00:00Z", "2015-03-02T00:00:00Z", []string{"x/2015/02/", "x/2015/03/01/"}},
		{"over a year's edge", "2014-12-31T23:00:00Z", "2016-01-01T01:00:00Z", []string{"x/2014/12/31/23", "x/2015/", "x/2016/01/01/00"}},
		{"in another zone", "2015-01-01T01:00:00+02:00", "2015-01-01T02:00:00+02:00", []string{"x/2014/12/31/23"}},
		{"in a zone of half hours", "2015-01-01T01:00:00+05:30", "2015-01-01T01:15:00+05:30", []string{"x/2014/12/31/19"}},
		{"empty", "2014-07-31T18:00:00Z", "2014-07-31T18:00:00Z", nil},
		{"reversed", "2014-07-31T18:00:00Z", "2013-07-31T18:00:00Z", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := blobnaming.Prefixes("x", parseTime(t, c.from), parseTime(t, c.to))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// hours are the prefixes of the first n hours of a day.
func hours(day string, n int) []string {
	var h []string
	for i := range n {
		h = append(h, day+string([]byte{'0' + byte(i/10), '0' + byte(i%10)}))
	}
	return h
}

func TestPrefixesOutsideYears(t *testing.T) {
	t.Parallel()
	far := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	if got := blobnaming.Prefixes("x", far(-300), far(1)); got != nil {
		t.Errorf("before year 1: %v", got)
	}
	if got := blobnaming.Prefixes("x", far(10000), far(20000)); got != nil {
		t.Errorf("after year 9999: %v", got)
	}
	got := blobnaming.Prefixes("x", far(-300), far(3))
	if diff := cmp.Diff([]string{"x/0001/", "x/0002/"}, got); diff != "" {
		t.Error(diff)
	}
	all := blobnaming.Prefixes("x", far(-300), far(20000))
	if len(all) != 9999 || all[9998] != "x/9999/" || !slices.IsSorted(all) {
		t.Errorf("all time is %d prefixes that end in %s", len(all), all[len(all)-1])
	}
}

// TestPrefixesCoverExactly compares prefixes with what they mean: a segment is
// covered, once, just when its hour overlaps the range.
func TestPrefixesCoverExactly(t *testing.T) {
	t.Parallel()
	random := testrand.New(t)
	for range 3000 {
		from, to := randomRange(random)
		prefixes := blobnaming.Prefixes("svc", from, to)
		if !slices.IsSorted(prefixes) {
			t.Fatalf("[%v, %v): not in order: %v", from, to, prefixes)
		}
		for range 40 {
			n := blobnaming.Name{Service: "svc", Bucket: randomBucket(random, from, to), Number: 1 + random.Uint64N(1e7)}
			covered := 0
			for _, p := range prefixes {
				if strings.HasPrefix(n.String(), p) {
					covered++
				}
			}
			hour := time.Date(n.Bucket.Year(), n.Bucket.Month(), n.Bucket.Day(), n.Bucket.Hour(), 0, 0, 0, time.UTC)
			want := 0
			if from.Before(to) && hour.Before(to) && from.Before(hour.Add(time.Hour)) {
				want = 1
			}
			if covered != want {
				t.Fatalf("[%v, %v): %s is covered %d times, want %d, by %v", from, to, n, covered, want, prefixes)
			}
			if n.Overlaps(from, to) != (want == 1) {
				t.Fatalf("[%v, %v): Overlaps of %s is %v", from, to, n, want != 1)
			}
		}
	}
}

// TestPrefixesAreFewest compares with the hours of the range, merged as long as
// all parts of a day, a month or a year are there.
func TestPrefixesAreFewest(t *testing.T) {
	t.Parallel()
	random := testrand.New(t)
	for range 300 {
		from, to := randomRange(random)
		if to.Sub(from) > 3*366*24*time.Hour {
			to = from.Add(time.Duration(random.Int64N(int64(3 * 366 * 24 * time.Hour))))
		}
		if diff := cmp.Diff(merged(from, to), blobnaming.Prefixes("x", from, to)); diff != "" {
			t.Fatalf("[%v, %v): %s", from, to, diff)
		}
	}
}

// merged is the brute force that Prefixes is compared with.
func merged(from, to time.Time) []string {
	var prefixes []string
	for at := from.UTC().Truncate(time.Hour); from.Before(to) && at.Before(to); at = at.Add(time.Hour) {
		prefixes = append(prefixes, at.Format("x/2006/01/02/15"))
	}
	// Each step merges runs of a full parent: 24 hours, all days, 12 months.
	prefixes = merge(prefixes, len("x/2006/01/02/"), func(string) int { return 24 })
	prefixes = merge(prefixes, len("x/2006/01/"), func(month string) int {
		first, _ := time.Parse("x/2006/01/", month)
		return first.AddDate(0, 1, -1).Day()
	})
	return merge(prefixes, len("x/2006/"), func(string) int { return 12 })
}

// merge replaces neighbours that share a parent, the first n bytes, by it where
// there are as many as it has children. Only children one level down count.
func merge(prefixes []string, n int, children func(parent string) int) []string {
	var out []string
	for len(prefixes) > 0 {
		first := prefixes[0]
		same := 1
		for len(first) > n && same < len(prefixes) && len(prefixes[same]) == len(first) && prefixes[same][:n] == first[:n] {
			same++
		}
		if len(first) > n && len(first) <= n+3 && same == children(first[:n]) {
			out = append(out, first[:n])
		} else {
			out = append(out, prefixes[:same]...)
		}
		prefixes = prefixes[same:]
	}
	return out
}

// randomRange is a range of minutes up to years whose ends often lie on edges.
func randomRange(random *rand.Rand) (from, to time.Time) {
	spans := []time.Duration{2 * time.Minute, time.Hour, 24 * time.Hour, 60 * 24 * time.Hour, 5 * 365 * 24 * time.Hour}
	from = randomEdge(random, time.Unix(random.Int64N(2e9), random.Int64N(1e9)).UTC())
	span := spans[random.IntN(len(spans))]
	to = randomEdge(random, from.Add(time.Duration(random.Int64N(int64(span)))-span/16))
	return from, to
}

// randomEdge moves t to an edge of an hour, day, month or year, or beside it, or not.
func randomEdge(random *rand.Rand, t time.Time) time.Time {
	switch random.IntN(6) {
	case 0:
		t = t.Truncate(time.Hour)
	case 1:
		t = t.Truncate(24 * time.Hour)
	case 2:
		t = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	case 3:
		t = time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	default:
		return t
	}
	return t.Add(time.Duration(random.IntN(3) - 1))
}

// randomBucket is a bucket in the range, or near one of its ends.
func randomBucket(random *rand.Rand, from, to time.Time) time.Time {
	var at time.Time
	switch random.IntN(3) {
	case 0:
		at = from.Add(time.Duration(random.Int64N(int64(4*time.Hour))) - 2*time.Hour)
	case 1:
		at = to.Add(time.Duration(random.Int64N(int64(4*time.Hour))) - 2*time.Hour)
	default:
		at = from.Add(time.Duration(random.Int64N(int64(max(to.Sub(from), 0)) + 1)))
	}
	widths := []time.Duration{5, 10, 15, 20, 30, 60}
	return blobnaming.BucketStart(at.UnixNano(), widths[random.IntN(len(widths))]*time.Minute)
}

// The narrower prefixes of a prefix are those of its parts: no more, no less, in order.
func TestNarrower(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, from, to string }{
		{"x/2016/", "2016-01-01T00:00:00Z", "2017-01-01T00:00:00Z"},
		{"x/2016/02/", "2016-02-01T00:00:00Z", "2016-03-01T00:00:00Z"},
		{"x/2014/12/", "2014-12-01T00:00:00Z", "2015-01-01T00:00:00Z"},
		{"x/2014/12/31/", "2014-12-31T00:00:00Z", "2015-01-01T00:00:00Z"},
		{"x/9999/", "9999-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"},
	} {
		narrow := blobnaming.Narrower(c.prefix)
		var want []string
		for _, part := range narrow { // each hour of it
			if deeper := blobnaming.Narrower(part); deeper != nil {
				for _, p := range deeper {
					if hours := blobnaming.Narrower(p); hours != nil {
						want = append(want, hours...)
					} else {
						want = append(want, p)
					}
				}
			} else {
				want = append(want, part)
			}
		}
		from, to := parseTime(t, c.from), parseTime(t, c.to)
		var got []string
		for at := from; at.Before(to); at = at.Add(time.Hour) {
			got = append(got, blobnaming.Prefixes("x", at, at.Add(time.Minute))...)
		}
		if diff := cmp.Diff(got, want); diff != "" || len(narrow) < 12 || !slices.IsSorted(narrow) {
			t.Errorf("%s: %q: %s", c.prefix, narrow, diff)
		}
	}
	for _, prefix := range []string{"x/2014/12/31/15", "x/", "x", "", "x/y/", "x/2014/13/"} {
		if got := blobnaming.Narrower(prefix); got != nil {
			t.Errorf("%s: %q", prefix, got)
		}
	}
}
