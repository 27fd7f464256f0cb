package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/store"
	"logstow/watch"
)

// relay runs the flusher of a relay.
func (r *running) relay(m *memory, s *spool) *watch.Senders {
	senders := watch.NewSenders()
	f := watch.NewFlusher(watch.FlusherOptions{
		Instance: "relay", Settings: defaults, Senders: senders, Stores: func(context.Context) []store.Store { return []store.Store{place{memory: m}} },
	})
	r.Go(func() { f.Run(r.ctx, s) })
	return senders
}

// sender polls for the watches on the service web, and reports it as flushed a while after it was asked, with the watch's clock when it
// was asked.
func (r *running) sender(t *testing.T, senders *watch.Senders, id string, after time.Duration) *reports {
	all := new(reports)
	r.Go(func() {
		p := watch.Poll{Sender: id, Services: []string{"web"}}
		for r.ctx.Err() == nil {
			a, err := senders.Poll(r.ctx, p)
			if err != nil {
				t.Error(err)
				return
			}
			if len(a.Watches) == 0 || a.Version == p.Version {
				continue
			}
			p.Version, p.Flushed = a.Version, map[string]time.Time{"web": a.Watches[0].Clock}
			select {
			case <-time.After(after):
				all.add(time.Now())
			case <-r.ctx.Done():
			}
		}
	})
	return all
}

// reports are when a sender reported.
type reports struct {
	mu  sync.Mutex
	all []time.Time
}

func (r *reports) add(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, at)
}

func (r *reports) last() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		return time.Time{}
	}
	return r.all[len(r.all)-1]
}

// A relay answers a watch after its senders have flushed and then it: also a relay that never had a record of the service.
func TestSendersFlushFirst(t *testing.T) {
	t.Parallel()
	for _, services := range [][]string{{"web"}, nil} {
		synctest.Test(t, func(t *testing.T) {
			m, s := newMemory(), newSpool(time.Millisecond, services...)
			r := start(t)
			defer r.stop()
			senders := r.relay(m, s)
			quick, slow := r.sender(t, senders, "quick", 100*time.Millisecond), r.sender(t, senders, "slow", 3*time.Second)
			time.Sleep(time.Minute)
			if flushes := s.flushes("web"); len(flushes) > 0 || !quick.last().IsZero() {
				t.Errorf("flushed without a watch: %v", flushes)
			}
			for range 3 { // the watch of the first still lives when the others begin
				began := time.Now()
				f, err := newWatcher(m, "web").AwaitFlush(r.ctx)
				if err != nil || f.Live != 1 || len(f.Late) > 0 {
					t.Errorf("%+v, %v", f, err)
				}
				if !quick.last().After(began) || !slow.last().After(began) || slow.last().After(time.Now()) {
					t.Errorf("began at %v, reports at %v and %v", began, quick.last(), slow.last())
				}
				if flushes := s.flushes("web"); !slices.ContainsFunc(flushes, func(at time.Time) bool { return !at.Before(slow.last()) }) {
					t.Errorf("the relay flushed at %v, its sender at %v", flushes, slow.last())
				}
				time.Sleep(10 * time.Second)
			}
		})
	}
}

// A sender that does not flush is not waited for any longer than the limit, and one that is gone not at all.
func TestLateSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newMemory(), newSpool(time.Millisecond, "web")
		r := start(t)
		defer r.stop()
		senders := r.relay(m, s)
		ctx, leave := context.WithCancel(r.ctx)
		r.Go(func() {
			for ctx.Err() == nil {
				if _, err := senders.Poll(ctx, watch.Poll{Sender: "stuck", Version: "x", Services: []string{"web"}}); err != nil {
					t.Error(err)
				}
				_ = sleepFor(ctx, time.Second)
			}
		})
		time.Sleep(time.Minute)
		await := func() {
			t.Helper()
			if f, err := newWatcher(m, "web").AwaitFlush(r.ctx); err != nil || f.Live != 1 || len(f.Late) > 0 {
				t.Errorf("%+v, %v", f, err)
			}
		}
		began := time.Now()
		await()
		if first := s.flushes("web")[0].Sub(began); first < watch.SendersTimeout || first > watch.SendersTimeout+watch.DefaultInterval {
			t.Errorf("the relay flushed after %v", first)
		}
		leave()
		time.Sleep(time.Hour)
		before := len(s.flushes("web"))
		began = time.Now()
		await()
		if first := s.flushes("web")[before].Sub(began); first > watch.DefaultInterval {
			t.Errorf("without senders the relay flushed after %v", first)
		}
	})
}

func sleepFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A poll ends when the watches on the services of the sender change, when the sender polls again, or after a while.
func TestPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newMemory(), newSpool(0)
		r := start(t)
		defer r.stop()
		senders := r.relay(m, s)
		poll := func(id, version string, services ...string) (a watch.Answer, took time.Duration) {
			t.Helper()
			began := time.Now()
			a, err := senders.Poll(r.ctx, watch.Poll{Sender: id, Version: version, Services: services})
			if err != nil {
				t.Error(err)
			}
			return a, time.Since(began)
		}
		if a, took := poll("a", "", "db"); took != 25*time.Second || len(a.Watches) > 0 {
			t.Errorf("%+v after %v", a, took)
		}
		if a, took := poll("a", "an old one", "db"); took > 0 || len(a.Watches) > 0 || a.Version != "" {
			t.Errorf("%+v after %v", a, took)
		}
		_, stop := r.watcher(m, "web")
		r.Go(func() {
			if a, took := poll("b", "", "db"); took != 25*time.Second || len(a.Watches) > 0 {
				t.Errorf("a watch on another service: %+v after %v", a, took)
			}
		})
		a, took := poll("a", "", "db", "web")
		if took > watch.DefaultInterval || len(a.Watches) != 1 || a.Watches[0].Service != "web" || a.Watches[0].Shippers != 1 {
			t.Fatalf("%+v after %v", a, took)
		}
		replaced := make(chan time.Duration)
		r.Go(func() {
			_, took := poll("a", a.Version, "web")
			replaced <- took
		})
		time.Sleep(time.Second)
		if _, took := poll("a", "", "web"); took > 0 {
			t.Errorf("%v", took)
		}
		if took := <-replaced; took != time.Second {
			t.Errorf("an earlier poll ended after %v", took)
		}
		if again, took := poll("a", a.Version, "web"); took > watch.Renewal || again.Version == a.Version {
			t.Errorf("a watch that is renewed: %+v after %v", again, took)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		time.Sleep(watch.Lifetime)
		if a, took := poll("a", a.Version, "web"); took > 0 || len(a.Watches) > 0 {
			t.Errorf("an expired watch: %+v after %v", a, took)
		}
	})
}

// A relay that has just started waits for senders that may not have polled yet.
func TestRelayThatStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newMemory(), newSpool(time.Millisecond, "web")
		r := start(t)
		defer r.stop()
		_, stop := r.watcher(m, "web")
		time.Sleep(time.Second)
		r.relay(m, s).Begin()
		began := time.Now()
		time.Sleep(time.Minute)
		if first := s.flushes("web")[0].Sub(began); first < watch.SendersTimeout || first > watch.SendersTimeout+watch.DefaultInterval {
			t.Errorf("the relay flushed after %v", first)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// The senders of a relay, their services and the names of those are limited.
func TestManyPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		senders := watch.NewSenders()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		poll := func(id string, services ...string) error {
			_, err := senders.Poll(ended, watch.Poll{Sender: id, Services: services})
			return err
		}
		for i := range watch.MaxSenders {
			if err := poll(fmt.Sprint(i), "web"); err != nil {
				t.Fatal(err)
			}
		}
		if err := poll("one more", "web"); !errors.Is(err, watch.ErrTooManySenders) {
			t.Errorf("error %v", err)
		}
		if err := poll("1", make([]string, watch.MaxSenderServices+1)...); !errors.Is(err, watch.ErrTooManySenders) {
			t.Errorf("error %v", err)
		}
		time.Sleep(time.Minute) // they are gone
		name := strings.Repeat("x", 1<<20)
		for i := range 32 {
			if err := poll(fmt.Sprint("long ", i), name); err != nil {
				t.Fatal(i, err)
			}
		}
		if err := poll("long", name); !errors.Is(err, watch.ErrTooManySenders) {
			t.Errorf("error %v", err)
		}
		if err := poll("long 1", name); err != nil { // in place of the names that it had
			t.Error(err)
		}
	})
}

// pushing is a store that is itself the source of its watches.
type pushing struct {
	store.Store

	mu      sync.Mutex
	watches []watch.Watch
	wake    func()
	reports []watch.Shipper
}

func (p *pushing) String() string { return "pushing" }

func (p *pushing) Watches(_ context.Context, _ []string, wake func()) ([]watch.Watch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake = wake
	return p.watches, nil
}

func (p *pushing) Report(_ context.Context, s watch.Shipper) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports = append(p.reports, s)
	return nil
}

func (p *pushing) push(w watch.Watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches = []watch.Watch{w}
	p.wake()
}

// A source that learns of a watch by itself has it flushed at once, also if it is wrapped, and not polled sooner otherwise.
func TestSourceThatWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s, p := newMemory(), newSpool(time.Millisecond, "web"), new(pushing)
		r := start(t)
		defer r.stop()
		f := watch.NewFlusher(watch.FlusherOptions{Instance: "i", Settings: defaults, Stores: func(context.Context) []store.Store {
			return []store.Store{place{memory: m}, wrapped{p}}
		}})
		r.Go(func() { f.Run(r.ctx, s) })
		time.Sleep(time.Minute + time.Millisecond)
		synctest.Wait()
		polls := m.count()
		asked := time.Now()
		clock := asked.Add(3 * time.Hour) // of storage
		p.push(watch.Watch{Service: "web", Shippers: 1, Written: clock.Add(-time.Second), Clock: clock, Read: asked})
		synctest.Wait()
		if flushes := s.flushes("web"); len(flushes) != 1 || !flushes[0].Equal(asked) {
			t.Errorf("asked at %v, flushes at %v", asked, flushes)
		}
		if n := m.count() - polls; n != 0 {
			t.Errorf("%d requests to the other store", n)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if last := p.reports[len(p.reports)-1]; last.Service != "web" || last.Instance != "i" || !last.Flushed.Equal(clock) {
			t.Errorf("reports %+v, want one of %v", p.reports, clock)
		}
	})
}

type wrapped struct{ store.Store }

func (w wrapped) Unwrap() store.Store { return w.Store }
