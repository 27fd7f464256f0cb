package recognize

// minute caches the last date, hour and minute read in the layout 2015-07-29 17:41:…, so that only
// the seconds of the next line in the same minute are parsed. The results are those of parseMoment.
type minute struct {
	text [len("2015-07-29 17:41:")]byte
	// second is the minute's start on the clock of the line's zone.
	second int64
}

// moment is parseMoment.
func (c *minute) moment(b []byte, bare bool) (moment, int) {
	const length = len(c.text)
	if len(b) < length+2 {
		return parseMoment(b, bare)
	}
	if [length]byte(b) != c.text {
		m, n := parseMoment(b, bare)
		if n > 0 && m.layout == layoutISO {
			c.text = [length]byte(b)
			c.second = daySecond(four(b, 0), two(b, 5), two(b, 8)) + int64(two(b, 11)*3600+two(b, 14)*60)
		}
		return m, n
	}
	second, nano, ok := ofDay(0, 0, two(b, length))
	if !ok {
		return moment{}, 0
	}
	nano, end := fraction(b, length+2, nano)
	m := moment{second: c.second + second, nano: nano, layout: layoutISO}
	return m, m.zone(b, end)
}
