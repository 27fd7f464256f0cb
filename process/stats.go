package process

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"logstow/internal/logging"
)

// Reasons of [Stats]. The reason of a redaction is [ReasonRedact] followed by the kind.
const (
	reasonDrop   = "drop"
	reasonKeep   = "keep"
	reasonSample = "sample"
	reasonLimit  = "rate-limit"

	// ReasonRedact is the prefix of reasons for changed records. All other reasons are for dropped
	// records.
	ReasonRedact = "redact:"
)

// Stats count records by result. The zero value is ready to use, and may be shared by processors.
// Safe for concurrent use.
type Stats struct {
	mu     sync.Mutex
	counts map[string]*counter
}

// counter is the count of one reason.
type counter struct{ n atomic.Int64 }

func (c *counter) add() { c.n.Add(1) }

// tally counts records of one reason, and logs the first one and then at most one line per
// minute.
type tally struct {
	count *counter
	now   func() time.Time
	log   func(records int64)
	// unlogged is the number of records since the last log line.
	unlogged atomic.Int64
	limit    logging.Limiter
}

// newTally makes a tally; args are attributes of its log line.
func (o *Options) newTally(reason string, level slog.Level, text string, args ...any) *tally {
	logger := o.Log.With(args...)
	log := logger.Info
	if level >= slog.LevelWarn {
		log = logger.Warn
	}
	return &tally{
		count: o.Stats.counter(reason),
		now:   o.Now,
		log:   func(records int64) { log(text, "records", records) },
		limit: logging.Limiter{Every: time.Minute},
	}
}

func (t *tally) add() {
	t.count.add()
	t.unlogged.Add(1)
	if t.limit.AllowAt(t.now()) {
		t.log(t.unlogged.Swap(0))
	}
}

// dropTally is the tally of records that a user's rule drops.
func (o *Options) dropTally(reason string) *tally {
	return o.newTally(reason, slog.LevelInfo, "records are dropped by rules (logged at most once a minute)", "reason", reason)
}

// redactionTally is the tally of redacted records.
func (o *Options) redactionTally(what string) *tally {
	return o.newTally(ReasonRedact+what, slog.LevelInfo, "secrets are redacted in records (logged at most once a minute)", "kind", what)
}

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

// Counts returns the number of records by reason: drop, keep (no keep rule matched), sample, rate-limit,
// and redact:KIND for redacted ones. Reasons that cannot occur are omitted.
func (s *Stats) Counts() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int64, len(s.counts))
	for reason, c := range s.counts {
		counts[reason] = c.n.Load()
	}
	return counts
}
