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
		{"two hours and a part of a day", "2014-07-31T22:00:00Z", "2014-08-01T23:00:00Z", []string{"x/2014/07/31/2", "x/2014/08/01/"}},
		{"three hours", "2014-07-31T15:00:00Z", "2014-07-31T18:00:00Z", []string{"x/2014/07/31/1"}},
		{"over noon", "2014-07-31T08:00:00Z", "2014-07-31T18:00:00Z", []string{"x/2014/07/31/"}},
		{"days of equal tens", "2014-07-20T08:00:00Z", "2014-07-29T18:00:00Z", []string{"x/2014/07/2"}},
		{"thirty days of two months", "2014-07-15T00:00:00Z", "2014-08-14T00:00:00Z", []string{"x/2014/07/", "x/2014/08/"}},
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

// TestPrefixesCover: a segment whose hour overlaps the range is covered once, one of another month not at all. One prefix of each month is
// the longest that covers its hours, except that two hours have one each.
func TestPrefixesCover(t *testing.T) {
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
			overlaps := from.Before(to) && hour.Before(to) && from.Before(hour.Add(time.Hour))
			month := time.Date(n.Bucket.Year(), n.Bucket.Month(), 1, 0, 0, 0, 0, time.UTC)
			sameMonth := from.Before(to) && month.Before(to) && from.Before(month.AddDate(0, 1, 0))
			if covered > 1 || overlaps && covered != 1 || !sameMonth && covered != 0 {
				t.Fatalf("[%v, %v): %s is covered %d times by %v", from, to, n, covered, prefixes)
			}
			if n.Overlaps(from, to) != overlaps {
				t.Fatalf("[%v, %v): Overlaps of %s is %v", from, to, n, !overlaps)
			}
		}
	}
}

// Prefixes are as narrow as one prefix for each month can be.
func TestPrefixesAreNarrow(t *testing.T) {
	t.Parallel()
	random := testrand.New(t)
	for range 300 {
		from, to := randomRange(random)
		if to.Sub(from) > 3*366*24*time.Hour {
			to = from.Add(time.Duration(random.Int64N(int64(3 * 366 * 24 * time.Hour))))
		}
		if diff := cmp.Diff(narrowest(from, to), blobnaming.Prefixes("x", from, to)); diff != "" {
			t.Fatalf("[%v, %v): %s", from, to, diff)
		}
	}
}

// narrowest is the slow reference of Prefixes.
func narrowest(from, to time.Time) []string {
	months := map[string][]string{} // their hours
	for at := from.UTC().Truncate(time.Hour); from.Before(to) && at.Before(to); at = at.Add(time.Hour) {
		month := at.Format("x/2006/01/")
		months[month] = append(months[month], at.Format("x/2006/01/02/15"))
	}
	var prefixes []string
	for month, hours := range months {
		if len(hours) <= 2 {
			prefixes = append(prefixes, hours...)
			continue
		}
		prefix := hours[0]
		for !strings.HasPrefix(hours[len(hours)-1], prefix) {
			prefix = prefix[:len(prefix)-1]
		}
		year := month[:len("x/2006/")]
		whole := true
		for m := 1; m <= 12; m++ {
			y, _ := time.Parse("x/2006/", year)
			first := time.Date(y.Year(), time.Month(m), 1, 0, 0, 0, 0, time.UTC)
			whole = whole && len(months[first.Format("x/2006/01/")]) == int(first.AddDate(0, 1, 0).Sub(first)/time.Hour)
		}
		if whole {
			prefix = year
		}
		prefixes = append(prefixes, prefix)
	}
	slices.Sort(prefixes)
	return slices.Compact(prefixes)
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

// The narrower prefixes of a prefix are those of its parts, in order: each name that starts with a prefix starts with one of them, and the
// span of a prefix is that of its names.
func TestNarrower(t *testing.T) {
	t.Parallel()
	random := testrand.New(t)
	for range 3000 {
		n := blobnaming.Name{Service: "x", Bucket: blobnaming.BucketStart(random.Int64N(4e18), time.Hour).Add(time.Duration(random.IntN(12)*5) * time.Minute), Number: 1 + random.Uint64N(1e7)}
		name := n.String()
		for prefix := name[:len("x/2006/")]; ; {
			from, to, ok := blobnaming.Span(prefix)
			if !ok || n.Bucket.Before(from) || !n.Bucket.Before(to) {
				t.Fatalf("%s: span of %s to %s for %s", prefix, from, to, name)
			}
			narrow := blobnaming.Narrower(prefix)
			if len(narrow) == 0 {
				if len(prefix) != len("x/2006/01/02/1504/1") {
					t.Fatalf("%s has no narrower prefixes", prefix)
				}
				break
			}
			if !slices.IsSorted(narrow) {
				t.Fatalf("%s: %q", prefix, narrow)
			}
			at := slices.IndexFunc(narrow, func(p string) bool { return strings.HasPrefix(name, p) })
			if at < 0 || !strings.HasPrefix(narrow[at], prefix) {
				t.Fatalf("%s: %s is in none of %q", prefix, name, narrow)
			}
			first, _, _ := blobnaming.Span(narrow[0])
			_, last, _ := blobnaming.Span(narrow[len(narrow)-1])
			if !first.Equal(from) || !last.Equal(to) {
				t.Fatalf("%s: %s to %s are covered, not %s to %s", prefix, first, last, from, to)
			}
			prefix = narrow[at]
		}
	}
	for prefix, want := range map[string][2]string{
		"x/2016/02/":      {"2016-02-01T00:00:00Z", "2016-03-01T00:00:00Z"},
		"x/2016/02/2":     {"2016-02-20T00:00:00Z", "2016-03-01T00:00:00Z"},
		"x/2016/02/0":     {"2016-02-01T00:00:00Z", "2016-02-10T00:00:00Z"},
		"x/2014/12/3":     {"2014-12-30T00:00:00Z", "2015-01-01T00:00:00Z"},
		"x/2014/12/31/2":  {"2014-12-31T20:00:00Z", "2015-01-01T00:00:00Z"},
		"x/2014/12/31/-/": {"2014-12-31T00:00:00Z", "2015-01-01T00:00:00Z"},
	} {
		from, to, ok := blobnaming.Span(prefix)
		if !ok || !from.Equal(parseTime(t, want[0])) || !to.Equal(parseTime(t, want[1])) {
			t.Errorf("%s: %s to %s, %v", prefix, from, to, ok)
		}
	}
	for _, prefix := range []string{"x/", "x", "", "x/y/", "x/20"} {
		if got := blobnaming.Narrower(prefix); got != nil {
			t.Errorf("%s: %q", prefix, got)
		}
	}
}
