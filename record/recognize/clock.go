package recognize

import "logstow/record/internal/civil"

// leapNano is the fraction of second 59 as which second 60 is recorded.
const leapNano = nanosPerSecond - 1

// onDay reads the clock at b[i], with an optional fraction and zone, on a given day.
func onDay(b []byte, i int, year, month, day uint) (moment, int) {
	second, nano, end := clockAt(b, i)
	if end == 0 {
		second, nano, end = looseClock(b, i)
	}
	return onDayAt(b, end, year, month, day, second, nano)
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

// looseClock is clockAt for a clock whose parts need not have two digits: 3:04:05, 22:5:9.606. It may lack the second: 3:04 PM, 15:04.
// Points or dashes may separate the parts: 15.04.05.
func looseClock(b []byte, i int) (second int64, nano int32, end int) {
	var part [3]uint
	sep := byte(':')
	for k := range part {
		n := digitsEnd(b[:min(len(b), i+2)], i) - i
		if n == 0 || n == 1 && sep != ':' {
			return 0, 0, 0
		}
		part[k] = number(b[i : i+n])
		if i += n; k == 2 {
			break
		}
		if i < len(b) && k == 0 && (b[i] == '.' || b[i] == '-') {
			sep = b[i]
		}
		if i < len(b) && b[i] == sep {
			i++
			continue
		}
		_, half := halfDay(b, i, 0)
		if sep != ':' || k == 0 || n < 2 || half == i && !ends(b, i) && b[i]&^0x20 != 'Z' && b[i] != '+' {
			return 0, 0, 0
		}
		break
	}
	second, nano, ok := ofDay(part[0], part[1], part[2])
	if !ok {
		return 0, 0, 0
	}
	nano, i = fraction(b, i, nano)
	return second, nano, i
}

// onDayAt combines a date and a clock with an optional zone at b[i].
func onDayAt(b []byte, i int, year, month, day uint, second int64, nano int32) (moment, int) {
	if i == 0 || year >= invalidNumber || !civil.Valid(int(year), int(month), int(day)) {
		return moment{}, 0
	}
	if mayBeHalfDay(b, i) {
		second, i = halfDay(b, i, second)
	}
	days := civil.Days(int(year), int(month), int(day))
	m := moment{second: days*civil.SecondsPerDay + second, nano: nano, day1970: int32(days)}
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
	if mayBeHalfDay(b, i) {
		second, i = halfDay(b, i, second)
	}
	m := moment{second: second, nano: nano, month: uint8(month), day: uint8(day)}
	if i+1 < len(b) && b[i] == ' ' && b[i+1]-'A' < 26 { // a host may have the name of a zone
		return m, m.zoneLabel(b, i)
	}
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

// fraction reads an optional fraction at b[i] behind a second: a point, comma or colon and digits, of which nine count; a colon also
// stands before whole milliseconds of one digit or two. It does not reduce nano, which is set in a leap second.
func fraction(b []byte, i int, nano int32) (int32, int) {
	if i+1 >= len(b) || b[i+1]-'0' > 9 || b[i] != '.' && b[i] != ',' && b[i] != ':' {
		return nano, i
	}
	if i+4 < len(b) && b[i+2]-'0' <= 9 && b[i+3]-'0' <= 9 && b[i+4]-'0' > 9 { // milliseconds
		return max(nano, int32(uint(b[i+1]-'0')*100+two(b, i+2))*1_000_000), i + 4
	}
	i++
	const digits = 9
	n, end := int32(0), i+digits
	for ; i < min(end, len(b)) && b[i]-'0' <= 9; i++ {
		n = n*10 + int32(b[i]-'0')
	}
	if i < end-digits+3 && b[end-digits-1] == ':' {
		return max(nano, n*1_000_000), i
	}
	for k := i; k < end; k++ {
		n *= 10
	}
	if i < len(b) && (b[i]-'0' <= 9 || b[i] == '.') {
		if b[end-digits-1] == ',' { // the next column
			return nano, end - digits - 1
		}
		i = digitsEnd(b, i)
	}
	return max(nano, n), i
}

// mayBeHalfDay reports whether AM or PM could stand at b[i].
func mayBeHalfDay(b []byte, i int) bool {
	if i+1 >= len(b) {
		return false
	}
	c := b[i]
	if c == ' ' {
		c = b[i+1]
	}
	return c|0x20 == 'a' || c|0x20 == 'p' || c == noBreakSpace[0] || c == narrowSpace[0]
}

// The blanks that browsers and Node write before AM and PM.
const noBreakSpace, narrowSpace = "\u00a0", "\u202f"

// blankEnd returns the end of a blank at b[i], or i if there is none.
func blankEnd(b []byte, i int) int {
	for _, blank := range [...]string{" ", narrowSpace, noBreakSpace} {
		if len(b) >= i+len(blank) && string(b[i:i+len(blank)]) == blank {
			return i + len(blank)
		}
	}
	return i
}

// halfDay reads an optional AM, a.m. or a. m., or PM, at b[i] behind a clock, and returns the second of the day and the end.
func halfDay(b []byte, i int, second int64) (int64, int) {
	k := blankEnd(b, i)
	if k+2 > len(b) || b[k]|0x20 != 'a' && b[k]|0x20 != 'p' {
		return second, i
	}
	n := k + 1
	if b[n] == '.' {
		n = blankEnd(b, n+1)
	}
	if n == len(b) || b[n]|0x20 != 'm' {
		return second, i
	}
	if n++; b[k+1] == '.' {
		if n == len(b) || b[n] != '.' {
			return second, i
		}
		n++
	}
	if !ends(b, n) && b[n] != '+' && b[n] != '-' && b[n] != 'Z' {
		return second, i
	}
	const half = 12 * 3600
	switch hour := second / 3600; {
	case hour == 0 || hour > 12: // of a clock of 24 hours
	case b[k]|0x20 == 'p' && hour < 12:
		second += half
	case b[k]|0x20 == 'a' && hour == 12:
		second -= half
	}
	return second, n
}
