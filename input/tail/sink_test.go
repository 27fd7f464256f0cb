package tail_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/tail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink collects records and positions, as a buffer does.
type sink struct {
	mu        sync.Mutex
	lines     []string // "source: message"
	positions map[string][]byte
	// got has a value after an Append of records.
	got chan struct{}
}

func newSink() *sink {
	return &sink{positions: make(map[string][]byte), got: make(chan struct{}, 1)}
}

func (s *sink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range c.Records {
		s.lines = append(s.lines, r.Source+": "+string(r.Message))
	}
	for _, p := range c.Positions {
		if len(p.Value) == 0 {
			delete(s.positions, p.Input)
		} else {
			s.positions[p.Input] = slices.Clone(p.Value)
		}
	}
	if len(c.Records) > 0 {
		select {
		case s.got <- struct{}{}:
		default:
		}
	}
	return 0, nil
}

func (s *sink) Position(input string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.positions[input]
	return v, ok
}

func (s *sink) Synced(context.Context, buffer.LSN) error { return nil }

func (s *sink) Positions(prefix string) []buffer.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []buffer.Position
	for input, value := range s.positions {
		if strings.HasPrefix(input, prefix) {
			all = append(all, buffer.Position{Input: input, Value: value})
		}
	}
	return all
}

// take returns the lines since the last call.
func (s *sink) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

// newTailer makes a Tailer of service x.
func newTailer(t *testing.T, s *sink, opts tail.Options) *tail.Tailer {
	t.Helper()
	opts.Options = input.Options{Service: "x", Sink: s, Log: opts.Log, Now: opts.Now, Lines: opts.Lines, Stats: opts.Stats}
	tailer, err := tail.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return tailer
}

// put writes files below dir, in the order given: name, content, name, content, …
func put(t *testing.T, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// add appends to a file.
func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
