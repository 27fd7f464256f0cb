package recognize

import (
	"logstow/record"
)

// moment is a time as written in a line.
type moment struct {
	// second counts from 1970 on the clock of the line's zone: UTC if utc is set, otherwise
	// the configured one. Without a year it counts from midnight.
	second int64
	nano   int32
	utc    bool
	// order is set for a date of the form 11/20/2026.
	order dateOrder
	// named is set for a zone that is not an offset.
	named zoneKind
	// month and day are set for a time without a year.
	month, day uint8
	layout     layout
	// level is set by layouts that begin with a level's letter.
	level record.Level
	// clock is where 15:04:05 begins if the date with its year is before it, otherwise 0. The day counts from 1970.
	clock   uint8
	day1970 int32
}

// layout determines which columns are expected around a time.
type layout uint8

const (
	layoutOther  layout = iota
	layoutISO           // 2015-07-29 17:41:41,536
	layoutSyslog        // Jun 14 15:16:01: a host follows
	layoutLogcat        // 03-17 16:13:38.811: numbers and a level's letter follow
	layoutClock         // 15:04:05.123, without a date
	layoutAccess        // 10/Oct/2000:13:55:36 -0700: client columns stand before it
)

// parseMoment reads the time at the start of b. It returns the time and its length, which is 0
// if there is none. bare allows the layouts without separators.
func parseMoment(b []byte, bare bool, known hints) (moment, int) {
	if len(b) < 10 {
		return moment{}, 0
	}
	switch c := b[0]; {
	case c-'0' > 9:
		if c|0x20-'a' < 26 && (b[1]-'0' <= 9 || b[1]|0x20-'a' < 26) {
			return parseLettered(b, known)
		}
		return moment{}, 0
	case b[1]-'0' > 9 || b[2]-'0' > 9:
		return shortFirst(b, bare, known)
	case b[3]-'0' > 9:
		return moment{}, 0
	case b[4]-'0' > 9:
		m, n := yearFirst(b)
		if n == 0 && (isDateGap(b[4]) || b[4]|0x20-'a' < 26) {
			return dated(b, 0, known)
		}
		return m, n
	case b[6] == ' ':
		if bare {
			return shortCompact(b)
		}
	case b[8]-'0' > 9:
		return dated(b, 0, known)
	case bare:
		if b[0] == '2' && b[1] == '0' {
			if m, n := digitsAlone(b); n > 0 {
				return m, n
			}
		}
		return epochText(b)
	}
	return moment{}, 0
}

// digitsAlone reads 20261120150405, with milliseconds or not, of this century.
func digitsAlone(b []byte) (moment, int) {
	const seconds, millis = len("20261120150405"), len("20261120150405123")
	n := digitsEnd(b, 0)
	if n != seconds && n != millis {
		return moment{}, 0
	}
	if n == seconds {
		return onDayDigits(b, 8, four(b, 0), two(b, 4), two(b, 6))
	}
	second, nano, ok := ofDay(two(b, 8), two(b, 10), two(b, 12))
	if !ok {
		return moment{}, 0
	}
	nano = max(nano, int32(number(b[14:15])*100+two(b, 15))*1_000_000)
	return onDayAt(b, n, four(b, 0), two(b, 4), two(b, 6), second, nano)
}

// parseLettered reads layouts that begin with a month's or a weekday's name, or
// with a level's letter.
func parseLettered(b []byte, known hints) (moment, int) {
	if b[1]-'0' <= 9 {
		return klog(b)
	}
	if start := englishDayEnd(b); start > 0 {
		read := monthFirst
		if b[start]-'0' <= 9 {
			read = dayFirst
		}
		if m, n := read(b, start); n > 0 {
			return m, n
		}
		m, n := dated(b, start, known)
		if start == 4 && b[4]-'0' <= 9 && b[8] == '-' { // of journalctl -o short-full
			m.layout = layoutSyslog
		}
		return m, n
	}
	if end := monthLength(b, 0); end > 0 {
		if end == len("Nov") { // without a year, a whole name is more likely in a sentence
			if m, n := monthFirst(b, 0); n > 0 {
				return m, n
			}
		}
		return dated(b, 0, known)
	}
	if b[2]-'A' < 26 && (b[3] == ' ' || b[4] == ' ') {
		return zoneFirst(b)
	}
	return moment{}, 0
}

