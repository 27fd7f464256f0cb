package relay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"logstow/internal/event"
	"logstow/internal/limited"
	"logstow/internal/retry"
	"logstow/store"
	"logstow/watch"
)

const (
	// followFor is how long relays are polled for watches after the last call of Watches.
	followFor = 3 * time.Minute
	// findEvery is the interval at which it is checked which relays are polled.
	findEvery = 5 * time.Second
	// pollTimeout limits the time of a poll: more than a relay waits.
	pollTimeout = 45 * time.Second
	// minPollInterval is the minimum time between two polls of a relay, except to report.
	minPollInterval = 200 * time.Millisecond
	// reportDelay is how long a report waits for others, which are sent in the same poll.
	reportDelay = 50 * time.Millisecond
)

// watches polls all relays of a pool for watches. Its goroutines begin with the first call of Watches; close ends them.
type watches struct {
	pool *pool
	// id identifies this process for relays.
	id string

	mu sync.Mutex
	// used is when Watches was last called, wake its last argument.
	used time.Time
	wake func()
	// services and flushed are what polls report. changed is notified when they change.
	services []string
	flushed  map[string]time.Time
	changed  event.Event
	// polled are the relays that are polled, by ID.
	polled map[string]*polled
	// failure is why no relay was found.
	failure error
	// cancel ends the goroutines, all waits for them. cancel is nil if there are none.
	cancel context.CancelFunc
	closed bool
	all    sync.WaitGroup
}

// polled is a relay that is polled.
type polled struct {
	last watch.Answer
	err  error
}

func newWatches(p *pool) *watches {
	return &watches{pool: p, id: rand.Text(), flushed: map[string]time.Time{}, polled: map[string]*polled{}}
}

// Watches implements [watch.Source]: it returns what the relays have responded so far. The error is that of the relays, if none
// responds.
func (s *Store) Watches(_ context.Context, services []string, wake func()) ([]watch.Watch, error) {
	return s.watches.read(services, wake) //nolint:contextcheck // polls outlive the call
}

// Report implements [watch.Source]: the relays learn it with the next poll, which begins at once.
func (s *Store) Report(_ context.Context, r watch.Shipper) error {
	s.watches.report(r)
	return nil
}

func (w *watches) read(services []string, wake func()) (all []watch.Watch, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used, w.wake = time.Now(), wake
	if services = services[:min(len(services), watch.MaxSenderServices)]; !slices.Equal(services, w.services) {
		w.services = slices.Clone(services)
		w.changed.Notify()
	}
	if w.cancel == nil && !w.closed {
		var ctx context.Context
		ctx, w.cancel = context.WithCancel(context.Background())
		w.all.Go(func() { w.run(ctx) })
	}
	latest := map[string]watch.Watch{}
	errs := []error{w.failure}
	for _, id := range slices.Sorted(maps.Keys(w.polled)) {
		one := w.polled[id]
		errs = append(errs, one.err)
		for _, found := range one.last.Watches {
			if had, ok := latest[found.Service]; !ok || had.Written.Before(found.Written) {
				latest[found.Service] = found
			}
		}
	}
	for _, service := range slices.Sorted(maps.Keys(latest)) {
		all = append(all, latest[service])
	}
	if slices.Contains(errs[1:], nil) || len(errs) == 1 && errs[0] == nil {
		return all, nil
	}
	return all, errors.Join(errs...)
}

func (w *watches) report(r watch.Shipper) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Flushed.After(w.flushed[r.Service]) {
		w.flushed[r.Service] = r.Flushed
		w.changed.Notify()
	}
}

func (w *watches) close() {
	w.mu.Lock()
	w.closed = true
	cancel := w.cancel
	w.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	w.all.Wait()
}

// run polls each relay in a goroutine, as long as Watches is called.
func (w *watches) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var polls sync.WaitGroup
	defer polls.Wait()
	defer cancel()
	for {
		err := w.pool.refresh(ctx, askEvery)
		w.mu.Lock()
		if time.Since(w.used) > followFor || ctx.Err() != nil {
			w.cancel = nil
			w.mu.Unlock()
			return
		}
		w.failure = err
		for _, id := range w.pool.ids() {
			if w.polled[id] == nil {
				w.polled[id] = new(polled)
				polls.Go(func() { w.follow(ctx, id) })
			}
		}
		w.mu.Unlock()
		_ = retry.Sleep(ctx, findEvery)
	}
}

// follow polls a relay until it is not known any more.
func (w *watches) follow(ctx context.Context, id string) {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.polled, id)
	}()
	backoff := retry.Backoff{Min: time.Second, Max: watch.SendersTimeout}
	for failures := 0; ; {
		m := w.pool.find(id)
		if m == nil || ctx.Err() != nil {
			return
		}
		wait := reportDelay
		began := time.Now()
		switch again, err := w.poll(ctx, m); {
		case again:
		case err != nil:
			failures++
			wait = backoff.Delay(err, failures)
		default:
			failures, wait = 0, minPollInterval-time.Since(began)
		}
		if retry.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// poll polls a relay once. again is set if it ended early because there is more to report.
func (w *watches) poll(ctx context.Context, m *member) (again bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pollTimeout, errTimeout)
	defer cancel()
	w.mu.Lock()
	one, changed := w.polled[m.ID], w.changed.Next()
	body, err := json.Marshal(watch.Poll{Sender: w.id, Version: one.last.Version, Services: w.services, Flushed: w.flushed})
	w.mu.Unlock()
	if err != nil {
		return false, err
	}
	waiting, stop := context.WithCancel(ctx)
	var interrupting sync.WaitGroup
	defer interrupting.Wait()
	defer stop()
	interrupting.Go(func() {
		select {
		case <-changed:
			stop()
		case <-waiting.Done():
		}
	})
	answer, err := w.pool.watches(waiting, m, body)
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-changed:
		if err != nil && ctx.Err() == nil {
			return true, nil
		}
	default:
	}
	if one.err = err; err != nil {
		return false, err
	}
	if answer.Version != one.last.Version {
		one.last = answer
		w.wake()
	}
	return false, nil
}

// watches asks a relay for watches.
func (p *pool) watches(ctx context.Context, m *member, body []byte) (a watch.Answer, err error) {
	response, err := p.exchange(ctx, m, exchange{
		op:     "poll",
		object: m.address,
		method: http.MethodPost,
		path:   WatchesPath + m.ID,
		body:   body,
		header: http.Header{"Content-Type": {"application/json"}},
	})
	if err != nil {
		return a, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := limited.All(response.Body, MaxPoll)
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(&a)
	}
	if err != nil {
		return a, &store.Error{Op: "poll", Object: m.address, Class: store.ErrUnavailable, Err: cmp.Or(context.Cause(ctx), err)}
	}
	read := time.Now()
	for i := range a.Watches {
		a.Watches[i].Read = read
	}
	return a, nil
}

var _ watch.Source = (*Store)(nil)
