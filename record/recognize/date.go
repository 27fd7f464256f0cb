package recognize

import "logstow/record/internal/civil"

// hints help to read a date whose parts could have another order.
type hints struct {
	// order is that of the dates before, or the configured one.
	order dateOrder
	// ref is the reference for times without a year, in Unix nanoseconds; 0 if it is unknown.
	ref int64
}

// dateOrder is the order of day and month in a date of the form 11/20/2026.
type dateOrder uint8

const (
	orderUnknown    dateOrder = iota
	orderMonthFirst           // as in the US
	orderDayFirst
	orderEither // both are possible; read as month first
)

// date is a date as written.
type date struct {
	year, month, day uint
	order            dateOrder
	// slashed is set for 10/Oct/2000, compact for 20001010.
	slashed, compact bool
}

// dated reads, at b[i], a date with a year, a gap and a clock: 2026/1/2 3:04:05 PM, 20.11.2026 - 15:04:05,123, 20-Nov-2026 15:04,
// Nov 20, 2026 at 15.04.05, 10/Oct/2000:13:55:36 -0700, 20171223T221529Z.
func dated(b []byte, i int, known hints) (moment, int) {
	var d date
	if i = d.read(b, i, known); i == 0 {
		return moment{}, 0
	}
	if i = clockStart(b, i); i == 0 {
		return moment{}, 0
	}
	if digitsEnd(b, i) >= i+len("150405") && (d.compact || b[i-1] != ' ') {
		return onDayDigits(b, i, d.year, d.month, d.day)
	}
	m, n := onDay(b, i, d.year, d.month, d.day)
	if m.order = d.order; d.slashed {
		m.layout = layoutAccess
	}
	if n >= i+len("15:04:05") && b[i+2] == ':' && b[i+5] == ':' && i <= maxClock {
		m.clock = uint8(i)
	}
	return m, n
}

// clockStart returns the offset of the clock behind the date that ends at b[i], or 0.
func clockStart(b []byte, i int) int {
	const longest = len(" -- ")
	start := i
	switch {
	case i == len(b):
		return 0
	case b[i] == 'T' || b[i] == 't':
		i++
	case b[i] == ' ' && len(b) > i+4 && string(b[i:i+4]) == " at ":
		i += 4
	default:
		for i < len(b) && i < start+longest {
			switch b[i] {
			case ' ', '\t', ',', ';', ':', '-', '_', '|', '@', '[', ']':
				i++
				continue
			}
			break
		}
	}
	if i == start || i >= len(b) || b[i]-'0' > 9 {
		return 0
	}
	return i
}

// read reads a date at b[i] and returns its end, or 0. The date has three parts, with '-', '/', points or blanks between them: a day, a
// month, which may be a name, and a year of four digits or two.
func (d *date) read(b []byte, i int, known hints) int {
	var value [3]uint
	var width [3]int // 0 for a name
	var gap [2][2]byte
	name := -1
	for k := range value {
		end := digitsEnd(b, i)
		switch width[k] = end - i; width[k] {
		case 0:
			end = i + monthLength(b, i)
			if end == i || name >= 0 || k == 2 {
				return 0
			}
			name, value[k] = k, monthOf(b[i:])
		case 1, 2:
			value[k] = number(b[i:end])
		case 4:
			value[k] = four(b, i)
		case len("20261120"):
			if k > 0 {
				return 0
			}
			d.year, d.month, d.day, d.compact = four(b, i), two(b, i+4), two(b, i+6), true
			return end
		default:
			return 0
		}
		i = end
		for n := 0; k < 2 && n < 2 && i < len(b) && isDateGap(b[i]); n++ {
			gap[k][n] = b[i]
			i++
		}
	}
	d.slashed = name == 1 && gap[0][0] == '/'
	switch {
	case name < 0 && (gap[0] != gap[1] || width[1] == 4 || gap[0][0] == ' ' || gap[0][0] == ',' || gap[0][0] == 0):
		return 0
	case width[0] == 4 && width[2] != 4 && name != 0:
		d.year, d.month, d.day = value[0], value[1], value[2]
	case width[0] == 4 || width[1] == 4:
		return 0
	case name == 0 && width[2] == 4:
		d.month, d.day, d.year = value[0], value[1], value[2]
	case name == 1 && (width[2] == 4 || width[2] == 2 && gap[0][0] == '-'): // Oracle writes 20-NOV-26
		d.day, d.month, d.year = value[0], value[1], value[2]
	case name >= 0:
		return 0
	default:
		if gap[0][0] == '.' {
			known.order = orderDayFirst
		}
		d.month, d.day, d.order = inOrder(value[0], value[1], known.order)
		switch d.year = value[2]; {
		case gap[0][0] == '.':
			d.order = orderUnknown
		case width[2] == 2: // shows nothing for certain
			d.order = orderEither
		}
		if width[2] == 1 || width[2] == 2 && gap[0][0] == '-' && width != [3]int{2, 2, 2} {
			return 0
		}
		if width == [3]int{2, 2, 2} && gap[0][0] != '.' {
			d.orYearFirst(value, known.ref)
		}
	}
	if d.year < 100 {
		d.year = shortYear(d.year)
	}
	if gap[0] == [2]byte{'.', ' '} && i < len(b) && b[i] == '.' { // 2026. 5. 2.
		i++
	}
	return i
}

func isDateGap(c byte) bool { return c == '-' || c == '/' || c == '.' || c == ' ' || c == ',' }

// orYearFirst changes d, in which the year is the last of three numbers of two digits, if it is more likely the first, as in Spark's
// 17/06/09. If both are possible, the later date is more likely, but not one more than a day after ref.
func (d *date) orYearFirst(value [3]uint, ref int64) {
	first, ok := dayNumber(shortYear(value[0]), value[1], value[2])
	if !ok {
		return
	}
	last, ok := dayNumber(shortYear(d.year), d.month, d.day)
	latest := ref/(nanosPerSecond*civil.SecondsPerDay) + 1
	if !ok || ref == 0 || last > latest || last < first && first <= latest {
		*d = date{year: value[0], month: value[1], day: value[2]}
	}
}

// dayNumber returns the day counted from 1970.
func dayNumber(year, month, day uint) (int64, bool) {
	if year >= invalidNumber || !civil.Valid(int(year), int(month), int(day)) {
		return 0, false
	}
	return civil.Days(int(year), int(month), int(day)), true
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
