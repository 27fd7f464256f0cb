package process

import (
	"sync"
	"sync/atomic"
)

// Reasons by which [Stats] count; a redaction's is [ReasonRedact] and its kind.
const (
	reasonDrop   = "drop"
	reasonKeep   = "keep"
	reasonSample = "sample"
	reasonLimit  = "rate-limit"

	// ReasonRedact begins the reasons of records that were changed and kept. All
	// others are reasons of records that were dropped.
	ReasonRedact = "redact:"
)

// Stats count records by what was done with them. The zero value is ready, and may
// be shared by processors. Safe for concurrent use.
type Stats struct {
	mu     sync.Mutex
	counts map[string]*counter
}

// counter is the number of one reason.
type counter struct{ n atomic.Int64 }

func (c *counter) add() { c.n.Add(1) }

func (s *Stats) counter(reason string) *counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts[reason]
	if c == nil {
		if s.counts == nil {
			s.counts = map[string]*counter{}
		}
		c = new(counter)
		s.counts[reason] = c
	}
	return c
}

// Counts are the records up to now by reason: drop, keep (no rule of keep held),
// sample, rate-limit, and redact:KIND for those that were changed. Reasons that
// can not occur are not there.
func (s *Stats) Counts() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int64, len(s.counts))
	for reason, c := range s.counts {
		counts[reason] = c.n.Load()
	}
	return counts
}
