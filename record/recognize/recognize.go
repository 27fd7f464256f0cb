// Package recognize finds the time and the level of a raw log line without configuration. [Rules]
// configure how to find others.
//
// # Where a time is recognized
//
//   - At the start of the line, or behind a few columns that are not prose: an
//     address, a host or file name, a process number, a bracketed group, a level
//     word, a syslog priority. Brackets, quotes and ANSI colours may enclose it. A
//     plain word before the time ends the search, so that a date in the middle of
//     a sentence is not used. Layouts without separators (epoch numbers,
//     081109 203615) are only recognized behind brackets, priorities and level words.
//   - In a JSON object that is the line or follows such columns: the first
//     top-level field of a usual name (time, ts, timestamp, @timestamp, …) whose
//     value is a time. Keys inside strings and nested objects do not count, except
//     in a few well-known shapes ({"$date": …}, {"seconds": …, "nanos": …}).
//   - In logfmt pairs (time=… level=…) likewise.
//   - The words of a date may be Chinese, Japanese or Korean, and the name of a month before a year of some European languages.
//   - If a JSON object has none: in the line that it wraps in a string named log or message, or in a first
//     member named body, as senders of containers' output do. The level is found there too.
//
// # Where a level is recognized
//
// In a JSON or logfmt field or a syslog priority; otherwise before the time or in the columns
// after it, as a whole word that is set off: in upper case, in brackets, or followed by
// a colon; then in the places and spellings of some formats: Serilog's [15:04:05 ERR], the marks of
// Redis, the column of Blue Gene/L, a message that begins like a Python traceback; then by the fields
// of a format, such as the status of an access log: see [parse.Parser.Level]. Words of the message
// are ignored.
//
// The result depends on the line alone: only times without a year use a reference, and only a line
// without a time uses the lines before it.
package recognize

import (
	"bytes"
	"math"
	"time"

	"logstow/internal/ansi"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
	"logstow/record/internal/civil"
)

// DefaultMaxAhead is how far a logged time may be after the read time by default.
const DefaultMaxAhead = 24 * time.Hour

// oldest is the first accepted time: 1990-01-01, in Unix seconds.
const oldest = 631152000

const nanosPerSecond = 1_000_000_000

// Options configure a Recognizer; the zero value is ready to use.
type Options struct {
	// Zone is the zone of lines that name none; nil is UTC.
	Zone *time.Location
	// DayFirst reads dates such as 10/11/2026 as 10 November until a value above 12 shows their order; otherwise as October 11.
	DayFirst bool
	// MaxAhead is how far a logged time may be after the read time; zero means
	// DefaultMaxAhead.
	MaxAhead time.Duration
	// Rules take precedence over recognition; it may be nil.
	Rules *Rules
	// Parser finds the level of lines in which none is recognized; nil means [parse.Auto]. A caller that makes
	// many Recognizers should set it: compiling a parser takes longer than recognizing a line.
	Parser *parse.Parser
}

// Stamp is the result for a line.
type Stamp struct {
	// Time is the record's time in Unix nanoseconds, UTC.
	Time int64
	// Level is the level found, record.None if there is none.
	Level record.Level
	// Found is set if the line contains a time, accepted or rejected. If it is false, Time is the
	// last one of this Recognizer, or the read time.
	Found bool
	// Rejected is the reason why the line's time was rejected and Time is the read time.
	Rejected Reason
}

// Reason is why a logged time was rejected.
type Reason uint8

// The reasons.
const (
	// Accepted means that the line's time was accepted, or that the line has none.
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
	return "accepted"
}

// Recognizer stamps the lines of one source, in order. Not safe for concurrent use.
type Recognizer struct {
	clock    clock
	minute   minute
	shape    shape
	maxAhead int64
	rules    *Rules
	parser   *parse.Parser
	leveler  *parse.Leveler
	// unwrapped is reused for wrapped lines.
	unwrapped []byte
	// plain is reused for lines without their colours, english for those with a date in another language.
	plain, english []byte
	zoneAssumed    bool
	// last is the time of the last record whose line contained one.
	last    int64
	hasLast bool
}

