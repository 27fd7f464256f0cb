package blobnaming

import (
	"strings"
	"time"
)

// The layouts of the prefixes of names for a year, month, day and hour. An hour's
// prefix ends before the minutes, so it covers all buckets that start in the hour.
const (
	yearLayout  = "2006/"
	monthLayout = "2006/01/"
	dayLayout   = "2006/01/02/"
	hourLayout  = "2006/01/02/15"
)

// Prefixes returns the fewest name prefixes of years, months, days and hours
// ("queue/2014/", "queue/2014/07/", "queue/2014/07/31/", "queue/2014/07/31/18") that
// cover exactly the hours that overlap [from, to), in time order, which is byte order.
// An empty range has none. Names exist only for the years 1 to 9999: a range is limited
// to these.
func Prefixes(service string, from, to time.Time) []string {
	if !from.Before(to) {
		return nil
	}
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	// Truncate works on the time since year 1, whose hours are UTC's.
	at := latest(from.UTC().Truncate(time.Hour), first)
	end := to.UTC().Truncate(time.Hour)
	if end.Before(to) {
		end = end.Add(time.Hour)
	}
	if end.After(last) {
		end = last
	}
	var prefixes []string
	for at.Before(end) {
		layout, next := widest(at, end)
		b := make([]byte, 0, len(service)+1+len(hourLayout))
		b = append(append(b, service...), '/')
		prefixes = append(prefixes, string(at.AppendFormat(b, layout)))
		at = next
	}
	return prefixes
}

// widest returns the layout and the end of the longest year, month, day or hour that
// starts at the hour at and ends at or before end.
func widest(at, end time.Time) (layout string, next time.Time) {
	year, month, day := at.Date()
	if at.Hour() == 0 {
		if day == 1 {
			if next = time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC); month == 1 && !next.After(end) {
				return yearLayout, next
			}
			if next = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC); !next.After(end) {
				return monthLayout, next
			}
		}
		if next = at.AddDate(0, 0, 1); !next.After(end) {
			return dayLayout, next
		}
	}
	return hourLayout, at.Add(time.Hour)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Narrower returns the prefixes of the next shorter periods that cover the same as a prefix of [Prefixes]: the months
// of a year, the days of a month, the hours of a day, in byte order. An hour has none.
func Narrower(prefix string) []string {
	service, period, _ := strings.Cut(prefix, "/")
	for _, wide := range []struct{ layout, narrow string }{{yearLayout, monthLayout}, {monthLayout, dayLayout}, {dayLayout, hourLayout}} {
		start, err := time.Parse(wide.layout, period)
		if err != nil {
			continue
		}
		var narrower []string
		for at := start; at.Format(wide.layout) == period; {
			narrower = append(narrower, service+"/"+at.Format(wide.narrow))
			switch wide.narrow {
			case monthLayout:
				at = at.AddDate(0, 1, 0)
			case dayLayout:
				at = at.AddDate(0, 0, 1)
			default:
				at = at.Add(time.Hour)
			}
		}
		return narrower
	}
	return nil
}
