package recognize

import "time"

// englishDayEnd returns the offset of the date behind a weekday at the start of b, Fri, Friday, or "Fri,"; 0 if there is none.
func englishDayEnd(b []byte) int {
	if !isWeekday(b) {
		return 0
	}
	i := wordEnd(b, 0)
	if i > 3 && !isLongWeekday(b[:i]) {
		return 0
	}
	if i < len(b) && b[i] == ',' {
		i++
	}
	if i+1 >= len(b) || b[i] != ' ' {
		return 0
	}
	return i + 1
}

func isLongWeekday(word []byte) bool {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if string(word) == day.String() {
			return true
		}
	}
	return false
}

// monthLength returns the length of the name of a month at b[i], or of its first three letters; 0 if there is none.
func monthLength(b []byte, i int) int {
	const short = len("Nov")
	if len(b) < i+short || monthOf(b[i:]) == 0 {
		return 0
	}
	n := wordEnd(b, i) - i
	if n > short && string(b[i:i+n]) != time.Month(monthOf(b[i:])).String() {
		return 0
	}
	return n
}
