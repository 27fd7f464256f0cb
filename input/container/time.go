package container

import "time"

// maxTime is the length of the longest RFC 3339 time with nanoseconds and an offset.
const maxTime = len("2006-01-02T15:04:05.999999999+07:00")

// isTime reports whether s has the form of an RFC 3339 time: digits, separators and a zone in their
// places. It does not check the calendar.
func isTime(s []byte) bool {
	if len(s) < len("2006-01-02T15:04:05Z") || len(s) > maxTime {
		return false
	}
	for i, c := range []byte("0000-00-00T00:00:00") {
		if c == '0' && !isDigit(s[i]) || c != '0' && s[i] != c {
			return false
		}
	}
	zone := s[19:]
	if zone[0] == '.' {
		n := 1
		for n < len(zone) && isDigit(zone[n]) {
			n++
		}
		if n == 1 || n > 10 {
			return false
		}
		zone = zone[n:]
	}
	if len(zone) == 1 {
		return zone[0] == 'Z'
	}
	return len(zone) == 6 && (zone[0] == '+' || zone[0] == '-') && isDigit(zone[1]) && isDigit(zone[2]) &&
		zone[3] == ':' && isDigit(zone[4]) && isDigit(zone[5])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Clock parses the times of lines. It caches the last second, which most lines share with the
// previous one. The zero value is ready to use. It is not safe for concurrent use.
type Clock struct {
	// second is the last parsed time without its fraction, in UTC, and unix its value.
	second [19]byte
	unix   int64
}

// Unix returns a line's time in Unix nanoseconds. It is 0 if the time is malformed, or outside of the years 1678
// to 2261.
func (c *Clock) Unix(s []byte) int64 {
	if !isTime(s) {
		return 0
	}
	if s[len(s)-1] == 'Z' && string(s[:19]) == string(c.second[:]) {
		return c.unix + fraction(s[19:len(s)-1])
	}
	var t time.Time
	if err := t.UnmarshalText(s); err != nil || t.Year() < 1678 || t.Year() > 2261 {
		return 0
	}
	if s[len(s)-1] == 'Z' {
		copy(c.second[:], s)
		c.unix = t.Unix() * int64(time.Second)
	}
	return t.UnixNano()
}

// fraction parses a fraction of a second, ".1" to ".123456789" or nothing, as nanoseconds.
func fraction(s []byte) int64 {
	var n int64
	for i := 1; i < 10; i++ {
		n *= 10
		if i < len(s) {
			n += int64(s[i] - '0')
		}
	}
	return n
}
