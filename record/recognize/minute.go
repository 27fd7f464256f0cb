package recognize

// minute caches the last date, hour and minute read in the layout 2015-07-29 17:41:…, so that only
// the seconds of the next line in the same minute are parsed. The results are those of parseMoment.
type minute struct {
	text [len("2015-07-29 17:41:")]byte
	// day is the day's start and ofDay the minute's second of the day, on the clock of the line's zone.
	day, ofDay int64
	regions    regions
	// order is that of the dates before, or the configured one.
	order dateOrder
	// apart has the parts of a time that are fields of their own, of the current object or pairs.
	apart apart
}

// moment is parseMoment into m.
func (c *minute) moment(m *moment, b []byte, bare bool) (n int) {
	const length = len(c.text)
	if len(b) < length+2 {
		return c.parse(m, b, bare)
	}
	const words = length - 1 // without the colon behind the minute, a comparison of two words
	if [words]byte(b) != [words]byte(c.text[:]) || b[words] != c.text[words] {
		n = c.parse(m, b, bare)
		if n > 0 && m.layout == layoutISO && b[11]-'0' <= 9 {
			c.text = [length]byte(b)
			c.day, c.ofDay = daySecond(four(b, 0), two(b, 5), two(b, 8)), int64(two(b, 11)*3600+two(b, 14)*60)
		}
		return n
	}
	second, nano, ok := ofDay(0, 0, two(b, length))
	if !ok {
		return 0
	}
	nano, end := fraction(b, length+2, nano)
	second += c.ofDay
	if mayBeHalfDay(b, end) {
		second, end = halfDay(b, end, second)
	}
	*m = moment{second: c.day + second, nano: nano, layout: layoutISO}
	n = m.zone(b, end)
	if n > 0 && m.named == zoneRegion {
		c.regions.resolve(m, b[:n])
	}
	return n
}

// parse is parseMoment into m, with regions resolved.
func (c *minute) parse(m *moment, b []byte, bare bool) (n int) {
	*m, n = parseMoment(b, bare, c.order)
	if n > 0 && m.order != orderUnknown && m.order != orderEither {
		c.order = m.order
	}
	if n > 0 && m.named == zoneRegion {
		c.regions.resolve(m, b[:n])
	}
	return n
}
