package process

import (
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// sayEvery is how often it is said at most that a service is over its limit.
	sayEvery = time.Minute
	// maxServices is how many services' rates are remembered; past that all begin anew.
	maxServices = 10_000
)

// limiter bounds the records a second of each service.
type limiter struct {
	limit rate.Limit
	burst int
	now   func() time.Time
	log   *slog.Logger
	over  *counter

	mu       sync.Mutex
	services map[string]*serviceLimit
}

type serviceLimit struct {
	rate *rate.Limiter
	// dropped records are not said yet.
	dropped int
	said    time.Time
}

func newLimiter(opts *Options) (*limiter, error) {
	if opts.RateLimit == 0 && opts.Burst == 0 {
		return nil, nil //nolint:nilnil // no limit
	}
	if !(opts.RateLimit > 0) || math.IsInf(opts.RateLimit, 0) || opts.Burst < 0 {
		return nil, fmt.Errorf("rate limit of %v records a second, burst %d: want more than 0", opts.RateLimit, opts.Burst)
	}
	burst := opts.Burst
	if burst == 0 {
		burst = int(min(max(math.Ceil(opts.RateLimit), 1), math.MaxInt32))
	}
	return &limiter{
		limit: rate.Limit(opts.RateLimit), burst: burst, now: opts.Now, log: opts.Log,
		over: opts.Stats.counter(reasonLimit), services: map[string]*serviceLimit{},
	}, nil
}

// take reports whether a service may log one more record now.
func (l *limiter) take(service string) bool {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.services[service]
	if s == nil {
		if len(l.services) >= maxServices {
			clear(l.services)
		}
		s = &serviceLimit{rate: rate.NewLimiter(l.limit, l.burst)}
		l.services[service] = s
	}
	if s.rate.AllowN(now, 1) {
		return true
	}
	l.over.add()
	s.dropped++
	if s.said.IsZero() || now.Sub(s.said) >= sayEvery {
		l.log.Warn("records over the rate limit are dropped (said once a minute)", "service", service, "dropped", s.dropped, "limit", float64(l.limit))
		s.said, s.dropped = now, 0
	}
	return false
}
