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
func parseMoment(b []byte, bare bool, order dateOrder) (moment, int) {
	if len(b) < 10 {
		return moment{}, 0
	}
	c := b[0]
	if c-'0' > 9 {
		if c|0x20-'a' < 26 && (b[1]-'0' <= 9 || b[1]|0x20-'a' < 26) {
			return parseLettered(b)
		}
		return moment{}, 0
	}
	switch {
	case b[2] == '/' && (b[5] == '-' || b[5] == ' '):
		return dayAndMonth(b, order)
	case b[1] == '/' && b[2]-'0' <= 9, b[2] == '/' && b[1]-'0' <= 9 && b[3]-'0' <= 9:
		return slashes(b, '/', order)
	case (b[1] == '.' || b[2] == '.') && isPointDate(b):
		m, n := slashes(b, '.', orderDayFirst)
		m.order = orderUnknown
		return m, n
	case bare && b[1] == ':':
		return clockAlone(b)
	case bare && b[1] == '.':
		return epochExponent(b)
	case b[1]-'0' > 9:
		return dayFirst(b, 1)
	case b[2] == ':':
		if bare {
			return clockAlone(b)
		}
		return moment{}, 0
	case b[2]-'0' > 9:
		return twoDigits(b, order)
	case b[3]-'0' > 9:
		return moment{}, 0
	case b[4]-'0' > 9:
		return yearFirst(b)
	case b[6] == ' ':
		if bare {
			return shortCompact(b)
		}
	case b[8]-'0' > 9:
		return compact(b)
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
func parseLettered(b []byte) (moment, int) {
	if b[1]-'0' <= 9 {
		return klog(b)
	}
	switch b[3] {
	case ' ', ',':
		if monthOf(b) != 0 {
			return monthFirst(b, 0)
		}
		if isWeekday(b) {
			if b[3] == ' ' && b[4]-'0' <= 9 && b[6]-'0' > 9 { // of date, in English locales
				return dayFirstAt(b, 4)
			}
			if b[3] == ' ' && b[4]-'0' <= 9 { // of journalctl -o short-full
				m, n := yearFirst(b[4:])
				if m.layout = layoutSyslog; n > 0 {
					n += 4
				}
				return m, n
			}
			if b[3] == ' ' {
				return monthFirst(b, 4)
			}
			if len(b) > 7 && b[4] == ' ' {
				return dayFirstAt(b, 5)
			}
		}
	case '-', '/':
		return monthDashed(b)
	default:
		if m, n := longDate(b); n > 0 {
			return m, n
		}
	}
	if b[2]-'A' < 26 && (b[3] == ' ' || b[4] == ' ') {
		return zoneFirst(b)
	}
	return moment{}, 0
}

// dateOrder is the order of day and month in a date of the form 11/20/2026.
type dateOrder uint8

const (
	orderUnknown    dateOrder = iota
	orderMonthFirst           // as in the US
	orderDayFirst
	orderEither // both are possible; read as month first
)

// slashes reads 11/20/2026 15:04:05, 1/2/2026, 3:04:05 PM, and Spark's 17/06/09 20:10:40, whose year comes first; with a point as the
// separator 20.11.2026 15:04:05. A value above 12 decides the order of day and month, otherwise order.
func slashes(b []byte, sep byte, order dateOrder) (moment, int) {
	if sep == '/' && b[5] == '/' && b[8] == ' ' { // Spark's
		if m, n := onDay(b, 9, shortYear(two(b, 0)), two(b, 3), two(b, 6)); n > 0 {
			return m, n
		}
	}
	var part [3]uint
	i := 0
	for k := range part {
		n := digitsEnd(b, i)
		if digits := n - i; digits == 0 || digits > 2 && (k < 2 || digits != 4) || k < 2 && (n == len(b) || b[n] != sep) {
			return moment{}, 0
		}
		if n-i == 4 {
			part[k] = four(b, i)
		} else {
			part[k] = number(b[i:n])
		}
		if i = n; k < 2 {
			i++
		}
	}
	if i < len(b) && b[i] == ',' {
		i++
	}
	if len(b) < i+len(" 3:04:05") || b[i] != ' ' && (b[i] != '-' || b[i+1]-'0' > 9) { // Suricata also writes 11/20/2026-15:04:05
		return moment{}, 0
	}
	switch i++; { // 20/11/2026 - 15:04:05, Suricata's 20/11/2026 -- 15:04:05
	case b[i] == '-' && b[i+1] == ' ':
		i += 2
	case b[i] == '-' && b[i+1] == '-' && b[i+2] == ' ':
		i += 3
	}
	if part[2] < 100 && sep == '/' { // 17/06/09, but for 11/20/26
		if b[1] == '/' || b[4] == '/' {
			return moment{}, 0
		}
		if m, n := onDayLoose(b, i, shortYear(part[0]), part[1], part[2]); n > 0 || part[1] <= 12 {
			return m, n
		}
	}
	if part[2] < 100 {
		part[2] = shortYear(part[2])
	}
	month, day, found := inOrder(part[0], part[1], order)
	m, n := onDayLoose(b, i, part[2], month, day)
	m.order = found
	return m, n
}

// isPointDate reports whether b, which is longer than 9 bytes and has a point behind its first or second byte, begins like 20.11.2026
// or 2.1.26, and not like an address.
func isPointDate(b []byte) bool {
	k := 3
	if b[1] != '.' {
		k++
	}
	if b[k] != '.' {
		k++
	}
	if b[k] != '.' || len(b) <= k+5 {
		return false
	}
	return b[k+5] == ' ' || b[k+5] == ',' || b[k+3] == ' ' || b[k+3] == ','
}

// inOrder returns the month and the day of two numbers, and the order that they show.
func inOrder(first, second uint, order dateOrder) (month, day uint, found dateOrder) {
	switch found = orderEither; {
	case first > 12:
		found = orderDayFirst
	case second > 12:
		found = orderMonthFirst
	}
	if found == orderDayFirst || found == orderEither && order == orderDayFirst {
		return second, first, found
	}
	return first, second, found
}

// dayAndMonth reads 11/20-15:04:05.123456 of Snort and 11/20 15:04:05 of Windows' Netlogon.
func dayAndMonth(b []byte, order dateOrder) (moment, int) {
	month, day, _ := inOrder(two(b, 0), two(b, 3), order)
	return withoutYear(b, 6, month, day)
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

// twoDigits reads layouts that begin with two digits and something else.
func twoDigits(b []byte, order dateOrder) (moment, int) {
	if len(b) > len("20Nov2026 15:04:05") && b[2]-'A' < 26 && b[9] == ' ' { // of Minecraft Forge
		return onDay(b, 10, four(b, 5), monthOf(b[2:]), two(b, 0))
	}
	if b[3]-'0' > 9 || len(b) < 14 {
		return dayFirst(b, 2)
	}
	switch sep := b[2]; {
	case sep == '-' && b[5] == ' ':
		// 03-17 16:13:38.811: logcat's, no year.
		m, n := withoutYear(b, 6, two(b, 0), two(b, 3))
		m.layout = layoutLogcat
		return m, n
	case sep == '-' && b[5] == '|': // 11-20|15:04:05.123, of Ethereum's programs
		return withoutYear(b, 6, two(b, 0), two(b, 3))
	case sep == '-' && b[5] == '-' && b[10] == ' ':
		// 11-20-2026 15:04:05.123: Splunk's
		month, day, found := inOrder(two(b, 0), two(b, 3), order)
		m, n := onDay(b, 11, four(b, 6), month, day)
		m.order = found
		return m, n
	}
	return moment{}, 0
}

// yearFirst reads 2015-07-29 17:41:41,536 and similar layouts: the date with '-', '/' or '.', then a space, TAB, 'T', '|' or '_';
// also 2026-11-20  5:04:05, 2026-11-20, 15:04:05, 2026-11-20 15.04.05, 2026/11/20 - 15:04:05, 2026-11-20-15.04.05.123456+060 and
// [2026-11-20][15:04:05].
func yearFirst(b []byte) (moment, int) {
	if len(b) >= len("2026 Nov 2 15:04:05") && b[4] == ' ' {
		return yearAndMonth(b)
	}
	if len(b) >= len("2026-Nov-20 15:04:05") && b[4] == '-' && b[8] == '-' && b[11] == ' ' { // of Boost
		return onDay(b, 12, four(b, 0), monthOf(b[5:]), two(b, 9))
	}
	if len(b) >= len("2026/5/2 15:04") && (b[4] == '/' && b[7] != '/' || b[4] == '.' && b[5] == ' ') {
		return yearLoose(b)
	}
	if len(b) < len("2026-11-20 15:04") || b[7] != b[4] || b[4] != '-' && b[4] != '/' && b[4] != '.' {
		return moment{}, 0
	}
	if len(b) < len("2026-11-20 15:04:05") {
		return minuteOnly(b)
	}
	switch b[10] {
	case 'T', ' ', 't', '\t', '_', '|':
		m, n := onDay(b, 11, four(b, 0), two(b, 5), two(b, 8))
		if n == 0 && b[10] == ' ' {
			m, n = behindGap(b)
		}
		if n == 0 {
			return minuteOnly(b)
		}
		m.layout = layoutISO
		return m, n
	case '-':
		if b[13] == ':' { // 2026-11-20-15:04:05
			return onDay(b, 11, four(b, 0), two(b, 5), two(b, 8))
		}
		return db2(b)
	case ',', ';':
		if b[11]-'0' <= 9 { // columns of their own
			return onDay(b, 11, four(b, 0), two(b, 5), two(b, 8))
		}
		if b[11] == ' ' { // of Airflow, and of browsers
			return onDayLoose(b, 12, four(b, 0), two(b, 5), two(b, 8))
		}
	case ']':
		if b[11] == '[' {
			return onDay(b, 12, four(b, 0), two(b, 5), two(b, 8))
		}
	}
	return moment{}, 0
}

// yearLoose reads 2026/5/2 15:04:05 and 2026. 5. 2. 15:04:05, as browsers write it.
func yearLoose(b []byte) (moment, int) {
	sep, i := b[4], 5
	var part [2]uint
	for k := range part {
		if i < len(b) && b[i] == ' ' && sep == '.' {
			i++
		}
		end := digitsEnd(b, i)
		if end == i || end > i+2 || end == len(b) || b[end] != sep && (k == 0 || sep == '.') {
			return moment{}, 0
		}
		part[k] = number(b[i:end])
		if i = end; b[i] == sep {
			i++
		}
	}
	if i < len(b) && b[i] == ',' {
		i++
	}
	if i >= len(b) || b[i] != ' ' {
		return moment{}, 0
	}
	return onDayLoose(b, i+1, four(b, 0), part[0], part[1])
}

// behindGap reads a clock behind a date and more than a blank, at b[11]: MariaDB's hour of one digit, apt's, and Gin's.
func behindGap(b []byte) (moment, int) {
	switch {
	case b[11] == ' ':
		return onDayLoose(b, 12, four(b, 0), two(b, 5), two(b, 8))
	case b[11] == '-' && b[12] == ' ':
		return onDay(b, 13, four(b, 0), two(b, 5), two(b, 8))
	}
	return moment{}, 0
}

// db2 reads 2026-11-20-15.04.05.123456+060, whose offset is in minutes, and Unreal Engine's 2026.11.20-15.04.05:123.
func db2(b []byte) (moment, int) {
	if len(b) < len("2026-11-20-15.04.05.0") || b[13] != '.' || b[16] != '.' || b[19] != '.' && b[19] != ':' {
		return moment{}, 0
	}
	second, nano, ok := ofDay(two(b, 11), two(b, 14), two(b, 17))
	if !ok {
		return moment{}, 0
	}
	nano, i := fraction(b, 19, nano)
	minutes := int64(0)
	if i+4 <= len(b) && (b[i] == '+' || b[i] == '-') && digitsEnd(b, i+1) == i+4 {
		if minutes = int64(b[i+1]-'0')*100 + int64(two(b, i+2)); b[i] == '-' {
			minutes = -minutes
		}
		second, i = second-minutes*60, i+4
		m, n := onDayAt(b, i, four(b, 0), two(b, 5), two(b, 8), second, nano)
		m.utc = true
		return m, n
	}
	return onDayAt(b, i, four(b, 0), two(b, 5), two(b, 8), second, nano)
}

// yearAndMonth reads 2026 Nov 20 15:04:05, as network devices write it.
func yearAndMonth(b []byte) (moment, int) {
	month := monthOf(b[5:])
	if month == 0 || b[8] != ' ' {
		return moment{}, 0
	}
	i := 9
	if b[i] == ' ' {
		i++
	}
	n := digitsEnd(b, i)
	if n == i || n > i+2 || n == len(b) || b[n] != ' ' {
		return moment{}, 0
	}
	return onDay(b, n+1, four(b, 0), month, number(b[i:n]))
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

// compact reads 20171223T221529Z, 20171223-22:15:29:606 and the like.
func compact(b []byte) (moment, int) {
	if len(b) < len("20171223-1:2:3") {
		return moment{}, 0
	}
	switch b[8] {
	case 'T', '-', ' ', '_', 't':
	default:
		return moment{}, 0
	}
	year, month, day := four(b, 0), two(b, 4), two(b, 6)
	if b[10] == ':' || b[11] == ':' {
		return onDayLoose(b, 9, year, month, day)
	}
	return onDayDigits(b, 9, year, month, day)
}
