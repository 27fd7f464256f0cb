// Package timearg parses points in time on a command line.
package timearg

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"logstow/internal/units"
)

// Parse parses a time argument. Times that name no zone are in the location of now, which is also
// the base of relative times:
//
//	2026-11-20T15:04:05Z  2026-11-20T15:04:05.25+01:00   RFC 3339
//	2026-11-20  2026-11-20 15:04  2026-11-20T15:04:05,5  20261120
//	Nov 20  Nov 20 15:04:05  20 Nov 2026  Nov 20, 2026 15:04
//	20/Nov/2026:15:04:05                                 as in access logs
//	15:04  15:04:05                                      today
//	now  now-2h  today  yesterday  tomorrow  yesterday 15:04     days start at midnight
//	-2h  -1d12h  +30m  2h ago  1 hour ago  2 days 3 hours ago
//	1795187045  1795187045.25  1795187045250             Unix seconds, ms, µs or ns, by size
//
// A time of day may be followed by a zone: Z, UTC, +01:00 or +0100, with or without a blank before
// it. A date without a year is the latest one that is at most a day ahead. A local time that occurs twice, because clocks are set back, is
// the first.
func Parse(s string, now time.Time) (time.Time, error) { return parse(s, now, false) }

// ParseEnd parses the end of a range: as [Parse], but of a local time that occurs twice the second.
func ParseEnd(s string, now time.Time) (time.Time, error) { return parse(s, now, true) }

