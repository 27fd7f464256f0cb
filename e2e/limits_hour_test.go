package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/effort"
)

// The bounds of time that docs/limits.md states, which are all an hour, and how much later they may end.
const (
	anHour     = time.Hour
	hourMargin = 2 * time.Minute
)

// after checks that something ended an hour after it began.
func after(t *testing.T, what string, began time.Time) {
	t.Helper()
	took := time.Since(began)
	t.Logf("%s ended after %v", what, took)
	if took < anHour-time.Second || took > anHour+hourMargin {
		t.Errorf("%s ended after %v, want an hour", what, took)
	}
}

// An idle connection of Fluent Forward and a live tail end after an hour, and the key of a request is not recognized any more.
func TestLongHour(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Long, "takes an hour")
	in := newReceiving(t, receiveConnections)
	t.Run("forward", func(t *testing.T) {
		t.Parallel()
		c := dial(t, "tcp", in.forward)
		began := time.Now()
		if err := c.SetReadDeadline(began.Add(anHour + 2*hourMargin)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("%d bytes, error %v", n, err)
		}
		after(t, "an idle connection", began)
	})
	t.Run("key", func(t *testing.T) {
		t.Parallel()
		repeated := func() float64 {
			return metric(t, in.metrics, `logstow_input_repeated_requests_total{address="127.0.0.1:0",input="http",service="crash"}`)
		}
		send := func(want float64) {
			t.Helper()
			if status := in.post(t, []byte("a line\n"), "Idempotency-Key", "once"); status != http.StatusNoContent {
				t.Errorf("status %d", status)
			}
			if got := repeated(); got != want {
				t.Errorf("%.0f requests were recognized, want %.0f", got, want)
			}
		}
		send(0)
		send(1)
		select {
		case <-time.After(anHour + time.Minute):
		case <-t.Context().Done():
		}
		send(1)
	})
	t.Run("tail", func(t *testing.T) {
		t.Parallel()
		if status := in.post(t, []byte("a line\n")); status != http.StatusNoContent {
			t.Errorf("status %d", status)
		}
		await.Until(t, patience, "the line is stored", func() bool {
			return strings.HasPrefix(string(in.command(t, nil, "logq", "services").out), "crash")
		})
		s := in.serve(t)
		ctx, cancel := context.WithTimeout(t.Context(), anHour+2*hourMargin)
		defer cancel()
		conn, err := s.follow(t, "query", `{service_name="nobody"}`)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for err == nil {
			_, _, err = conn.Read(ctx)
		}
		after(t, "a live tail", began)
	})
}
