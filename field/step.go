package field

import "time"

// Minutes reports whether the step consists of whole minutes.
func (s Step) Minutes() bool { return s.Length%time.Minute == 0 }

// Start is the start of the step around t, in t's zone.
func (s Step) Start(t time.Time) time.Time {
	if s.Days == 0 {
		midnight := later(t, 0)
		return midnight.Add(t.Sub(midnight) / s.Length * s.Length)
	}
	return later(t, -s.intoDays(t))
}

// Next is the start of the step after the one that starts at start, in start's zone.
func (s Step) Next(start time.Time) time.Time {
	if s.Days > 0 {
		return later(start, s.Days-s.intoDays(start))
	}
	next, tomorrow := start.Add(s.Length), later(start, 1)
	if next.After(tomorrow) {
		return tomorrow
	}
	return next
}

// intoDays is the number of days between the start of a step and the day of t.
func (s Step) intoDays(t time.Time) int {
	year, month, dayOfMonth := t.Date()
	number := time.Date(year, month, dayOfMonth, 0, 0, 0, 0, time.UTC).Unix() / int64(day/time.Second) // from a Thursday
	if s.weeks {
		number += 3
	}
	n := int64(s.Days)
	return int((number%n + n) % n)
}

// later is the first moment of the day that is days after that of t.
func later(t time.Time, days int) time.Time {
	year, month, dayOfMonth := t.Date()
	return dayOf(year, month, dayOfMonth+days, t.Location())
}

// dayOf is the first moment of a date, or of the next one if zone changes skipped it: where clocks
// change at midnight, that is not always 00:00, or 00:00 comes twice.
func dayOf(year int, month time.Month, dayOfMonth int, zone *time.Location) time.Time {
	midnight := time.Date(year, month, dayOfMonth, 0, 0, 0, 0, zone)
	date := time.Date(year, month, dayOfMonth, 0, 0, 0, 0, time.UTC).Day()
	if midnight.Day() != date { // 00:00 is skipped, or the whole date: what follows begins with the new offset
		_, end := midnight.ZoneBounds()
		return end
	}
	if midnight.Hour() > 0 { // as above, with the offset after it
		start, _ := midnight.ZoneBounds()
		return start
	}
	if before := midnight.Add(-1); before.Hour() == 0 { // it comes twice: clocks are put back to 00:00
		midnight = midnight.Add(-time.Duration(before.Minute())*time.Minute - time.Duration(before.Second()+1)*time.Second)
	}
	return midnight
}

// Layout is how the start of a step is printed: as RFC 3339 has it, with milliseconds if steps begin
// at some.
func (s Step) Layout() string {
	if s.Length%time.Second != 0 {
		return "2006-01-02T15:04:05.000Z07:00"
	}
	return time.RFC3339
}
