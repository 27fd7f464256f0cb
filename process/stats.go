package process

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
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

// logInterval is how often at most it is said what is done.
const logInterval = time.Minute

// tally counts records of one reason, and says so with the first one and then at
// most once in [logInterval].
type tally struct {
	count *counter
	now   func() time.Time
	say   func(records int64)
	// unlogged are the records since it was said; next is when it may be said again, in Unix nanoseconds.
	unlogged, next atomic.Int64
}

// newTally makes one; args go with what it says.
func (o *Options) newTally(reason string, level slog.Level, text string, args ...any) *tally {
	log := o.Log.With(args...)
	say := log.Info
	if level >= slog.LevelWarn {
		say = log.Warn
	}
	return &tally{count: o.Stats.counter(reason), now: o.Now, say: func(records int64) { say(text, "records", records) }}
}

func (t *tally) add() {
	t.count.add()
	t.unlogged.Add(1)
	now, next := t.now().UnixNano(), t.next.Load()
	if now >= next && t.next.CompareAndSwap(next, now+int64(logInterval)) {
		t.say(t.unlogged.Swap(0))
	}
}

// dropTally is the tally of records that a rule of the user's drops.
func (o *Options) dropTally(reason string) *tally {
	return o.newTally(reason, slog.LevelInfo, "records are dropped by rules (logged at most once a minute)", "reason", reason)
}

// redactionTally is the tally of records out of which something is taken.
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

// Counts are the records up to now by reason: drop, keep (no rule of keep held),
// sample, rate-limit, and redact:KIND for those that were changed. Reasons that
// cannot occur are not there.
func (s *Stats) Counts() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int64, len(s.counts))
	for reason, c := range s.counts {
		counts[reason] = c.n.Load()
	}
	return counts
}
