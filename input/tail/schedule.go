package tail

import "time"

// schedule is when something is done whose cost is limited to a share of the time.
type schedule struct {
	last time.Time
	cost time.Duration
}

// rest is the time until it is to be done again, given the minimum interval and 1/share.
func (s *schedule) rest(now time.Time, interval time.Duration, share int) time.Duration {
	return max(interval, time.Duration(share)*s.cost) - now.Sub(s.last)
}

// do does the work, and measures what it costs.
func (s *schedule) do(now time.Time, work func()) {
	began := time.Now()
	work()
	s.last, s.cost = now, time.Since(began)
}
