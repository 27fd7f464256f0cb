package field

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"logstow/message"
)

// Step is the length of a time step. Steps of whole days are calendar days of 23 to 25 hours; steps of several days are counted from
// 1970-01-01, weeks start on Monday. Shorter steps start at midnight local time and at multiples of their length after it, by the
// clock. Where clocks change or a day ends, a step may be longer or shorter. If an hour occurs twice and is a multiple of the
// length, its occurrences are in separate steps. The zero value is no step.
type Step struct {
	part time.Duration // less than a day
	days int64
	week bool // days are counted from a Monday
}

const (
	day = 24 * time.Hour
	// maxStepDays is the maximum length of a step in days.
	maxStepDays = 36_500
)

// IsZero reports whether this is no step.
func (s Step) IsZero() bool { return s == Step{} }

// Count is the approximate number of steps between two times in Unix nanoseconds.
func (s Step) Count(from, to int64) int64 { return (to - from) / (int64(s.part) + s.days*int64(day)) }

// Minutes reports whether steps start at whole minutes, if the zone's offset is in whole minutes, as all have been since 1972.
func (s Step) Minutes() bool { return s.part%time.Minute == 0 }

// Seconds reports whether steps start at whole seconds.
func (s Step) Seconds() bool { return s.part%time.Second == 0 }

// Layout returns the layout of [time.Time.Format] for the start of a step: RFC 3339, with milliseconds if steps may start between
// seconds.
func (s Step) Layout() string {
	if !s.Seconds() {
		return "2006-01-02T15:04:05.000Z07:00"
	}
	return time.RFC3339
}

// parseStep parses a number and a unit, or a word such as "hour". It is not ok for other text; an error is an invalid number.
func parseStep(text string) (s Step, ok bool, err error) {
	switch text {
	case "minute":
		return Step{part: time.Minute}, true, nil
	case "hour":
		return Step{part: time.Hour}, true, nil
	case "day":
		return Step{days: 1}, true, nil
	}
	digits := strings.TrimRight(text, "mshdw")
	size, dimension := message.UnitOf(text[len(digits):])
	unit := time.Duration(size)
	if dimension != message.Duration || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return s, false, nil
	}
	n, err := strconv.Atoi(digits)
	if err != nil || time.Duration(n) > maxStepDays*day/unit {
		return s, true, adviseField(fmt.Errorf("%s: a time step is at most %d days", text, maxStepDays), text)
	}
	length := time.Duration(n) * unit
	switch {
	case n == 0:
		return s, true, adviseField(fmt.Errorf("%s: a time step cannot be 0", text), text)
	case length > day && length%day != 0:
		return s, true, adviseField(fmt.Errorf("%s: a time step of more than a day must be whole days", text), text)
	}
	s = StepOf(length)
	s.week = unit == 7*day
	return s, true, nil
}

// StepOf returns the step of a length, which is less than a day, or whole days.
func StepOf(length time.Duration) Step {
	if length%day == 0 {
		return Step{days: int64(length / day)}
	}
	return Step{part: length}
}

// Start returns the start of the step that contains t, both in Unix nanoseconds.
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
	// Clocks changed since then. The step started by the clock before the change; or with the change, if that skipped its
	// start or came after its end.
	change := start + int64(sort.Search(int(t-start), func(d int) bool { return offsetAt(start+int64(d), zone) == offset }))
	byClock := start + int64(offset-before)*int64(time.Second)
	if offsetAt(byClock, zone) == before && byClock <= t && byClock+int64(s.part) >= change {
		return byClock
	}
	return change
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

// midnight returns the first instant of a day in Unix nanoseconds: midnight, unless clocks skip it.
func midnight(year int, month time.Month, date int, zone *time.Location) int64 {
	first := time.Date(year, month, date, 12, 0, 0, 0, zone).Add(-18 * time.Hour) // of the day before
	want := time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
	seconds := sort.Search(int(day/time.Second), func(n int) bool {
		y, m, d := first.Add(time.Duration(n) * time.Second).Date()
		return !time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(want)
	})
	return first.Add(time.Duration(seconds) * time.Second).UnixNano()
}

// End returns the start of the step after the one that starts at start.
func (s Step) End(start int64, zone *time.Location) int64 {
	length := int64(s.part)
	if s.days > 0 {
		length = s.days * int64(day)
	}
	next := start + length
	if s.Start(next, zone) == next && offsetAt(start-1, zone) == offsetAt(next, zone) {
		return next
	}
	// Clocks change, or the day ends earlier. No step is longer by more than a day.
	most := int(length + int64(day))
	return start + int64(sort.Search(most, func(d int) bool { return s.Start(start+int64(d), zone) > start }))
}

func offsetAt(t int64, zone *time.Location) int {
	_, offset := time.Unix(0, t).In(zone).Zone()
	return offset
}
