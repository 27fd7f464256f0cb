package buffer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
)

// One service is flushed; the batches of the others stay open.
func TestFlushService(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"memory": "", "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, buffer.Options{Dir: dir})
			mustAppend(t, b, buffer.Chunk{Positions: []buffer.Position{{Input: "files:*", Value: []byte("1")}}})
			other := chunk(rec(noon, "other"))
			other.Service = "db"
			audit := chunk(rec(noon, "audit"))
			audit.Class = "audit"
			mustAppend(t, b, chunk(rec(noon, "a")))
			mustAppend(t, b, audit)
			mustAppend(t, b, other)
			if got := b.Services(); !slices.Equal(got, []string{"db", "web"}) {
				t.Errorf("services %q", got)
			}
			for service, want := range map[string]int{"web": 2, "unknown": 0} {
				if n := b.FlushService(t.Context(), service); n != want {
					t.Errorf("%s: %d batches, want %d", service, n, want)
				}
			}
			if n := b.FlushService(t.Context(), "web"); n != 0 {
				t.Errorf("%d batches of nothing", n)
			}
			if s := b.Stats(); s.Open != 1 || s.Waiting != 2 {
				t.Errorf("%d open, %d waiting", s.Open, s.Waiting)
			}
			for range 2 {
				if got := next(t, b); got.Service != "web" {
					t.Errorf("batch of %s", got.Service)
				}
			}
		})
	}
}

// What was appended before a time is waited for, through each state of its batch; later records and other services are not.
func TestWaitStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, buffer.Options{})
		stored := func(before time.Time) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return b.WaitStored(ctx, "web", before)
		}
		began := time.Now()
		if err := stored(began); err != nil {
			t.Error(err)
		}
		mustAppend(t, b, chunk(rec(noon, "a")))
		time.Sleep(time.Second)
		if err := stored(time.Now()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("open: %v", err)
		}
		if err := stored(began); err != nil {
			t.Errorf("before the record: %v", err)
		}
		b.FlushService(t.Context(), "web")
		if err := stored(time.Now()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("sealed: %v", err)
		}
		batch := next(t, b)
		if err := stored(time.Now()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("in flight: %v", err)
		}
		other := chunk(rec(noon, "b"))
		other.Service = "db"
		mustAppend(t, b, other)
		flushed := time.Now()
		time.Sleep(time.Second)
		mustAppend(t, b, chunk(rec(noon, "later")))
		ended := make(chan error, 1)
		go func() { ended <- b.WaitStored(t.Context(), "web", flushed) }()
		synctest.Wait()
		if err := batch.SetName("store", "name"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case err := <-ended:
			t.Errorf("ended before the batch was stored: %v", err)
		default:
		}
		if err := batch.DoneWithEntity("etag"); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
