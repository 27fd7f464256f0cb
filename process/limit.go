package process

import (
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"logstow/internal/memo"
)

// maxServices is the maximum number of services whose rates are tracked. One more resets all of them.
const maxServices = 10_000

// limiter limits the records and bytes per second of each service.
type limiter struct {
	opts     *Options
	mu       sync.Mutex
	services memo.Map[string, *serviceLimit]
}

// serviceLimit is the limit of one service; a nil limiter is unlimited.
type serviceLimit struct {
	records, bytes *rate.Limiter
	over           *tally
}

func newLimiter(opts *Options) (*limiter, error) {
	if !(opts.RateLimit >= 0) || math.IsInf(opts.RateLimit, 0) || opts.Burst < 0 || opts.RateLimit == 0 && opts.Burst > 0 {
		return nil, fmt.Errorf("rate limit of %v records a second, burst %d: want more than 0", opts.RateLimit, opts.Burst)
	}
	if opts.ByteLimit < 0 || opts.ByteBurst < 0 || opts.ByteLimit == 0 && opts.ByteBurst > 0 {
		return nil, fmt.Errorf("rate limit of %d bytes a second, burst %d: want more than 0", opts.ByteLimit, opts.ByteBurst)
	}
	if opts.RateLimit == 0 && opts.ByteLimit == 0 {
		return nil, nil //nolint:nilnil // no limit
	}
	opts.Stats.counter(reasonLimit)
	return &limiter{opts: opts, services: memo.Map[string, *serviceLimit]{Max: maxServices}}, nil
}

// bucket returns a limiter; nil if limit is 0. A burst of 0 means as much as one second allows.
func bucket(limit, burst float64) *rate.Limiter {
	if limit == 0 {
		return nil
	}
	if burst == 0 {
		burst = max(math.Ceil(limit), 1)
	}
	return rate.NewLimiter(rate.Limit(limit), int(min(burst, math.MaxInt32)))
}

// allow reports whether a service may log one more record, of a size in bytes, now.
func (l *limiter) allow(service string, size int) bool {
	now := l.opts.Now()
	l.mu.Lock()
	s := l.services.Get(service, func() *serviceLimit { return l.service(service) })
	ok := s.allow(now, size)
	l.mu.Unlock()
	if !ok {
		s.over.add()
	}
	return ok
}

func (l *limiter) service(name string) *serviceLimit {
	return &serviceLimit{
		records: bucket(l.opts.RateLimit, float64(l.opts.Burst)),
		bytes:   bucket(float64(l.opts.ByteLimit), float64(l.opts.ByteBurst)),
		over: l.opts.newTally(reasonLimit, slog.LevelWarn, "records over the rate limit are dropped (logged at most once a minute)",
			"service", name),
	}
}

// allow takes a record from both limiters or from none. A record longer than the burst takes the whole burst.
func (s *serviceLimit) allow(now time.Time, size int) bool {
	if s.records != nil && s.records.TokensAt(now) < 1 {
		return false
	}
	return (s.bytes == nil || s.bytes.AllowN(now, min(size, s.bytes.Burst()))) &&
		(s.records == nil || s.records.AllowN(now, 1))
}
