package recognize

// minute caches the last date, hour and minute read in the layout 2015-07-29 17:41:…, so that only
// the seconds of the next line in the same minute are parsed. The results are those of parseMoment.
type minute struct {
	text [len("2015-07-29 17:41:")]byte
	// second is the minute's start on the clock of the line's zone.
	second int64
}

// moment is parseMoment into m.
func (c *minute) moment(m *moment, b []byte, bare bool) (n int) {
	const length = len(c.text)
	if len(b) < length+2 {
		*m, n = parseMoment(b, bare)
		return n
	}
	const words = length - 1 // without the colon behind the minute, a comparison of two words
	if [words]byte(b) != [words]byte(c.text[:]) || b[words] != c.text[words] {
		*m, n = parseMoment(b, bare)
		if n > 0 && m.layout == layoutISO {
			c.text = [length]byte(b)
			c.second = daySecond(four(b, 0), two(b, 5), two(b, 8)) + int64(two(b, 11)*3600+two(b, 14)*60)
		}
		return n
	}
	second, nano, ok := ofDay(0, 0, two(b, length))
	if !ok {
		return 0
	}
	nano, end := fraction(b, length+2, nano)
	*m = moment{second: c.second + second, nano: nano, layout: layoutISO}
	return m.zone(b, end)
}
