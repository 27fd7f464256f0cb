package stdin_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/multiline"
	"logstow/input/stdin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink collects lines as "source: message" and signals when it got some.
type sink struct {
	mu    sync.Mutex
	lines []string
	// chunks counts the calls of Append.
	chunks int
	got    chan struct{}
}

func newSink() *sink { return &sink{got: make(chan struct{}, 1)} }

func (s *sink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunks++
	for _, r := range c.Records {
		s.lines = append(s.lines, r.Source+": "+string(r.Message))
	}
	select {
	case s.got <- struct{}{}:
	default:
	}
	return 0, nil
}

func (s *sink) Position(string) ([]byte, bool)           { return nil, false }
func (s *sink) Positions(string) []buffer.Position       { return nil }
func (s *sink) Synced(context.Context, buffer.LSN) error { return nil }

func (s *sink) options() input.Options { return input.Options{Service: "x", Sink: s} }

func TestRunToTheEnd(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"plain": func(r io.Reader) io.Reader { return r },
		"bytes": iotest.OneByteReader,
		"eof":   iotest.DataErrReader,
	} {
		s := newSink()
		if err := stdin.Run(t.Context(), wrap(strings.NewReader("one\ntwo\r\n\nlast")), s.options()); err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff([]string{"stdin: one", "stdin: two\r", "stdin: ", "stdin: last"}, s.lines); diff != "" {
			t.Error(name, diff)
		}
	}
}

// Each read is one chunk, with the beginning of the line that the read before ended in.
func TestRunLines(t *testing.T) {
	t.Parallel()
	s := newSink()
	text := strings.Repeat(strings.Repeat("x", 1000)+"\n", 5000)
	if err := stdin.Run(t.Context(), strings.NewReader(text), s.options()); err != nil {
		t.Fatal(err)
	}
	if len(s.lines) != 5000 {
		t.Errorf("%d lines", len(s.lines))
	}
	if most := len(text)/(200<<10) + 1; s.chunks > most {
		t.Errorf("%d chunks, want at most %d", s.chunks, most)
	}
}

func TestRunStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testRunStops)
}

func testRunStops(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close() // lets the waiting read end
	s := newSink()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- stdin.Run(ctx, r, s.options()) }()
	if _, err := io.WriteString(w, "one\n"); err != nil {
		t.Fatal(err)
	}
	<-s.got
	if _, err := io.WriteString(w, "begun"); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it did not stop")
	}
	if diff := cmp.Diff([]string{"stdin: one", "stdin: begun"}, s.lines); diff != "" {
		t.Error(diff)
	}
}

// What may go on is handed over when nothing follows, though the stream goes on.
func TestRunFlushes(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	s := newSink()
	opts := s.options()
	opts.Lines.Multiline = multiline.Options{Auto: true, Timeout: time.Millisecond}
	done := make(chan error, 1)
	go func() { done <- stdin.Run(t.Context(), r, opts) }()
	for _, text := range []string{"ERROR one\njava.lang.Error: x\n", "\tat a.b.C(D.java:1)\n"} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.got:
		case <-time.After(time.Minute):
			t.Fatal("what was written is still held")
		}
	}
	w.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"stdin: ERROR one", "stdin: java.lang.Error: x", "stdin: \tat a.b.C(D.java:1)"}, s.lines); diff != "" {
		t.Error(diff)
	}
}

// endless never ends and never waits.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, "again\n"), nil }

func TestRunStopsAnEndlessStream(t *testing.T) {
	t.Parallel()
	s := newSink()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- stdin.Run(ctx, endless{}, s.options()) }()
	<-s.got
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it did not stop")
	}
}

func TestRunReadError(t *testing.T) {
	t.Parallel()
	s, broken := newSink(), errors.New("broken")
	err := stdin.Run(t.Context(), io.MultiReader(strings.NewReader("one\ntwo"), iotest.ErrReader(broken)), s.options())
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"stdin: one", "stdin: two"}, s.lines); diff != "" {
		t.Error(diff)
	}
}
