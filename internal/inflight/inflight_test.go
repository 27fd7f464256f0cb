package inflight_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/inflight"
	"logstow/store"
)

// server answers requests after a latency. Beyond its capacity they take longer, in proportion, or are throttled.
type server struct {
	latency   time.Duration
	capacity  int
	throttles bool

	mu                        sync.Mutex
	inFlight, most, throttled int
}

func (s *server) request() error {
	s.mu.Lock()
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	took := s.latency * time.Duration(max(1, float64(s.inFlight)/float64(s.capacity))*1000) / 1000
	throttled := s.throttles && s.inFlight > s.capacity
	if throttled {
		s.throttled++
	}
	s.mu.Unlock()
	time.Sleep(took)
	s.mu.Lock()
	s.inFlight--
	s.mu.Unlock()
	if throttled {
		return store.ErrThrottled
	}
	return nil
}

// load sends requests from clients for a time, and returns how many succeeded.
func load(l *inflight.Limiter, s *server, clients int, d time.Duration) (succeeded int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(d)
	for range clients {
		all.Go(func() {
			for time.Now().Before(end) {
				r, _ := l.Acquire(context.Background())
				err := s.request()
				l.Release(r, err)
				if err == nil {
					mu.Lock()
					succeeded++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return succeeded
}

func TestLimit(t *testing.T) {
	t.Parallel()
	const first, most = 4, 64
	for name, c := range map[string]struct {
		server  *server
		clients int
		// limit is the highest limit that is allowed at the end, rate the least requests per second.
		limit, rate int
		// throttled is the maximum share of throttled requests.
		throttled float64
	}{
		"50 ms":                {&server{latency: 50 * time.Millisecond, capacity: 1000}, 100, most, 1200, 0},
		"1 s":                  {&server{latency: time.Second, capacity: 1000}, 100, most, 55, 0},
		"few clients":          {&server{latency: 50 * time.Millisecond, capacity: 1000}, 3, first, 55, 0},
		"10 at a time":         {&server{latency: 50 * time.Millisecond, capacity: 10}, 100, 30, 190, 0},
		"2 at a time":          {&server{latency: 50 * time.Millisecond, capacity: 2}, 100, 10, 38, 0},
		"throttles beyond 20":  {&server{latency: 50 * time.Millisecond, capacity: 20, throttles: true}, 100, 40, 240, 0.15},
		"throttles beyond one": {&server{latency: 50 * time.Millisecond, capacity: 1, throttles: true}, 100, 2 * first, 9, 0.8},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := inflight.New(inflight.Options{First: first, Max: most, Latency: true})
			const duration = time.Minute
			n := load(l, c.server, c.clients, duration)
			rate := n / int(duration.Seconds())
			share := float64(c.server.throttled) / float64(n+c.server.throttled)
			t.Logf("%s: %d requests a second, at most %d in flight, %.1f%% throttled, limit %d", name, rate, c.server.most, 100*share, l.Limit())
			if rate < c.rate || c.server.most > most || l.Limit() > c.limit || share > c.throttled {
				t.Errorf("%s: %d requests a second, at most %d in flight, %.1f%% throttled, limit %d", name, rate, c.server.most, 100*share, l.Limit())
			}
		})
	}
}

// A latency that rises for another reason lowers the limit for a while only.
func TestLatencyChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := inflight.New(inflight.Options{First: 4, Max: 64, Latency: true})
		s := &server{latency: 20 * time.Millisecond, capacity: 1000}
		load(l, s, 100, 10*time.Second)
		s.latency = 200 * time.Millisecond
		load(l, s, 100, 30*time.Second)
		if n := l.Limit(); n < 60 {
			t.Errorf("the limit is %d", n)
		}
	})
}

// Requests that are in flight when storage throttles halve the limit once, and other errors do not change it.
func TestThrottledTogether(t *testing.T) {
	t.Parallel()
	l := inflight.New(inflight.Options{First: 16, Max: 64})
	round := func(result error) {
		t.Helper()
		var all []inflight.Request
		for range l.Limit() {
			r, err := l.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		for _, r := range all {
			l.Release(r, result)
		}
	}
	for _, step := range []struct {
		result error
		want   int
	}{
		{store.ErrThrottled, 8},
		{store.ErrUnavailable, 8},
		{nil, 9},
		{store.ErrExists, 10},
		{store.ErrThrottled, 5},
		{store.ErrThrottled, 3},
		{store.ErrThrottled, 2},
		{store.ErrThrottled, 1},
		{store.ErrThrottled, 1},
		{nil, 2},
	} {
		if round(step.result); l.Limit() != step.want {
			t.Fatalf("the limit is %d after %v, want %d", l.Limit(), step.result, step.want)
		}
	}
	r, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stop")
	cancel(cause)
	if _, err := l.Acquire(ctx); !errors.Is(err, cause) {
		t.Errorf("a third request of two: %v", err)
	}
	l.Release(r, nil)
	if _, err := l.Acquire(t.Context()); err != nil {
		t.Error(err)
	}
	var none *inflight.Limiter
	if r, err := none.Acquire(ctx); err != nil {
		t.Error(err)
	} else {
		none.Release(r, nil)
	}
}
