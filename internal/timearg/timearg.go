// Package timearg reads points in time as people write them on a command line.
package timearg

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"logstow/internal/cli"
)

// Parse reads a time argument. Times that name no zone are in the location of
// now, which is also what relative times start from:
//
//	2026-11-20T15:04:05Z  2026-11-20T15:04:05.25+01:00   RFC 3339
//	2026-11-20  2026-11-20 15:04  2026-11-20T15:04:05,5  20261120
//	15:04  15:04:05                                      today
//	now  today  yesterday  tomorrow  yesterday 15:04     days start at midnight
//	-2h  -1d12h  +30m                                    from now
//	1795187045  1795187045.25  1795187045250             Unix seconds, ms, µs or ns, by size
func Parse(s string, now time.Time) (time.Time, error) {
	text := strings.TrimSpace(s)
	for _, read := range []func(string, time.Time) (time.Time, bool){relative, named, epoch, absolute} {
		if t, ok := read(text, now); ok {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time (write 2026-11-20T15:04:05Z, '2026-11-20 15:04', 2026-11-20, "+
		"15:04, yesterday, -2h, now or a Unix time)", s)
}

// relative reads a signed duration from now.
func relative(s string, now time.Time) (time.Time, bool) {
	if s == "" || s[0] != '-' && s[0] != '+' {
		return time.Time{}, false
	}
	d, err := cli.ParseDuration(s[1:])
	if err != nil {
		return time.Time{}, false
	}
	if s[0] == '-' {
		d = -d
	}
	return now.Add(d), true
}

// named reads a word for a day, which a time of day may follow.
func named(s string, now time.Time) (time.Time, bool) {
	word, clock, timed := strings.Cut(strings.ToLower(s), " ")
	if word == "now" {
		return now, !timed
	}
	offset, ok := map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}[word]
	if !ok {
		return time.Time{}, false
	}
	year, month, day := now.Date()
	midnight := time.Date(year, month, day+offset, 0, 0, 0, 0, now.Location())
	if !timed {
		return midnight, true
	}
	return onDay(strings.TrimSpace(clock), midnight)
}

// onDay reads a time of day.
func onDay(s string, day time.Time) (time.Time, bool) {
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			year, month, mday := day.Date()
			return time.Date(year, month, mday, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), day.Location()), true
		}
	}
	return time.Time{}, false
}

// epoch reads a Unix time of at least nine digits; its size tells the unit, and
// seconds may have a fraction.
func epoch(s string, now time.Time) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	n, err := strconv.ParseUint(whole, 10, 63)
	frac, fracErr := strconv.ParseUint((fraction + "000000000")[:9], 10, 63)
	if err != nil || fracErr != nil || len(fraction) > 9 || len(whole) < 9 || fraction != "" && n >= 1e11 {
		return time.Time{}, false
	}
	v := int64(n)
	switch {
	case n < 1e11:
		return time.Unix(v, int64(frac)).In(now.Location()), true
	case n < 1e14:
		return time.UnixMilli(v).In(now.Location()), true
	case n < 1e17:
		return time.UnixMicro(v).In(now.Location()), true
	}
	return time.Unix(0, v).In(now.Location()), true
}

// absolute reads a date, a date and time, or a time of the day of now.
func absolute(s string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00",
		"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02", "20060102",
	} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, true
		}
	}
	return onDay(s, now)
}
