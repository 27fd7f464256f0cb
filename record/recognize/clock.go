package recognize

import "logstow/record/internal/civil"

// leapNano is the fraction of second 59 as which second 60 is recorded.
const leapNano = nanosPerSecond - 1

// onDay reads the clock at b[i], HH:MM:SS with an optional fraction and zone, on a given day.
func onDay(b []byte, i int, year, month, day uint) (moment, int) {
	second, nano, i := clockAt(b, i)
	return onDayAt(b, i, year, month, day, second, nano)
}

// onDayDigits is onDay for a clock of six digits without separators.
func onDayDigits(b []byte, i int, year, month, day uint) (moment, int) {
	if len(b) < i+6 {
		return moment{}, 0
	}
	second, nano, ok := ofDay(two(b, i), two(b, i+2), two(b, i+4))
	if !ok {
		return moment{}, 0
	}
	i += 6
	if i < len(b) && b[i] != ':' {
		nano, i = fraction(b, i, nano)
	}
	return onDayAt(b, i, year, month, day, second, nano)
}

// onDayLoose is onDay for a clock whose parts need not have two digits, 3:04:05 PM
// or 22:5:9:606: a third colon stands before whole milliseconds.
func onDayLoose(b []byte, i int, year, month, day uint) (moment, int) {
	var part [3]uint
	for k := range part {
		n := 0
		for n < 2 && i+n < len(b) && b[i+n]-'0' <= 9 {
			n++
		}
		if n == 0 || k < 2 && (i+n >= len(b) || b[i+n] != ':') {
			return moment{}, 0
		}
		part[k] = number(b[i : i+n])
		i += n
		if k < 2 {
			i++
		}
	}
	if len(b) >= i+3 && b[i] == ' ' && b[i+2] == 'M' && (b[i+1] == 'A' || b[i+1] == 'P') {
		if part[0] == 0 || part[0] > 12 {
			return moment{}, 0
		}
		part[0] %= 12
		if b[i+1] == 'P' {
			part[0] += 12
		}
		i += 3
	}
	second, nano, ok := ofDay(part[0], part[1], part[2])
	if !ok {
		return moment{}, 0
	}
	if i < len(b) && b[i] == ':' {
		ms, n := uint(0), 1
		for n < 4 && i+n < len(b) && b[i+n]-'0' <= 9 {
			ms = ms*10 + uint(b[i+n]-'0')
			n++
		}
		if n > 1 {
			i += n
			nano = max(nano, int32(ms)*1_000_000)
		}
	} else {
		nano, i = fraction(b, i, nano)
	}
	return onDayAt(b, i, year, month, day, second, nano)
}

// onDayAt combines a date and a clock with an optional zone at b[i].
func onDayAt(b []byte, i int, year, month, day uint, second int64, nano int32) (moment, int) {
	if i == 0 || year >= invalidNumber || !civil.Valid(int(year), int(month), int(day)) {
		return moment{}, 0
	}
	m := moment{second: daySecond(year, month, day) + second, nano: nano}
	return m, m.zone(b, i)
}

// withoutYear reads the clock at b[i] on a day of an unknown year.
func withoutYear(b []byte, i int, month, day uint) (moment, int) {
	second, nano, i := clockAt(b, i)
	return withoutYearAt(b, i, month, day, second, nano)
}

// withoutYearAt is onDayAt for a day of an unknown year.
func withoutYearAt(b []byte, i int, month, day uint, second int64, nano int32) (moment, int) {
	const leapYear = 2000
	if i == 0 || !civil.Valid(leapYear, int(month), int(day)) {
		return moment{}, 0
	}
	m := moment{second: second, nano: nano, month: uint8(month), day: uint8(day)}
	return m, m.zone(b, i)
}

// clockAt reads HH:MM:SS and an optional fraction at b[i]. It returns the second of the
// day, the nanoseconds and the end; the end is 0 if there is no clock.
func clockAt(b []byte, i int) (second int64, nano int32, end int) {
	if len(b) < i+8 {
		return 0, 0, 0
	}
	c := b[i : i+8]
	second, nano, ok := ofDay(two(c, 0), two(c, 3), two(c, 6))
	if !ok || c[2] != ':' || c[5] != ':' {
		return 0, 0, 0
	}
	nano, end = fraction(b, i+8, nano)
	return second, nano, end
}

// ofDay is the second of the day; second 60 is the last nanosecond of second 59.
func ofDay(hour, minute, second uint) (sec int64, nano int32, ok bool) {
	if second == 60 {
		second, nano = 59, leapNano
	}
	return int64(hour*3600 + minute*60 + second), nano, hour < 24 && minute < 60 && second < 60
}

// fraction reads an optional fraction at b[i] behind a second: a point, comma or colon and
// digits, of which nine count. It does not reduce nano, which is set in a leap second.
func fraction(b []byte, i int, nano int32) (int32, int) {
	if i+1 >= len(b) || b[i+1]-'0' > 9 || b[i] != '.' && b[i] != ',' && b[i] != ':' {
		return nano, i
	}
	i++
	const digits = 9
	n, end := int32(0), i+digits
	for ; i < min(end, len(b)) && b[i]-'0' <= 9; i++ {
		n = n*10 + int32(b[i]-'0')
	}
	for k := i; k < end; k++ {
		n *= 10
	}
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return max(nano, n), i
}

// zone reads an optional zone at b[i], right behind the clock, and converts m to UTC if
// there is one. It returns the end of the time, or 0 if the next byte cannot follow a time.
func (m *moment) zone(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case 'Z', 'z':
		i++
		m.utc = true
	case '+', '-':
		return m.offset(b, i, true)
	case ' ':
		if i+1 < len(b) {
			switch b[i+1] {
			case '+', '-':
				if end := m.offset(b, i+1, false); end > 0 {
					return skipUTC(b, end) // Go writes +0000 UTC
				}
			case 'U', 'G':
				if end := skipUTC(b, i); end > i {
					m.utc = true
					return end
				}
			}
		}
		return i
	}
	if !ends(b, i) {
		return 0
	}
	return i
}

// skipUTC returns the end of " UTC" or " GMT" at b[i], or i if there is neither.
func skipUTC(b []byte, i int) int {
	if len(b) >= i+4 && b[i] == ' ' && isUTC(b[i+1:i+4]) && ends(b, i+4) {
		return i + 4
	}
	return i
}

// offset reads an offset from UTC at b[i]: +hh:mm, +hhmm or, if short is set, +hh. It
// returns the end, or 0 if there is no offset.
func (m *moment) offset(b []byte, i int, short bool) int {
	if len(b) < i+3 {
		return 0
	}
	hour, minute, end := two(b, i+1), uint(0), i+3
	switch {
	case len(b) >= i+6 && b[i+3] == ':':
		minute, end = two(b, i+4), i+6
	case len(b) >= i+5 && b[i+3]-'0' <= 9:
		minute, end = two(b, i+3), i+5
	case !short:
		return 0
	}
	if hour > 15 || minute > 59 || !ends(b, end) {
		return 0
	}
	ahead := int64(hour*3600 + minute*60)
	if b[i] == '-' {
		ahead = -ahead
	}
	m.second -= ahead
	m.utc = true
	return end
}
