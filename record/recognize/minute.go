package recognize

import "logstow/record/internal/civil"

// maxClock is the largest offset of a clock whose minute is cached, as of Fri, 20 Nov 2026 15:04:05.
const maxClock = 3*word - len("17:41:")

// word is the number of bytes that are compared at a time.
const word = 8

// minute caches the last date, hour and minute of a time that begins with them, 2015-07-29 17:41:…, 29/Jul/2015:17:41:…, so that
// only the seconds of the next line in the same minute are parsed. The results are those of parseMoment.
type minute struct {
	// text[:n] is what is cached; n is 0 if nothing is.
	text [maxClock + len("17:41:")]byte
	n    int
	// start is midnight of the day, ofDay the minute's second of the day, on the clock of the line's zone.
	start   moment
	ofDay   int64
	regions regions
	known   hints
	// day is the start of the UTC day of known.ref, in Unix nanoseconds.
	day int64
	// apart has the parts of a time that are fields of their own, of the current object or pairs.
	apart apart
}

// at sets the reference, see hints. A cached date may be another one on another day.
func (c *minute) at(ref int64) {
	const day = nanosPerSecond * civil.SecondsPerDay
	if ref < c.day || ref-c.day >= day || c.known.ref == 0 {
		c.day, c.n = ref/day*day, 0
	}
	c.known.ref = ref
}

// moment is parseMoment into m.
func (c *minute) moment(m *moment, b []byte, bare bool) (n int) {
	i := c.n
	if !c.has(b) {
		if n = c.parse(m, b, bare); n > 0 && m.clock > 0 {
			c.cache(m, b)
		}
		return n
	}
	second, nano, ok := ofDay(0, 0, two(b, i))
	if !ok { // 15:04:5
		return c.parse(m, b, bare)
	}
	nano, end := fraction(b, i+2, nano)
	second += c.ofDay
	level := isLevelBehind(b, end)
	if !level && mayBeHalfDay(b, end) {
		second, end = halfDay(b, end, second)
	}
	*m = c.start
	m.second, m.nano = m.second+second, nano
	if level {
		return end
	}
	n = m.zone(b, end)
	if n > 0 && m.named == zoneRegion {
		c.regions.resolve(m, b[:n])
	}
	return n
}

// has reports whether b begins with what is cached, and two more bytes.
func (c *minute) has(b []byte) bool {
	i := c.n // at least 14
	return i > 0 && len(b) >= i+2 && [word]byte(b) == [word]byte(c.text[:]) && [word]byte(b[i-word:]) == [word]byte(c.text[i-word:]) &&
		(i <= 2*word || [word]byte(b[word:]) == [word]byte(c.text[word:]))
}

// cache caches the minute of a time at the start of b.
func (c *minute) cache(m *moment, b []byte) {
	clock := int(m.clock)
	c.n = copy(c.text[:], b[:clock+len("17:41:")])
	c.start = moment{second: int64(m.day1970) * civil.SecondsPerDay, day1970: m.day1970, layout: m.layout, order: m.order, clock: m.clock}
	c.ofDay = int64(two(b, clock)*3600 + two(b, clock+3)*60)
}

// isLevelBehind reports whether a usual level stands behind the time that ends at b[i], so that no zone does.
func isLevelBehind(b []byte, i int) bool {
	if len(b) < i+5 || b[i] != ' ' {
		return false
	}
	switch string(b[i+1 : i+5]) {
	case "INFO", "WARN", "ERRO", "DEBU":
		return true
	}
	return false
}

// parse is parseMoment into m, with regions resolved.
func (c *minute) parse(m *moment, b []byte, bare bool) (n int) {
	*m, n = parseMoment(b, bare, c.known)
	if n > 0 && m.order != orderUnknown && m.order != orderEither && c.known.order != m.order {
		c.known.order, c.n = m.order, 0 // the cached date may be another one
	}
	if n > 0 && m.named == zoneRegion {
		c.regions.resolve(m, b[:n])
	}
	return n
}
