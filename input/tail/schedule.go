package tail

import "time"

// schedule limits repeated work to a share of the time.
type schedule struct {
	last time.Time
	cost time.Duration
}

// remaining returns the time until the work is due again: at the earliest after interval, and so that it takes at most
// 1/share of the time.
func (s *schedule) remaining(now time.Time, interval time.Duration, share int) time.Duration {
	return max(interval, time.Duration(share)*s.cost) - now.Sub(s.last)
}

// do does the work and measures its duration.
func (s *schedule) do(now time.Time, work func()) {
	began := time.Now()
	work()
	s.last, s.cost = now, time.Since(began)
}
