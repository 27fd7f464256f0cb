package recognize

import "logstow/record/internal/civil"

// dayFirst reads 10/Oct/2000:13:55:36 -0700, 20-Nov-2026 15:04:05 and 20 Nov 2026
// 15:04:05, the day being of n digits.
func dayFirst(b []byte, n int) (moment, int) { return dayFirstOf(b, 0, n) }

// dayFirstAt is dayFirst behind a weekday, at b[i].
func dayFirstAt(b []byte, i int) (moment, int) {
	n := 2
	if b[i+1]-'0' > 9 {
		n = 1
	}
	return dayFirstOf(b, i, n)
}

func dayFirstOf(b []byte, i, n int) (moment, int) {
	const rest = len("/Oct/2000:13:55:36")
	if len(b) < i+n+rest {
		return moment{}, 0
	}
	day := number(b[i : i+n])
	i += n
	sep := b[i]
	month := monthOf(b[i+1:])
	if long := longMonth(b[i+1:]); sep == ' ' && long > 3 { // 20 November 2026 15:04:05
		i += long - 3
		if len(b) < i+rest || b[i+4] != ' ' || b[i+9] != ' ' {
			return moment{}, 0
		}
		return onDay(b, i+10, four(b, i+5), month, day)
	}
	if month != 0 && sep == ' ' && b[i+4] == ' ' && b[i+7] == ':' { // 20 Nov 15:04:05: ntpd
		return yearBehind(b, i+5, month, day)
	}
	if month != 0 && sep == '-' && b[i+4] == '-' && b[i+7] == ' ' { // 20-NOV-26 03.04.05.123456 PM: Oracle
		return onDayLoose(b, i+8, shortYear(two(b, i+5)), month, day)
	}
	if month == 0 || b[i+4] != sep || b[i+9] != ' ' && b[i+9] != ':' {
		return moment{}, 0
	}
	clock := i + 10
	if b[i+9] == ':' && b[clock] == ':' { // of Erlang
		clock++
	}
	m, end := onDay(b, clock, four(b, i+5), month, day)
	if end == 0 && sep == '-' {
		return onDayLoose(b, clock, four(b, i+5), month, day)
	}
	switch sep {
	case '/':
		m.layout = layoutAccess
	case '-', ' ':
	default:
		return moment{}, 0
	}
	return m, end
}

// monthFirst reads, at b[i]: Jun 14 15:16:01, Jun 09 06:07:04.123456 2005, Jun 9
// 06:07:04 UTC 2005, Jun 14 2005 15:16:01, and Nov 20, 2026 3:04:05 PM.
func monthFirst(b []byte, i int) (moment, int) {
	if len(b) < i+len("Jun") {
		return moment{}, 0
	}
	return behindMonth(b, i+len("Jun"), monthOf(b[i:]))
}

// behindMonth reads what stands at b[i] behind a month.
func behindMonth(b []byte, i int, month uint) (moment, int) {
	const shortest = len(" 9 15:16:01")
	if len(b) < i+shortest || b[i] != ' ' {
		return moment{}, 0
	}
	if i++; b[i] == ' ' {
		i++
	}
	n := 1
	if b[i+1]-'0' <= 9 {
		n = 2
	}
	day := number(b[i : i+n])
	if i += n; b[i] == ',' {
		i++
	}
	if month == 0 || len(b) < i+9 || b[i] != ' ' {
		return moment{}, 0
	}
	i++
	if year := four(b, i); year < 10000 && b[i+4] == ' ' {
		return onDayLoose(b, i+5, year, month, day)
	} else if year < 10000 && b[i+4] == ',' && b[i+5] == ' ' { // in a browser's English
		return onDayLoose(b, i+6, year, month, day)
	}
	m, end := yearBehind(b, i, month, day)
	if m.month != 0 {
		m.layout = layoutSyslog
	}
	return m, end
}

// yearBehind reads the clock at b[i] with a year behind it, before which AM or PM and a zone may stand: 15:04:05 UTC 2005; without one
// it is as withoutYear.
func yearBehind(b []byte, i int, month, day uint) (moment, int) {
	second, nano, end := clockAt(b, i)
	if end == 0 {
		return moment{}, 0
	}
	var m moment
	ofDay, j := halfDay(b, end, second)
	if j < len(b) && b[j] == ' ' {
		j = m.zoneColumn(b, j)
	}
	if len(b) >= j+5 && b[j] == ' ' {
		if year := four(b, j+1); year >= 1970 && year < 2100 && ends(b, j+5) && civil.Valid(int(year), int(month), int(day)) {
			m.second, m.nano = m.second+ofDay+daySecond(year, month, day), nano
			return m, j + 5
		}
	}
	return withoutYearAt(b, end, month, day, second, nano)
}