// shortFirst reads layouts that begin with one digit or two: 20.11.2026 15:04:05 and the like; without a year 15:04:05.123, Snort's
// 11/20-15:04:05.123456, the 11/20 15:04:05 of Windows' Netlogon, logcat's 03-17 16:13:38.811, Ethereum's 11-20|15:04:05.123, and ntpd's
// 20 Nov 15:04:05; Zap's 1.795187045123e+09.
func shortFirst(b []byte, bare bool, known hints) (m moment, n int) {
	i := 2
	if b[1]-'0' > 9 {
		i = 1
	}
	switch c := b[i]; {
	case c == ':':
		if bare {
			return clockAlone(b)
		}
		return moment{}, 0
	case c == '.':
		if bare && i == 1 {
			m, n = epochExponent(b)
		}
		if n > 0 || !isPointDate(b) {
			return m, n
		}
	case i == 1 || len(b) < len("11-20 15:04:05"):
	case c == '/' && (b[5] == '-' || b[5] == ' '):
		month, day, _ := inOrder(two(b, 0), two(b, 3), known.order)
		return withoutYear(b, 6, month, day)
	case c == '-' && (b[5] == ' ' || b[5] == '|'):
		m, n = withoutYear(b, 6, two(b, 0), two(b, 3))
		if b[5] == ' ' {
			m.layout = layoutLogcat
		}
		return m, n
	}
	if isDateGap(b[i]) || b[i]|0x20-'a' < 26 {
		if m, n = dated(b, 0, known); n == 0 && b[i] == ' ' {
			return dayFirst(b, 0)
		}
	}
	return m, n
}

// isPointDate reports whether b, which is longer than 9 bytes and has a point behind its first or second byte, begins with three
// numbers, as 20.11.2026 does and an address does not.
func isPointDate(b []byte) bool {
	k := 3
	if b[1] != '.' {
		k++
	}
	if b[k] != '.' && b[k] != ' ' {
		k++
	}
	return (b[k] == '.' || b[k] == ' ') && len(b) > k+5 && b[k+2] != '.' && b[k+3] != '.' && b[k+4] != '.'
}

// dayFirst reads, at b[i], 20 Nov 15:04:05, and 20 Nov 15:04:05 UTC 2026.
func dayFirst(b []byte, i int) (moment, int) {
	end := digitsEnd(b[:min(len(b), i+3)], i)
	if end == i || len(b) < end+len(" Nov 15:04:05") || b[end] != ' ' || monthOf(b[end+1:]) == 0 || b[end+4] != ' ' {
		return moment{}, 0
	}
	return yearBehind(b, end+5, monthOf(b[end+1:]), number(b[i:end]))
}

// clockAlone reads 15:04:05.123 and 3:04:05 PM, whose date is not in the line: of a clock alone only one with milliseconds, or with AM
// or PM, is a time.
func clockAlone(b []byte) (moment, int) {
	var text [len("03:04:05.123456789 p.m. ")]byte
	pad := 0
	if b[1] == ':' {
		text[0], pad = '0', 1
		b = text[:1+copy(text[1:], b)]
	}
	second, nano, end := clockAt(b, 0)
	if end == 0 {
		return moment{}, 0
	}
	second, half := halfDay(b, end, second)
	millis := end >= len("15:04:05.123") && b[8] != ':' && pad == 0
	if half == end && !millis || !ends(b, half) {
		return moment{}, 0
	}
	return moment{second: second, nano: nano, layout: layoutClock}, half - pad
}

// yearFirst reads 2015-07-29 17:41:41,536 and similar layouts: the date with '-', '/' or '.', then a space, TAB, 'T', '|' or '_'.
func yearFirst(b []byte) (moment, int) {
	if len(b) < len("2026-11-20 15:04:05") || b[7] != b[4] || b[4] != '-' && b[4] != '/' && b[4] != '.' {
		return moment{}, 0
	}
	switch b[10] {
	case 'T', ' ', 't', '\t', '_', '|':
	default:
		return moment{}, 0
	}
	second, nano, end := clockAt(b, 11)
	m, n := onDayAt(b, end, four(b, 0), two(b, 5), two(b, 8), second, nano)
	m.layout, m.clock = layoutISO, 11
	return m, n
}

// shortCompact reads 081109 203615 and 081109 20:36:15.
func shortCompact(b []byte) (moment, int) {
	if len(b) < len("081109 203615") {
		return moment{}, 0
	}
	year, month, day := shortYear(two(b, 0)), two(b, 2), two(b, 4)
	if b[9] == ':' {
		return onDay(b, 7, year, month, day)
	}
	return onDayDigits(b, 7, year, month, day)
}
