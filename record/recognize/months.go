package recognize

import "logstow/record/internal/civil"

// monthFirst reads, at b[i]: Jun 14 15:16:01, Nextflow's Jun-14 15:16:01, Jun 09 06:07:04.123456 2005, and Jun 9 06:07:04 UTC 2005.
func monthFirst(b []byte, i int) (moment, int) {
	const shortest = len("Jun 9 15:16:01")
	if len(b) < i+shortest || b[i+3] != ' ' && b[i+3] != '-' {
		return moment{}, 0
	}
	month := monthOf(b[i:])
	if i += 4; b[i] == ' ' {
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
