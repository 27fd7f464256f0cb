package recognize

// minute caches the last date, hour and minute read in the layouts 2015-07-29 17:41:… and 29/Jul/2015:17:41:…, so that
// only the seconds of the next line in the same minute are parsed. The results are those of parseMoment.
type minute struct {
	// text[:n] is what is cached; n is 0 if nothing is.
	text   [len("29/Jul/2015:17:41:")]byte
	n      int
	layout layout
	// day is the day's start and ofDay the minute's second of the day, on the clock of the line's zone.
	day, ofDay int64
	regions    regions
	known      hints
	// apart has the parts of a time that are fields of their own, of the current object or pairs.
	apart apart
}

// moment is parseMoment into m.
func (c *minute) moment(m *moment, b []byte, bare bool) (n int) {
	const words = 16 // compared as two words
	i := c.n
	if len(b) < len(c.text)+2 || i <= words || [words]byte(b) != [words]byte(c.text[:]) || b[words] != c.text[words] || b[i-1] != c.text[i-1] {
		if n = c.parse(m, b, bare); n > 0 {
			c.cache(m.layout, b)
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
	*m = moment{second: c.day + second, nano: nano, layout: c.layout}
	if level {
		return end
	}
	n = m.zone(b, end)
	if n > 0 && m.named == zoneRegion {
		c.regions.resolve(m, b[:n])
	}
	return n
}

// cache caches the minute of a line that begins with a time.
func (c *minute) cache(l layout, b []byte) {
	var clock int
	switch {
	case l == layoutISO:
		clock = len("2015-07-29 ")
		c.day = daySecond(four(b, 0), two(b, 5), two(b, 8))
	case l == layoutAccess && len(b) > len(c.text) && b[2] == '/' && b[14] == ':' && b[17] == ':':
		clock = len("29/Jul/2015:")
		c.day = daySecond(four(b, 7), monthOf(b[3:]), two(b, 0))
	default:
		return
	}
	c.n, c.layout = clock+len("17:41:"), l
	copy(c.text[:c.n], b)
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
	if n > 0 && m.order != orderUnknown && m.order != orderEither {
		c.known.order = m.order
	}
	if n > 0 && m.named == zoneRegion {
		c.regions.resolve(m, b[:n])
	}
	return n
}
