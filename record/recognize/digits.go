package recognize

import "logstow/record/internal/civil"

// invalidNumber is more than any part of a date or time can be.
const invalidNumber = 10000

// two returns the number of the two digits at b[i], or at least invalidNumber.
func two(b []byte, i int) uint {
	high, low := uint(b[i]-'0'), uint(b[i+1]-'0')
	if high > 9 || low > 9 {
		return invalidNumber
	}
	return high*10 + low
}

// four returns the number of the four digits at b[i], or at least invalidNumber.
func four(b []byte, i int) uint { return two(b, i)*100 + two(b, i+2) }

// number returns the number of b's one or two digits, or at least invalidNumber.
func number(b []byte) uint {
	if len(b) == 2 {
		return two(b, 0)
	}
	if d := uint(b[0] - '0'); d <= 9 {
		return d
	}
	return invalidNumber
}

// shortYear returns the year of two digits: 69 to 99 are 1969 to 1999.
func shortYear(n uint) uint {
	if n < 69 {
		return n + 2000
	}
	return n + 1900
}

// daySecond returns the start of a valid day in Unix seconds.
func daySecond(year, month, day uint) int64 {
	return civil.Days(int(year), int(month), int(day)) * civil.SecondsPerDay
}

// monthOf returns the month if b begins with the first three letters of its English name, otherwise 0.
func monthOf(b []byte) uint {
	switch uint32(b[0]|0x20)<<16 | uint32(b[1]|0x20)<<8 | uint32(b[2]|0x20) {
	case 'j'<<16 | 'a'<<8 | 'n':
		return 1
	case 'f'<<16 | 'e'<<8 | 'b':
		return 2
	case 'm'<<16 | 'a'<<8 | 'r':
		return 3
	case 'a'<<16 | 'p'<<8 | 'r':
		return 4
	case 'm'<<16 | 'a'<<8 | 'y':
		return 5
	case 'j'<<16 | 'u'<<8 | 'n':
		return 6
	case 'j'<<16 | 'u'<<8 | 'l':
		return 7
	case 'a'<<16 | 'u'<<8 | 'g':
		return 8
	case 's'<<16 | 'e'<<8 | 'p':
		return 9
	case 'o'<<16 | 'c'<<8 | 't':
		return 10
	case 'n'<<16 | 'o'<<8 | 'v':
		return 11
	case 'd'<<16 | 'e'<<8 | 'c':
		return 12
	}
	return 0
}

func isWeekday(b []byte) bool {
	switch string(b[:3]) {
	case "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun":
		return true
	}
	return false
}

func isUTC(name []byte) bool { return string(name) == "UTC" || string(name) == "GMT" }

// wordEnd returns the end of the letters at b[i], or i if there are none.
func wordEnd(b []byte, i int) int {
	for i < len(b) && b[i]|0x20-'a' < 26 {
		i++
	}
	return i
}

// ends reports whether a time may end before b[i]: at the end of the line or before a byte that
// cannot continue a number, a name or a path.
func ends(b []byte, i int) bool {
	if i >= len(b) {
		return true
	}
	switch b[i] {
	case ' ', '\t', '\r', '\n', '\x1b', ']', '[', ')', '}', '>', '|', ',', ';', ':', '"', '\'':
		return true
	}
	return false
}