func parse(s string, now time.Time, second bool) (time.Time, error) {
	text := strings.Join(strings.Fields(s), " ")
	if rest, zone, ok := cutZone(text); ok {
		text, now = rest, now.In(zone)
	}
	for _, read := range []func(string, time.Time) (time.Time, bool){relative, ago, epoch} {
		if t, ok := read(text, now); ok {
			return t, nil
		}
	}
	for _, local := range []func(string, time.Time) (time.Time, bool){named, absolute, yearless} {
		if t, ok := local(text, now); ok {
			return ofTwo(t, second), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time (write 2026-11-20T15:04:05Z, '2026-11-20 15:04', 2026-11-20, "+
		"15:04, 'Nov 20 15:04', yesterday, '1 hour ago', -2h, now or a Unix time)", s)
}

// ofTwo is the first or the second time with the local time of t, of which there are two if clocks are set back; otherwise t.
func ofTwo(t time.Time, second bool) time.Time {
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	if second && !end.IsZero() {
		_, after := end.Zone()
		if later := t.Add(time.Duration(offset-after) * time.Second); !later.Before(end) {
			return later
		}
	}
	if !second && !start.IsZero() {
		_, before := start.Add(-1).Zone()
		if earlier := t.Add(time.Duration(offset-before) * time.Second); earlier.Before(start) {
			return earlier
		}
	}
	return t
}

// ParseSince parses the start of a range: a duration (2h, 2 hours) before now, or a time as in [Parse].
func ParseSince(s string, now time.Time) (time.Time, error) {
	if d, err := units.ParseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	t, err := Parse(s, now)
	if err != nil {
		if t, ok := ago(strings.Join(strings.Fields(s), " ")+" ago", now); ok && t.Before(now) {
			return t, nil
		}
		return t, fmt.Errorf("%q is neither a duration nor a time (write 15m, 2h, 3d, yesterday, 2026-11-20 or 2026-11-20T15:04:05Z)", s)
	}
	return t, nil
}

// ParseZone parses a time zone: an IANA name (Europe/Berlin), UTC, local, or an offset (+02:00, +0200).
func ParseZone(s string) (*time.Location, error) {
	switch strings.ToLower(s) {
	case "utc", "z", "gmt":
		return time.UTC, nil
	case "local":
		return time.Local, nil
	}
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		if t, err := time.Parse(layout, s); err == nil {
			_, offset := t.Zone()
			return time.FixedZone("", offset), nil
		}
	}
	if zone, err := time.LoadLocation(s); err == nil && s != "" {
		return zone, nil
	}
	return nil, fmt.Errorf("%q is not a time zone (write Europe/Berlin, UTC, local or +02:00)", s)
}

// cutZone cuts the zone off a text with a time of day before it.
func cutZone(s string) (rest string, zone *time.Location, ok bool) {
	if !strings.Contains(s, ":") {
		return s, nil, false
	}
	for _, utc := range []string{"Z", "z", " UTC", " utc", " GMT"} {
		if rest, ok := strings.CutSuffix(s, utc); ok {
			return strings.TrimSuffix(rest, " "), time.UTC, true
		}
	}
	sign := strings.LastIndexAny(s, "+-")
	if sign <= strings.Index(s, ":") {
		return s, nil, false
	}
	for _, layout := range []string{"-07:00", "-0700"} {
		if t, err := time.Parse(layout, s[sign:]); err == nil {
			_, offset := t.Zone()
			return strings.TrimSuffix(s[:sign], " "), time.FixedZone("", offset), true
		}
	}
	return s, nil, false
}

// relative reads now, a signed duration from now, or both.
func relative(s string, now time.Time) (time.Time, bool) {
	if len(s) >= 3 && strings.EqualFold(s[:3], "now") {
		if s = s[3:]; s == "" {
			return now, true
		}
	}
	if s == "" || s[0] != '-' && s[0] != '+' {
		return time.Time{}, false
	}
	d, err := units.ParseDuration(s[1:])
	if err != nil {
		return time.Time{}, false
	}
	if s[0] == '-' {
		d = -d
	}
	return now.Add(d), true
}

// ago parses "2h ago", "2min ago" and "2 days 3 hours ago". Months and years are calendar months and years.
func ago(s string, now time.Time) (time.Time, bool) {
	text, ok := strings.CutSuffix(strings.ToLower(s), " ago")
	if !ok {
		return time.Time{}, false
	}
	if d, err := units.ParseDuration(text); err == nil {
		return now.Add(-d), true
	}
	words := strings.Fields(regexp.MustCompile(`^(\d+)([a-z])`).ReplaceAllString(text, "$1 $2"))
	if len(words) == 0 || len(words)%2 != 0 {
		return time.Time{}, false
	}
	for i := 0; i < len(words); i += 2 {
		n, err := strconv.ParseUint(words[i], 10, 31)
		if words[i] == "a" || words[i] == "an" {
			n, err = 1, nil
		}
		if err != nil {
			return time.Time{}, false
		}
		var unit string
		switch word := words[i+1]; strings.TrimSuffix(word, "s") {
		case "second", "sec", "":
			unit = "s"
		case "minute", "min", "m":
			unit = "m"
		case "hour", "hr", "h":
			unit = "h"
		case "day", "d":
			unit = "d"
		case "week", "w":
			unit = "w"
		case "month":
			now = now.AddDate(0, -int(n), 0)
			continue
		case "year":
			now = now.AddDate(-int(n), 0, 0)
			continue
		}
		if unit != "" && n == 0 { // not a duration
			continue
		}
		d, err := units.ParseDuration(strconv.FormatUint(n, 10) + unit)
		if unit == "" || err != nil {
			return time.Time{}, false
		}
		now = now.Add(-d)
	}
	return now, true
}

// named parses a word for a day, optionally followed by a time of day.
func named(s string, now time.Time) (time.Time, bool) {
	word, clock, timed := strings.Cut(strings.ToLower(s), " ")
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

// epoch parses a Unix time of at least nine digits; its size determines the unit, and seconds may
// have a fraction.
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
		"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02", "20060102",
		"02/Jan/2006:15:04:05",
	} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, true
		}
	}
	return onDay(s, now)
}

// yearless parses a date with the name of its month, as written by syslog and date(1), with or
// without year and time of day.
func yearless(s string, now time.Time) (time.Time, bool) {
	s = strings.ReplaceAll(s, ",", "")
	for _, date := range []string{"Jan 2", "January 2", "2 Jan", "2 January"} {
		for _, clock := range []string{"", " 15:04", " 15:04:05"} {
			if t, err := time.ParseInLocation(date+" 2006"+clock, s, now.Location()); err == nil {
				return t, true
			}
			if t, err := time.ParseInLocation(date+clock+" 2006", s, now.Location()); err == nil {
				return t, true
			}
			// February 29 is a date of year 0, and of leap years only.
			t, err := time.Parse(date+clock, s)
			for year := now.Year() + 1; err == nil && year > now.Year()-8; year-- {
				at := time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
				if at.Month() == t.Month() && !at.After(now.Add(24*time.Hour)) {
					return at, true
				}
			}
		}
	}
	return time.Time{}, false
}
