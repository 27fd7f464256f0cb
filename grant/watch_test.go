package grant_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/grant"
	"logstow/store"
	"logstow/watch"
)

// idle is a buffer with nothing in it.
type idle struct{}

func (idle) Services() []string                                  { return []string{"api"} }
func (idle) SetFollowed(string, bool)                            {}
func (idle) FlushService(context.Context, string) int            { return 0 }
func (idle) WaitStored(context.Context, string, time.Time) error { return nil }

// A grant does not include the table of watches: a shipper logs that once, and a watcher ends with an error that is not retried. Neither
// sends a request.
func TestGrantsHaveNoWatches(t *testing.T) {
	t.Parallel()
	s := owner(t)
	put(t, s, "api", "", time.Now(), "hello")
	for _, kind := range []grant.Kind{grant.Read, grant.Create} {
		limited := open(t, written(t, makeGrant(t, s, kind, "api")))
		w := watch.Watcher{Tables: limited.Tables(), Container: limited.Container(), Services: func(context.Context) ([]string, error) { return []string{"api"}, nil }}
		if err := w.Run(t.Context(), func() {}); err == nil || store.Retryable(err) {
			t.Errorf("kind %v: %v", kind, err)
		}
		synctest.Test(t, func(t *testing.T) {
			var logged bytes.Buffer
			f := watch.NewFlusher(watch.FlusherOptions{
				Instance: "i", Settings: watch.Settings{Interval: watch.DefaultInterval, MaxFlushes: 1}, Log: slog.New(slog.NewTextHandler(&logged, nil)),
				Stores: func(context.Context) []store.Store { return []store.Store{limited} },
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			f.Run(ctx, idle{})
			if n := strings.Count(logged.String(), "no watches: "); n != 1 || f.Stats().Failures == 0 {
				t.Errorf("kind %v: %+v, logged %q", kind, f.Stats(), logged.String())
			}
		})
	}
}
