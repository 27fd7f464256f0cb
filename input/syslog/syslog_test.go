package syslog_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/syslog"
	"logstow/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps records; while closed it has no room.
type sink struct {
	mu      sync.Mutex
	change  chan struct{} // closed when records came
	closed  bool
	err     error
	records []record.Record
}

func newSink() *sink { return &sink{change: make(chan struct{})} }

func (s *sink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	for {
		s.mu.Lock()
		if s.err != nil || !s.closed {
			break
		}
		change := s.change
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-change:
		}
	}
	defer s.mu.Unlock()
	for _, r := range c.Records {
		r.Message = slices.Clone(r.Message)
		s.records = append(s.records, r)
	}
	s.changed()
	return 0, s.err
}

func (s *sink) changed() {
	close(s.change)
	s.change = make(chan struct{})
}

// set sets whether there is space, and the error.
func (s *sink) set(closed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.err = closed, err
	s.changed()
}

func (s *sink) Position(string) ([]byte, bool)     { return nil, false }
func (s *sink) Positions(string) []buffer.Position { return nil }

// Synced must not be called: syslog has no acknowledgements.
func (s *sink) Synced(context.Context, buffer.LSN) error { return errors.New("waited for a sync") }

// wait returns the records when there are n.
func (s *sink) wait(t testing.TB, n int) []record.Record {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		records, change := slices.Clone(s.records), s.change
		s.mu.Unlock()
		if len(records) >= n {
			return records
		}
		select {
		case <-change:
		case <-late:
			t.Fatalf("%d records came, want %d; the last: %q", len(records), n, messages(records[max(0, len(records)-3):]))
		}
	}
}

func messages(records []record.Record) []string {
	var out []string
	for _, r := range records {
		out = append(out, string(r.Message))
	}
	return out
}

// serve runs a server until the test ends; stop ends it sooner and returns Run's error.
func serve(t testing.TB, opts syslog.Options) (s *syslog.Server, stop func() error) {
	t.Helper()
	opts.Service = "test"
	s, err := syslog.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return s, stop
}

func dial(t testing.TB, s *syslog.Server) net.Conn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), s.Addr().Network(), s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func write(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func options(s *sink) input.Options { return input.Options{Sink: s, Stats: new(input.Stats)} }
