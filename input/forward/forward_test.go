package forward_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"
	"go.uber.org/goleak"

	"logstow/buffer"
	"logstow/input"
	"logstow/input/forward"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps what it gets; while closed it has no room.
type sink struct {
	mu     sync.Mutex
	change chan struct{} // closed when something changed
	closed bool
	err    error
	lines  []string
	// appended and synced are the last LSNs.
	appended, synced buffer.LSN
	syncs            int
	// after is called after each append, if not nil.
	after func()
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
	if s.err != nil {
		return 0, s.err
	}
	for _, r := range c.Records {
		s.lines = append(s.lines, fmt.Sprintf("%s %s %s %s", time.Unix(0, r.Time).UTC().Format(time.RFC3339Nano), r.Level, r.Source, r.Message))
	}
	s.appended++
	if s.after != nil {
		s.after()
	}
	s.changed()
	return s.appended, nil
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

func (s *sink) Synced(_ context.Context, lsn buffer.LSN) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced = max(s.synced, lsn)
	s.syncs++
	return nil
}

// wait returns the lines when there are n.
func (s *sink) wait(t testing.TB, n int) []string {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		lines, change := slices.Clone(s.lines), s.change
		s.mu.Unlock()
		if len(lines) >= n {
			return lines
		}
		select {
		case <-change:
		case <-late:
			t.Fatalf("%d records came, want %d; the last: %.500q", len(lines), n, lines[max(0, len(lines)-3):])
		}
	}
}

// now is a little after the time of the records.
func now() time.Time { return time.Unix(1795000100, 0) }

func options(s *sink) input.Options {
	return input.Options{Service: "test", Sink: s, Stats: new(input.Stats), Now: now}
}

// serve runs a server until the test ends; stop ends it sooner and returns Run's error.
func serve(t testing.TB, opts forward.Options) (s *forward.Server, stop func() error) {
	t.Helper()
	opts.Address = ":0"
	s, err := forward.New(t.Context(), opts)
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

func dial(t testing.TB, s *forward.Server) net.Conn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

func write(t testing.TB, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

func pack(t testing.TB, v ...any) []byte {
	t.Helper()
	var all []byte
	for _, v := range v {
		b, err := msgpack.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

func zip(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// eventTime is the protocol's own type of time.
type eventTime struct{ second, nano uint32 }

func (e eventTime) EncodeMsgpack(enc *msgpack.Encoder) error {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{0xd7, 0}, e.second), e.nano)
	_, err := enc.Writer().Write(b)
	return err
}

const second = 1795000000

// event is an event with a time in nanoseconds.
func event(i int, record any) []any { return []any{eventTime{second, uint32(i)}, record} }

func text(s string) map[string]string { return map[string]string{"log": s} }

// acknowledged reads an acknowledgement.
func acknowledged(t testing.TB, c net.Conn, chunk string) {
	t.Helper()
	var got map[string]any
	if err := msgpack.NewDecoder(c).Decode(&got); err != nil {
		t.Fatalf("no acknowledgement of %s: %v", chunk, err)
	}
	if diff := cmp.Diff(map[string]any{"ack": chunk}, got); diff != "" {
		t.Errorf("acknowledgement (-want +got)\n%s", diff)
	}
}

func chunk(id string) map[string]any { return map[string]any{"chunk": id} }

func TestModes(t *testing.T) {
	t.Parallel()
	s := newSink()
	server, stop := serve(t, forward.Options{Options: options(s)})
	c := dial(t, server)
	compressed := func(id string) map[string]any {
		return map[string]any{"compressed": "gzip", "size": 2, "chunk": id}
	}
	send := map[string][]byte{
		"message":            pack(t, []any{"app", second, text("ERROR one"), chunk("message")}),
		"message-event-time": pack(t, []any{"app", eventTime{second, 7}, text("one"), chunk("message-event-time")}),
		"forward":            pack(t, []any{"app", []any{event(1, text("one")), event(2, text("two"))}, chunk("forward")}),
		"packed":             pack(t, []any{"app", pack(t, event(1, text("one")), event(2, text("two"))), chunk("packed")}),
		"packed-text":        pack(t, []any{"app", string(pack(t, event(1, text("one")), event(2, text("two")))), chunk("packed-text")}),
		"gzip":               pack(t, []any{"app", zip(t, pack(t, event(1, text("one")), event(2, text("two")))), compressed("gzip")}),
		"gzip-twice":         pack(t, []any{"app", append(zip(t, pack(t, event(1, text("one")))), zip(t, pack(t, event(2, text("two"))))...), compressed("gzip-twice")}),
		"empty":              pack(t, []any{"app", []any{}, chunk("empty")}),
		"empty-packed":       pack(t, []any{"app", []byte{}, compressed("empty-packed")}),
	}
	two := []string{"2026-11-18T11:06:40.000000001Z - app one", "2026-11-18T11:06:40.000000002Z - app two"}
	want := map[string][]string{
		"message": {"2026-11-18T11:06:40Z ERROR app ERROR one"}, "message-event-time": {"2026-11-18T11:06:40.000000007Z - app one"},
		"forward": two, "packed": two, "packed-text": two, "gzip": two, "gzip-twice": two, "empty": nil, "empty-packed": nil,
	}
	for name, b := range send {
		s.mu.Lock()
		s.lines = nil
		s.mu.Unlock()
		write(t, c, b[:len(b)/2])
		write(t, c, b[len(b)/2:])
		acknowledged(t, c, name)
		if diff := cmp.Diff(want[name], s.wait(t, 0)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if s.synced != s.appended {
			t.Errorf("%s: acknowledged %d, %d were durable", name, s.appended, s.synced)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := server.Stats(); got != (forward.Stats{Connections: 1}) {
		t.Errorf("%+v", got)
	}
}

// Without a chunk nothing is answered, and nothing is waited for; nil keeps a connection alive.
func TestNoChunk(t *testing.T) {
	t.Parallel()
	s := newSink()
	server, _ := serve(t, forward.Options{Options: options(s)})
	c := dial(t, server)
	b := slices.Concat(pack(t, nil), pack(t, []any{"a", second, text("one")}), pack(t, []any{"a", second, text("two"), nil}),
		pack(t, nil), pack(t, []any{"b", []any{event(0, text("three"))}, map[string]any{"size": 1}}), pack(t, []any{"c", second, text("four"), chunk("last")}))
	write(t, c, b)
	acknowledged(t, c, "last")
	want := []string{
		"2026-11-18T11:06:40Z - a one", "2026-11-18T11:06:40Z - a two", "2026-11-18T11:06:40Z - b three", "2026-11-18T11:06:40Z - c four",
	}
	if diff := cmp.Diff(want, s.wait(t, 4)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if s.synced != s.appended {
		t.Error("the last was not synced")
	}
}
