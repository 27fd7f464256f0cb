package watch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"logstow/watch"
)

// pollsIn returns how many polls there are in a time.
func (m *memory) pollsIn(d time.Duration) int {
	synctest.Wait()
	m.mu.Lock()
	before := m.polls
	m.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.polls - before
}

// A shipper polls once a minute after an hour in which no one followed, every five seconds otherwise, with one query for all of its
// services and the watches of others. A reader that has ended before the poll counts.
func TestIdlePolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newMemory(), newSpool(0, "db", "web")
		r := start(t)
		defer r.stop()
		other := newSpool(0, "app", "zoo")
		r.flusher(m, s, "i", billed)
		want := func(what string, from, to int) {
			t.Helper()
			if n := m.pollsIn(time.Hour); n < from || n > to {
				t.Errorf("%s: %d polls in an hour, want %d to %d", what, n, from, to)
			}
		}
		want("after the start", 720, 720)
		want("idle", 60, 60)
		want("idle", 60, 60)
		_, stop := r.watcher(m, "zoo") // of another shipper
		want("while another service is followed", 60, 60)
		if err := stop(); err != nil {
			t.Error(err)
		}
		_, stop = r.watcher(m, "web")
		want("followed", 705, 720)
		if err := stop(); err != nil {
			t.Error(err)
		}
		want("in the hour after", 715, 720)
		want("idle again", 59, 62)
		time.Sleep(time.Second) // between two polls
		_, stop = r.watcher(m, "db")
		time.Sleep(10 * time.Millisecond)
		if err := stop(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		want("after a short reader", 700, 720)
		r.flusher(m, other, "j", billed)
		if n := len(s.flushes("web")) + len(other.flushes("zoo")); n != 0 {
			t.Errorf("%d flushes without records", n)
		}
	})
}

// The first flush for a reader comes within a minute and some seconds after an idle hour, later within seconds.
func TestIdleFirstFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := start(t)
		defer r.stop()
		var spools []*spool
		for _, instance := range instances(20) {
			s := newSpool(time.Millisecond, "web")
			spools = append(spools, s)
			r.flusher(m, s, instance, billed)
		}
		for range 3 {
			time.Sleep(2 * time.Hour)
			for _, limit := range []time.Duration{watch.IdleInterval + time.Second, watch.DefaultInterval + time.Second} {
				began := time.Now()
				stop := r.run(newBilledWatcher(m, "web"))
				time.Sleep(2 * time.Minute)
				for i, s := range spools {
					var first time.Time
					for _, at := range s.flushes("web") {
						if first.IsZero() && !at.Before(began) {
							first = at
						}
					}
					if took := first.Sub(began); first.IsZero() || took > limit {
						t.Fatalf("shipper %d: the first flush after %v, want at most %v", i, took, limit)
					}
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Minute)
			}
		}
	})
}

// AwaitFlush misses no shipper that polls once a minute, and takes no longer than usual once these have noticed. It also waits long
// if the only reader before it ended too early for that.
func TestIdleAwaitFlush(t *testing.T) {
	t.Parallel()
	for _, before := range []time.Duration{0, 10 * time.Millisecond, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			r := start(t)
			defer r.stop()
			for _, instance := range instances(20) {
				r.flusher(m, newSpool(time.Millisecond, "web"), instance, billed)
			}
			time.Sleep(2*time.Hour + time.Second)
			await := func(least, most time.Duration) {
				t.Helper()
				began := time.Now()
				f, err := newBilledWatcher(m, "web").AwaitFlush(r.ctx)
				if took := time.Since(began); err != nil || f.Live != 20 || len(f.Late) > 0 || took < least || took > most {
					t.Errorf("%v before, at %v: %d live, %d late, %v after %v, want %v to %v", before, time.Now().UTC(), f.Live, len(f.Late), err, took, least, most)
				}
			}
			if before > 0 {
				w := newBilledWatcher(m, "web")
				stop := r.run(w)
				time.Sleep(before)
				if s := w.Status(); !s.Idle {
					t.Errorf("%+v", s)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
			await(watch.IdleInterval, watch.IdleInterval+watch.FreshTimeout)
			await(0, 8*time.Second)
			time.Sleep(50 * time.Minute)
			await(0, 8*time.Second)
			time.Sleep(2 * time.Hour)
			await(watch.IdleInterval, watch.IdleInterval+watch.FreshTimeout)
		})
	}
}
