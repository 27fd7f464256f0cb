package recognize

import "time"

// longDate reads times with the whole name of a month: November 20, 2026 15:04:05, Friday, November 20, 2026 3:04:05 PM,
// Friday 20 November 2026 15:04:05.
func longDate(b []byte) (moment, int) {
	i := 0
	if isWeekday(b) {
		if i = wordEnd(b, 0); !isLongWeekday(b[:i]) {
			return moment{}, 0
		}
		if i < len(b) && b[i] == ',' {
			i++
		}
		if i++; i+1 >= len(b) || b[i-1] != ' ' {
			return moment{}, 0
		}
		if b[i]-'0' <= 9 {
			return dayFirstAt(b, i)
		}
	}
	n := longMonth(b[i:])
	if n == 0 {
		return moment{}, 0
	}
	m, n := behindMonth(b, i+n, monthOf(b[i:]))
	if m.month != 0 { // without a year it is more likely a sentence
		return moment{}, 0
	}
	return m, n
}

func isLongWeekday(word []byte) bool {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if string(word) == day.String() {
			return true
		}
	}
	return false
}

// longMonth returns the length of the whole name of a month at the start of b; 0 if there is none.
func longMonth(b []byte) int {
	if len(b) < 3 {
		return 0
	}
	n := wordEnd(b, 0)
	if month := monthOf(b); month == 0 || string(b[:n]) != time.Month(month).String() {
		return 0
	}
	return n
}
