package aggregate

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Step is the length of the time steps that records are grouped by: a part of a day, or a number of
// calendar days.
type Step struct {
	part time.Duration // less than a day
	days int64
	week bool // days are counted from a Monday
}

// IsZero reports whether the step is none.
func (s Step) IsZero() bool { return s == Step{} }

// count is about the number of steps between two times.
func (s Step) count(from, to int64) int64 {
	return (to - from) / (int64(s.part) + s.days*int64(day))
}

// OfMinutes reports whether steps start at whole minutes, in zones whose offset is one of whole minutes:
// all have had such since 1972.
func (s Step) OfMinutes() bool { return s.days > 0 || s.part%time.Minute == 0 }

// maxDays is the maximum number of days of a step.
const maxDays = 100_000

// ParseStep reads NUMBER and a unit (ms s m h d w), minute, hour or day. Steps of whole days may be
// written in any unit; others are shorter than a day. ok reports whether text is written as a step:
// only then may there be an error.
func ParseStep(text string) (s Step, ok bool, err error) {
	switch text {
	case "minute":
		return Step{part: time.Minute}, true, nil
	case "hour":
		return Step{part: time.Hour}, true, nil
	case "day":
		return Step{days: 1}, true, nil
	}
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	var unit time.Duration
	switch text[len(digits):] {
	case "ms":
		unit = time.Millisecond
	case "s":
		unit = time.Second
	case "m":
		unit = time.Minute
	case "h":
		unit = time.Hour
	case "d":
		unit = day
	case "w":
		unit = 7 * day
	default:
		return Step{}, false, nil
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return Step{}, false, nil
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > int64(maxDays*day/unit) {
		return Step{}, true, fmt.Errorf("time step %s is longer than %d days", text, maxDays)
	}
	length := time.Duration(n) * unit
	switch {
	case n == 0:
		return Step{}, true, errors.New("time step 0")
	case length < day:
		return Step{part: length}, true, nil
	case length%day != 0:
		return Step{}, true, fmt.Errorf("time step %s is longer than a day, but not whole days", text)
	}
	return Step{days: int64(length / day), week: unit == 7*day}, true, nil
}

const day = 24 * time.Hour

// Start is the start of the step around t, both in Unix nanoseconds. Steps shorter than a day start
// at midnight of the zone and at multiples of their length after it by the clock on the wall: a step
// is longer or shorter where clocks change, and of an hour that occurs twice each is a step of its own
// where that is a multiple of the length. Days are calendar days, of 23 to 25 hours; several days are
// counted from 1970-01-01, weeks from Mondays.
func (s Step) Start(t int64, zone *time.Location) int64 {
	at := time.Unix(0, t).In(zone)
	if s.days > 0 {
		return s.dayStart(at, zone)
	}
	sinceMidnight := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute +
		time.Duration(at.Second())*time.Second + time.Duration(at.Nanosecond())
	start := t - int64(sinceMidnight%s.part)
	_, offset := at.Zone()
	before := offsetAt(start, zone)
	if before == offset {
		return start
	}
	// Clocks changed since then: the step started by the clock before the change, or with the change
	// if that skipped its start.
	byClock := start + int64(offset-before)*int64(time.Second)
	if offsetAt(byClock, zone) == before && byClock <= t {
		return byClock
	}
	return start + int64(sort.Search(int(t-start), func(d int) bool { return offsetAt(start+int64(d), zone) == offset }))
}

func (s Step) dayStart(at time.Time, zone *time.Location) int64 {
	year, month, date := at.Date()
	number := time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix() / int64(day/time.Second)
	into := number
	if s.week {
		into += 3 // 1970-01-01 was a Thursday
	}
	into %= s.days
	if into < 0 {
		into += s.days
	}
	return midnight(year, month, date-int(into), zone)
}

// midnight is the first instant of a day: midnight, unless clocks skip it.
func midnight(year int, month time.Month, date int, zone *time.Location) int64 {
	first := time.Date(year, month, date, 12, 0, 0, 0, zone).Add(-18 * time.Hour) // of the day before
	want := time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
	seconds := sort.Search(int(day/time.Second), func(n int) bool {
		y, m, d := first.Add(time.Duration(n) * time.Second).Date()
		return !time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(want)
	})
	return first.Add(time.Duration(seconds) * time.Second).UnixNano()
}

// End is the start of the step after the one that starts at start.
func (s Step) End(start int64, zone *time.Location) int64 {
	length := int64(s.part)
	if s.days > 0 {
		length = s.days * int64(day)
	}
	next := start + length
	if s.Start(next, zone) == next && offsetAt(start-1, zone) == offsetAt(next, zone) {
		return next
	}
	// Clocks change, or the day ends before: no step is longer by more than a day.
	most := int(length + int64(day))
	return start + int64(sort.Search(most, func(d int) bool { return s.Start(start+int64(d), zone) > start }))
}

func offsetAt(t int64, zone *time.Location) int {
	_, offset := time.Unix(0, t).In(zone).Zone()
	return offset
}