// New makes a Recognizer for one source.
func New(opts Options) *Recognizer {
	if opts.MaxAhead == 0 {
		opts.MaxAhead = DefaultMaxAhead
	}
	r := &Recognizer{clock: newClock(opts.Zone), maxAhead: int64(opts.MaxAhead), rules: opts.Rules, parser: opts.Parser}
	if opts.DayFirst {
		r.minute.known.order = orderDayFirst
	}
	return r
}

// Stamp finds the time and the level of a line, which it does not retain. All times are Unix
// nanoseconds. read is when the line was read. ref is the reference for times without a year: the
// modification time of an old file, otherwise read. Such a time gets the latest year with which it is
// before ref, or up to a day after it because of clock skew.
func (r *Recognizer) Stamp(line []byte, read, ref int64) Stamp {
	r.minute.at(ref)
	f := finding{minute: &r.minute, shape: &r.shape}
	r.find(&f, line)
	if (!f.found || f.level == record.None) && bytes.IndexByte(line, ansi.Escape) >= 0 {
		line = r.withoutColors(&f, line)
	}
	if f.wrapped != nil && (!f.found || f.level == record.None) {
		r.unwrap(&f)
	}
	if r.rules != nil {
		r.rules.apply(&f, line)
	}
	r.zoneAssumed = f.found && f.named == zoneAssumed
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

// ZoneAssumed reports whether the time of the last line has the name of a zone that is unknown or has several meanings, such
// as CST: it was read in the zone of the options.
func (r *Recognizer) ZoneAssumed() bool { return r.zoneAssumed }

// withoutColors reads a line anew without its escape sequences, and returns it.
func (r *Recognizer) withoutColors(f *finding, line []byte) []byte {
	r.plain = ansi.Strip(r.plain[:0], line)
	*f = finding{minute: f.minute, shape: f.shape}
	r.find(f, r.plain)
	return r.plain
}

// Forget forgets the times of earlier lines, which a line without a time would get.
func (r *Recognizer) Forget() { r.hasLast = false }

// find sets time, level and wrapped line in f, which is empty, from the line itself.
func (r *Recognizer) find(f *finding, line []byte) {
	if r.shape.read(f, line) {
		return
	}
	line = r.readLine(f, line)
	automatic := r.parser == nil || r.parser.Recognizes()
	// In JSON, the automatic parser finds only numeric levels.
	if f.level == record.None && len(line) > 0 && (line[0] != '{' || f.numeric || !automatic) {
		f.level = r.fieldLevel(line)
	}
	if f.level == record.None && f.layout == layoutAccess && automatic {
		f.level = requestLevel(line)
	}
	if f.level == record.None && !f.inner && (!f.found || f.layout == layoutSyslog || f.layout == layoutISO) {
		f.level = r.textLevel(f, line)
	}
}

// readLine reads a line into f, which is empty. It returns the line without a byte order mark, and with a date of another language in
// English.
func (r *Recognizer) readLine(f *finding, line []byte) []byte {
	const orderMark = "\ufeff"
	if len(line) > 0 && line[0] == orderMark[0] {
		line = bytes.TrimPrefix(line, []byte(orderMark))
	}
	f.line(line)
	if f.found {
		return line
	}
	var dst []byte
	if !f.inner { // otherwise the line may be in r.english
		dst = r.english[:0]
	}
	text := translate(dst, line)
	if text == nil {
		return line
	}
	if !f.inner {
		r.english = text
	}
	*f = finding{minute: f.minute, shape: f.shape, inner: f.inner}
	f.line(text)
	return text
}

// textLevel returns the level of the text behind a header of syslog or Cloud Foundry, or the name of a container, which is read as a
// line of its own.
func (r *Recognizer) textLevel(f *finding, line []byte) record.Level {
	start := f.stream
	if start == 0 && f.found {
		start = parse.SyslogText(line)
	}
	if start == 0 {
		start = WrapperEnd(line)
	}
	if start == 0 || start >= len(line) || isProse(line[start:]) {
		return record.None
	}
	text := finding{minute: &r.minute, shape: &r.shape, inner: true}
	r.find(&text, line[start:])
	return text.level
}

// isProse reports whether a text begins with two words, the first of which is not in capitals and begins no format that has a level. It
// spares the search in most messages of syslog.
func isProse(text []byte) bool {
	end := wordEnd(text, 0)
	if end < 2 || end+1 >= len(text) || text[1]-'a' >= 26 || text[end] != ' ' || text[end+1]|0x20-'a' >= 26 ||
		end == len("Fri") && isWeekday(text) {
		return false
	}
	switch string(text[:end]) {
	case "error", "warning", "info", "success", "verbose", // of yarn
		"npm", "terminate", "Exception", "Fatal", "Unhandled", "Internal", "Jicofo":
		return false
	}
	return true
}

// requestLevel returns the level of the status behind the request of an access log whose columns are in an order of its own:
// … "GET / HTTP/1.1" 502 ….
func requestLevel(line []byte) record.Level {
	_, rest, _ := bytes.Cut(line, []byte(" HTTP/"))
	_, rest, found := bytes.Cut(rest[:min(len(rest), len(`1.1" 502 `))], []byte(`" `))
	if !found {
		return record.None
	}
	level, _ := parse.StatusLevel(rest[:digitsEnd(rest, 0)])
	return level
}

// maxWrapped is how many bytes of a wrapped line, as escaped in JSON, are examined.
const maxWrapped = 4 << 10

// unwrap takes time and level, as far as they were not found, from the wrapped line.
func (r *Recognizer) unwrap(f *finding) {
	line := f.wrapped
	line = line[:min(len(line), maxWrapped)]
	if bytes.IndexByte(line, '\\') >= 0 {
		r.unwrapped = message.Unescape(r.unwrapped[:0], line)
		line = r.unwrapped
	}
	inner := finding{minute: &r.minute, shape: &r.shape}
	r.find(&inner, line)
	if !f.found && inner.found {
		f.moment, f.found = inner.moment, true
	}
	if f.level == record.None {
		f.level = inner.level
	}
}

// fieldLevel returns the level of a line that its parser finds in its fields.
func (r *Recognizer) fieldLevel(line []byte) record.Level {
	if r.leveler == nil {
		if r.parser == nil {
			r.parser = parse.Auto()
		}
		r.leveler = r.parser.Leveler()
	}
	level, _ := r.leveler.Level(line)
	return level
}

// CheckTime checks a time that a sender provided apart from the line. It returns the time, or the read
// time and the reason why the time was rejected. All times are Unix nanoseconds.
func (r *Recognizer) CheckTime(t, read int64) (int64, Reason) {
	second, nano := t/nanosPerSecond, t%nanosPerSecond
	if nano < 0 {
		second, nano = second-1, nano+nanosPerSecond
	}
	return r.checkTime(second, nano, read)
}

// checkTime is CheckTime for a time in Unix seconds and nanoseconds.
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

// clock converts moments into Unix seconds.
type clock struct {
	// zone is nil for UTC.
	zone *time.Location
	// offset is the zone's offset from UTC, in seconds, in a minute of the zone's clock; an unset
	// minute matches none.
	minute, offset int64
}

func newClock(zone *time.Location) clock {
	if zone == time.UTC {
		zone = nil
	}
	return clock{zone: zone, minute: math.MinInt64}
}

// unix returns m in Unix seconds. A moment without a year gets the latest year with which it is before
// ref, in Unix nanoseconds, or up to a day after it.
func (c *clock) unix(m *moment, ref int64) int64 {
	if m.layout == layoutClock {
		return c.onDayOf(m.second, ref/nanosPerSecond)
	}
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
		year++ // the next year may have begun there
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

// onDayOf returns the last time before ref, or up to an hour after it, at which the zone's clock shows a second of the day.
func (c *clock) onDayOf(second, ref int64) int64 {
	const slack = 3600
	latest := ref + slack
	for day := latest/civil.SecondsPerDay + 1; ; day-- {
		if t := c.utc(day*civil.SecondsPerDay + second); t <= latest {
			return t
		}
	}
}

// utc converts seconds on the zone's clock to Unix seconds.
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
