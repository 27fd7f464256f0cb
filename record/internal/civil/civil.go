// Package civil converts between dates of the proleptic Gregorian calendar and
// days since 1970-01-01, without the cost of package time.
package civil

// SecondsPerDay is the length of a UTC day.
const SecondsPerDay = 86400

// A year is taken to begin in March, so that the leap day comes last; an era is
// the 400 years after which the calendar repeats.
const (
	daysPerEra = 146097
	// epochShift is the number of days from 0000-03-01 to 1970-01-01.
	epochShift = 719468
)

// Days is the number of days from 1970-01-01 to a date, negative before it. The
// year must be 0 or later, month and day those of a [Valid] date.
func Days(year, month, day int) int64 {
	y, m := year, month-3
	if month <= 2 {
		y, m = year-1, month+9
	}
	era := (y + 400) / 400 // at least 0, also for y = -1
	yoe := y + 400 - era*400
	doy := (153*m+2)/5 + day - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int64((era-1)*daysPerEra+doe) - epochShift
}

// Date is the date that is days days after 1970-01-01, for years 0 and later.
func Date(days int64) (year, month, day int) {
	z := uint64(days + epochShift + daysPerEra)
	era := z / daysPerEra
	doe := z % daysPerEra
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy-(153*mp+2)/5) + 1
	year = int(yoe) + (int(era)-1)*400
	if mp < 10 {
		return year, int(mp) + 3, day
	}
	return year + 1, int(mp) - 9, day
}

// Valid reports whether month and day name a day of the year.
func Valid(year, month, day int) bool {
	return month >= 1 && month <= 12 && day >= 1 && (day <= 28 || day <= daysIn(year, month))
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}
