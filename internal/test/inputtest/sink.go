// Package inputtest has what tests of inputs share: a sink, a server, and clients.
package inputtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"logstow/buffer"
	"logstow/internal/event"
	"logstow/record"
)

// waitTimeout is how long [Sink.Wait] waits.
const waitTimeout = 2 * time.Minute

// Record is a record of a service.
type Record struct {
	record.Record
	Service string
}

// String is the service, time, level, source in brackets, attributes if there are any, and message.
func (r Record) String() string {
	attributes := r.Attributes
	if len(attributes) > 0 {
		attributes = append(slices.Clip(attributes), ' ')
	}
	return fmt.Sprintf("%s %s %s [%s] %s%s", r.Service, time.Unix(0, r.Time).UTC().Format(time.RFC3339Nano), r.Level, r.Source,
		attributes, r.Message)
}

// Messages are the messages of records.
func Messages(records []Record) (all []string) {
	for _, r := range records {
		all = append(all, string(r.Message))
	}
	return all
}

// Sink is an [input.Sink] that keeps the records. The zero value is not valid. Safe for concurrent use.
type Sink struct {
	// Unacknowledged makes Synced fail: the protocol has no acknowledgements that must wait for it.
	Unacknowledged bool

	mu      sync.Mutex
	changed event.Event
	full    bool
	// err is the error for the records of the service failing, "" is all.
	err     error
	failing string
	records []Record
	// appended and synced are the last LSNs.
	appended, synced buffer.LSN
	syncs            int
}

// NewSink makes a Sink.
func NewSink() *Sink { return &Sink{} }

// Append keeps the records. It waits while the sink is full.
func (s *Sink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	for {
		s.mu.Lock()
		if s.err != nil && (s.failing == "" || s.failing == c.Service) {
			defer s.mu.Unlock()
			return 0, s.err
		}
		if !s.full {
			break
		}
		changed := s.changed.Next()
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-changed:
		}
	}
	defer s.mu.Unlock()
	for _, r := range c.Records {
		r.Attributes, r.Message = slices.Clone(r.Attributes), slices.Clone(r.Message)
		s.records = append(s.records, Record{r, c.Service})
	}
	s.appended++
	s.changed.Notify()
	return s.appended, nil
}

// SetFull sets whether Append waits.
func (s *Sink) SetFull(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
	s.changed.Notify()
}

// Fail sets the error of Append for one service, or for all if service is ""; nil ends it.
func (s *Sink) Fail(service string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing, s.err = service, err
	s.changed.Notify()
}

// Position implements [input.Sink]: there are none.
func (s *Sink) Position(string) ([]byte, bool) { return nil, false }

// Positions implements [input.Sink]: there are none.
func (s *Sink) Positions(string) []buffer.Position { return nil }

// Synced notes up to where records are durable.
func (s *Sink) Synced(_ context.Context, lsn buffer.LSN) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced, s.syncs = max(s.synced, lsn), s.syncs+1
	if s.Unacknowledged {
		return errors.New("waited for a sync")
	}
	return nil
}

// Syncs returns the number of appends, that up to which Synced waited, and how often it did.
func (s *Sink) Syncs() (appended, synced buffer.LSN, syncs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appended, s.synced, s.syncs
}

// Wait returns the records when there are n.
func (s *Sink) Wait(t testing.TB, n int) []Record {
	t.Helper()
	late := time.After(waitTimeout)
	for {
		s.mu.Lock()
		records, changed := slices.Clone(s.records), s.changed.Next()
		s.mu.Unlock()
		if len(records) >= n {
			return records
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%d records came, want %d; the last: %.500q", len(records), n, Messages(records[max(0, len(records)-3):]))
		}
	}
}

// Take returns the records since the last Take.
func (s *Sink) Take() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.records = nil }()
	return s.records
}

// TakeLines is Take with [Record.String].
func (s *Sink) TakeLines() (all []string) {
	for _, r := range s.Take() {
		all = append(all, r.String())
	}
	return all
}

// Discard is an [input.Sink] that keeps nothing.
type Discard struct{}

// Append implements [input.Sink].
func (Discard) Append(context.Context, buffer.Chunk) (buffer.LSN, error) { return 0, nil }

// Position implements [input.Sink].
func (Discard) Position(string) ([]byte, bool) { return nil, false }

// Positions implements [input.Sink].
func (Discard) Positions(string) []buffer.Position { return nil }

// Synced implements [input.Sink].
func (Discard) Synced(context.Context, buffer.LSN) error { return nil }
