package watch_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/store"
	"logstow/watch"
)

// The table may be deleted, and requests may conflict: early flushes go on after seconds.
func TestTemporaryFailures(t *testing.T) {
	t.Parallel()
	conflict := &store.Error{Op: "write to", Object: "table", Class: store.ErrExists}
	for name, fail := range map[string]func(*memory){
		"deleted": func(m *memory) {
			m.mu.Lock()
			defer m.mu.Unlock()
			clear(m.tables)
		},
		"conflict": func(m *memory) {
			m.fail(nil, conflict)
			time.Sleep(20 * time.Second)
			m.fail(nil, nil)
		},
		"unreadable": func(m *memory) {
			m.fail(errors.New("status 409"), conflict)
			time.Sleep(20 * time.Second)
			m.fail(nil, nil)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, s := newMemory(), newSpool(time.Millisecond, "web")
			r := start(t)
			defer r.stop()
			f := r.flusher(m, s, "i", defaults)
			w, _ := r.watcher(m, "web")
			time.Sleep(time.Minute)
			fail(m)
			time.Sleep(20 * time.Second)
			before := len(s.flushes("web"))
			time.Sleep(time.Minute)
			if n := len(s.flushes("web")) - before; n < 28 || w.Status().Shippers != 1 {
				t.Errorf("%s: %d flushes in a minute, %+v, %+v", name, n, w.Status(), f.Stats())
			}
		})
	}
}

// Requests that hang do not let the watches expire: those that count shippers, and those for the services.
func TestHangingRequests(t *testing.T) {
	t.Parallel()
	for _, expanding := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, s := newMemory(), newSpool(time.Millisecond, "web")
			r := start(t)
			defer r.stop()
			r.flusher(m, s, "i", defaults)
			w := newWatcher(m)
			var hangs atomic.Bool
			w.Services = func(ctx context.Context) ([]string, error) {
				if hangs.Load() {
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}
				return []string{"web"}, nil
			}
			r.Go(func() { _ = w.Run(r.ctx, func() {}) })
			time.Sleep(time.Minute)
			if hangs.Store(expanding); !expanding {
				m.mu.Lock()
				m.hang = "shipper|"
				m.mu.Unlock()
			}
			before := len(s.flushes("web"))
			time.Sleep(10 * time.Minute)
			if n := len(s.flushes("web")) - before; n < 298 {
				t.Errorf("expanding %v: %d flushes in ten minutes", expanding, n)
			}
		})
	}
}

// partial are tables that write no watch of the service "bad", and others after a second.
type partial struct{ *memory }

func (p partial) Upsert(ctx context.Context, table string, entities []store.Entity) error {
	if strings.HasSuffix(entities[0].Partition, "bad") || strings.HasSuffix(entities[0].Row, "bad") {
		return errors.New("status 500")
	}
	select {
	case <-time.After(time.Second):
		return p.memory.Upsert(ctx, table, entities)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A service that cannot be watched does not end the watches of others.
func TestOneServiceFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newMemory(), newSpool(time.Millisecond, "web")
		r := start(t)
		defer r.stop()
		r.flusher(m, s, "i", defaults)
		w := newWatcher(m, "bad", "web")
		w.Tables = partial{m}
		r.Go(func() { _ = w.Run(r.ctx, func() {}) })
		time.Sleep(10 * time.Minute)
		if n := len(s.flushes("web")); n < 290 {
			t.Errorf("%d flushes in ten minutes", n)
		}
	})
}

// An outage ends early flushes, and the rate stays bounded while it comes and goes.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newMemory(), newSpool(time.Millisecond, "web")
		r := start(t)
		defer r.stop()
		f := r.flusher(m, s, "i", defaults)
		_, stop := r.watcher(m, "web")
		down := &store.Error{Op: "query", Object: "table", Class: store.ErrUnavailable}
		for range 100 {
			time.Sleep(13 * time.Second)
			m.fail(down, down)
			time.Sleep(7 * time.Second)
			m.fail(nil, nil)
		}
		if n := len(s.flushes("web")); n > 1001 || n < 500 {
			t.Errorf("%d flushes", n)
		}
		m.fail(down, down)
		began := time.Now()
		time.Sleep(time.Hour)
		if last := s.flushes("web"); last[len(last)-1].Sub(began) > watch.Lifetime || f.Stats().Failures < 600 {
			t.Errorf("flushed until %v after, %+v", last[len(last)-1].Sub(began), f.Stats())
		}
		if err := stop(); !errors.Is(err, store.ErrUnavailable) {
			t.Error(err)
		}
	})
}
