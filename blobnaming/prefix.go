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

// exactHours is the maximum number of hours for which [Prefixes] returns the prefix of each: few segments of other hours are listed.
const exactHours = 2

// Prefixes returns name prefixes that cover the hours that overlap [from, to), in byte order, which is time order: one for each
// calendar month, the longest common prefix of its hours ("queue/2014/07/", "queue/2014/07/3", "queue/2014/07/31/1"), so that a
// listing takes few requests; of two hours or less one for each hour; of whole years the year. They may cover other hours of these
// months too: see [Name.Overlaps]. An empty range has none. Names exist only for the years 1 to 9999: a range is limited to these.
func Prefixes(service string, from, to time.Time) []string {
	at, end := hoursOf(from, to)
	var prefixes []string
	for at.Before(end) {
		var layout string
		layout, next := widest(at, end)
		prefix := service + "/" + at.Format(layout)
		if layout == hourLayout && end.Sub(at) > exactHours*time.Hour || layout == dayLayout {
			month := time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			if next = end; month.Before(end) {
				next = month
			}
			prefix = service + "/" + common(at.Format(hourLayout), next.Add(-time.Hour).Format(hourLayout))
		}
		prefixes = append(prefixes, prefix)
		at = next
	}
	return prefixes
}

// hoursOf returns the hours that overlap [from, to), of the years 1 to 9999.
func hoursOf(from, to time.Time) (at, end time.Time) {
	if !from.Before(to) {
		return at, at
	}
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	// Truncate works on the time since year 1, whose hours are UTC's.
	if at = from.UTC().Truncate(time.Hour); at.Before(first) {
		at = first
	}
	end = to.UTC().Truncate(time.Hour)
	if end.Before(to) {
		end = end.Add(time.Hour)
	}
	if end.After(last) {
		end = last
	}
	return at, end
}

// widest returns the layout and the end of the longest year, month, day or hour that
// starts at the hour at and ends at or before end.
func widest(at, end time.Time) (layout string, next time.Time) {
	year, month, d := at.Date()
	if at.Hour() == 0 {
		if d == 1 {
			if next = time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC); month == 1 && !next.After(end) {
				return yearLayout, next
			}
			if next = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC); !next.After(end) {
				return monthLayout, next
			}
		}
		if next = at.Add(day); !next.After(end) {
			return dayLayout, next
		}
	}
	return hourLayout, at.Add(time.Hour)
}

// common returns the common prefix of two periods, without a first digit of a year or month: names of other centuries are not
// listed.
func common(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// Narrower returns the prefixes of the next shorter periods that cover the same as a prefix of [Prefixes] or of Narrower: the
// months of a year, the days of a month, the hours of a day, tens of minutes, minutes, and the first digits of a bucket's
// numbers, in byte order. A longer prefix has none.
func Narrower(prefix string) []string {
	service, period, _ := strings.Cut(prefix, "/")
	start, end, ok := Span(prefix)
	if !ok {
		return nil
	}
	add := func(layout string, next func(time.Time) time.Time) (narrower []string) {
		for at := start; at.Before(end); at = next(at) {
			narrower = append(narrower, service+"/"+at.Format(layout))
		}
		return narrower
	}
	digits := func(n int) (narrower []string) {
		for d := range n {
			narrower = append(narrower, prefix+string(rune('0'+d)))
		}
		return narrower
	}
	switch len(period) {
	case len("2006/"):
		return add(monthLayout, func(t time.Time) time.Time { return t.AddDate(0, 1, 0) })
	case len("2006/01/"), len("2006/01/0"):
		return add(dayLayout, func(t time.Time) time.Time { return t.Add(day) })
	case len("2006/01/02/"), len("2006/01/02/1"):
		return add(hourLayout, func(t time.Time) time.Time { return t.Add(time.Hour) })
	case len("2006/01/02/15"):
		return digits(6)
	case len("2006/01/02/150"):
		return add(bucketLayout+"/", func(t time.Time) time.Time { return t.Add(time.Minute) })
	case len("2006/01/02/1504/"):
		return digits(10)
	}
	return nil
}

// Span returns the period of the buckets whose names may start with a prefix of names, which contains the year at least. Parts after
// the hour and minute, or the day of an output, are ignored.
func Span(prefix string) (from, to time.Time, ok bool) {
	_, period, _ := strings.Cut(prefix, "/")
	for _, l := range []struct {
		layout string
		next   func(time.Time) time.Time
		// tens is set if the last digit is the first of two.
		tens bool
	}{
		{bucketLayout, func(t time.Time) time.Time { return t.Add(time.Minute) }, false},
		{"2006/01/02/150", func(t time.Time) time.Time { return t.Add(10 * time.Minute) }, true},
		{hourLayout, func(t time.Time) time.Time { return t.Add(time.Hour) }, false},
		{"2006/01/02/1", func(t time.Time) time.Time { return earlier(t.Add(10*time.Hour), t.Truncate(day).Add(day)) }, true},
		{dayLayout, func(t time.Time) time.Time { return t.Add(day) }, false},
		{"2006/01/0", tenDays, true},
		{monthLayout, func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }, false},
		{yearLayout, func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }, false},
	} {
		if len(period) < len(l.layout) {
			continue
		}
		text, layout := period[:len(l.layout)], l.layout
		if l.tens {
			text, layout = text+"0", map[int]string{14: bucketLayout, 12: hourLayout, 9: "2006/01/02"}[len(layout)]
			if text[len(text)-2:] == "00" && len(text) == len("2006/01/02") { // no month has a day 0
				text = text[:len(text)-1] + "1"
			}
		}
		if at, err := time.Parse(layout, text); err == nil {
			return at, l.next(at), true
		}
	}
	return from, to, false
}

// tenDays returns the end of the days with the same first digit.
func tenDays(t time.Time) time.Time {
	month := time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	return earlier(time.Date(t.Year(), t.Month(), t.Day()/10*10+10, 0, 0, 0, 0, time.UTC), month)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
