// Package recognize finds the time and the level of a raw log line without
// configuration, and by [Rules] what it cannot find so.
//
// # Where a time may stand
//
//   - At the start of the line, or behind a few columns that are no prose: an
//     address, a host or file name, a process number, a bracketed group, a level
//     word, a syslog priority. Brackets, quotes and ANSI colours may enclose it. A
//     plain word before the time ends the search, so that a date in the middle of
//     a sentence is never taken. The layouts without separators (epoch numbers,
//     081109 203615) stand only behind brackets, priorities and level words.
//   - In a JSON object that is the line or follows such columns: the first
//     top-level field of a usual name (time, ts, timestamp, @timestamp, …) whose
//     value is a time. Keys inside strings and nested objects do not count, but for
//     a few well-known shapes ({"$date": …}, {"seconds": …, "nanos": …}).
//   - In logfmt pairs (time=… level=…) likewise.
//
// # Where a level may stand
//
// In a JSON or logfmt field or a syslog priority; else before the time or in the columns
// after it, as a whole word that is set off: in upper case, in brackets, or followed by
// a colon. Words of the message are not looked at.
//
// What a line says depends on the line alone: only year-less times look at a
// reference, and only a line without a time at the lines before it.
package recognize

import (
	"math"
	"time"

	"logstow/record"
	"logstow/record/internal/civil"
)

// DefaultMaxAhead is how far a logged time may lie after the time of reading
// unless configured.
const DefaultMaxAhead = 24 * time.Hour

// oldest is the first time that is taken: 1990-01-01, in Unix seconds.
const oldest = 631152000

const nanosPerSecond = 1_000_000_000

// Options configure a Recognizer; the zero value is good.
type Options struct {
	// Zone is where the clock stood of lines that name no zone; nil is UTC.
	Zone *time.Location
	// MaxAhead is how far after the time of reading a logged time may lie;
	// zero is DefaultMaxAhead.
	MaxAhead time.Duration
	// Rules find what is not found by itself, and go before it; nil is none.
	Rules *Rules
}

// Stamp is what a Recognizer makes of a line.
type Stamp struct {
	// Time is the record's time in Unix nanoseconds, UTC.
	Time int64
	// Level is the level found, record.None where there was none.
	Level record.Level
	// Found says that the line holds a time, taken or refused. Where it is false,
	// Time is the last one of this Recognizer, or the time read.
	Found bool
	// Rejected says why the line's time was not taken and Time is the time read.
	Rejected Reason
}

// Reason says why a logged time was not taken.
type Reason uint8

// The reasons.
const (
	// Accepted is no reason: the line's time was taken, or it had none.
	Accepted Reason = iota
	// TooOld is a time before 1990-01-01.
	TooOld
	// TooFarAhead is a time more than Options.MaxAhead after the time of reading.
	TooFarAhead
)

// String is the reason in words.
func (r Reason) String() string {
	switch r {
	case TooOld:
		return "before 1990"
	case TooFarAhead:
		return "too far ahead"
	}
	return "taken"
}

// Recognizer stamps the lines of one source, in their order. Not safe for
// concurrent use.
type Recognizer struct {
	clock    clock
	minute   minute
	maxAhead int64
	rules    *Rules
	// last is the time of the last record whose line held one.
	last    int64
	hasLast bool
}

// New makes a Recognizer for one source.
func New(opts Options) *Recognizer {
	if opts.MaxAhead == 0 {
		opts.MaxAhead = DefaultMaxAhead
	}
	return &Recognizer{clock: newClock(opts.Zone), maxAhead: int64(opts.MaxAhead), rules: opts.Rules}
}

// Stamp finds the time and the level of a line, which keeps no hold of it. All
// times are Unix nanoseconds: read is when the line was read; ref is what
// times without a year lie nearest before (up to a day after it is allowed, for
// clocks that differ): the modification time of an old file, else read.
func (r *Recognizer) Stamp(line []byte, read, ref int64) Stamp {
	f := finding{minute: &r.minute}
	f.line(line)
	if r.rules != nil {
		r.rules.apply(&f, line)
	}
	s := Stamp{Level: f.level, Found: f.found, Time: read}
	switch {
	case f.found:
		s.Time, s.Rejected = r.checkTime(r.clock.unix(&f.moment, ref), int64(f.nano), read)
		r.last, r.hasLast = s.Time, true
	case r.hasLast:
		s.Time = r.last
	}
	return s
}

// CheckTime returns a time that was not found in a line but said by its sender, or
// the time read and why. All are Unix nanoseconds.
func (r *Recognizer) CheckTime(t, read int64) (int64, Reason) {
	second, nano := t/nanosPerSecond, t%nanosPerSecond
	if nano < 0 {
		second, nano = second-1, nano+nanosPerSecond
	}
	return r.checkTime(second, nano, read)
}

// checkTime returns a time in nanoseconds, or the time read and why.
func (r *Recognizer) checkTime(unix, nano, read int64) (int64, Reason) {
	if unix < oldest {
		return read, TooOld
	}
	const maxSecond = math.MaxInt64/nanosPerSecond - 1
	ahead := r.maxAhead
	if read > 0 {
		ahead = min(ahead, math.MaxInt64-read)
	}
	if unix > maxSecond || unix*nanosPerSecond+nano > read+ahead {
		return read, TooFarAhead
	}
	return unix*nanosPerSecond + nano, Accepted
}

// clock turns moments into Unix seconds.
type clock struct {
	// zone is nil for UTC.
	zone *time.Location
	// offset is what the zone was ahead of UTC in minute, counted on its own clock;
	// a minute never set cannot be met.
	minute, offset int64
}

func newClock(zone *time.Location) clock {
	if zone == time.UTC {
		zone = nil
	}
	return clock{zone: zone, minute: math.MinInt64}
}

// unix is m in Unix seconds. One without a year gets the year that puts it nearest
// before ref, in nanoseconds.
func (c *clock) unix(m *moment, ref int64) int64 {
	if m.month == 0 {
		if m.utc {
			return m.second
		}
		return c.utc(m.second)
	}
	const slack = civil.SecondsPerDay
	latest := ref/nanosPerSecond + slack
	year, _, _ := civil.Date(latest / civil.SecondsPerDay)
	if c.zone != nil {
		year++ // there the next year may have begun
	}
	for {
		// At most eight years lie between two leap days.
		if civil.Valid(year, int(m.month), int(m.day)) {
			second := civil.Days(year, int(m.month), int(m.day))*civil.SecondsPerDay + m.second
			if !m.utc {
				second = c.utc(second)
			}
			if second <= latest || year <= 0 {
				return second
			}
		}
		year--
	}
}

// utc turns seconds on the zone's clock into Unix seconds.
func (c *clock) utc(local int64) int64 {
	if c.zone == nil {
		return local
	}
	// Zones change their offset on whole minutes.
	if minute := local / 60; minute != c.minute {
		t := time.Unix(local, 0).UTC()
		there := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, c.zone)
		c.minute, c.offset = minute, local-there.Unix()
	}
	return local - c.offset
}
