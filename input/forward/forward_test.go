package forward_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"
	"go.uber.org/goleak"

	"logstow/input"
	"logstow/input/forward"
	"logstow/internal/test/inputtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines are the time, level, source and message of records.
func lines(records []inputtest.Record) (all []string) {
	for _, r := range records {
		all = append(all, fmt.Sprintf("%s %s %s %s", time.Unix(0, r.Time).UTC().Format(time.RFC3339Nano), r.Level, r.Source, r.Message))
	}
	return all
}

// checkDurable checks that all records are durable when they have been acknowledged.
func checkDurable(t testing.TB, s *inputtest.Sink) {
	t.Helper()
	if appended, synced, _ := s.Syncs(); synced != appended {
		t.Errorf("%d of %d appends were durable when they were acknowledged", synced, appended)
	}
}

func options(s input.Sink) input.Options {
	return input.Options{Service: "test", Sink: s, Stats: new(input.Stats), Now: inputtest.Now}
}

// serve runs a server until the test ends; stop ends it sooner and returns Run's error.
func serve(t testing.TB, opts forward.Options) (s *forward.Server, stop func() error) {
	t.Helper()
	opts.Address = ":0"
	s, err := forward.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return s, inputtest.Run(t, s)
}

func dial(t testing.TB, s *forward.Server) net.Conn {
	t.Helper()
	c := inputtest.Dial(t, s.Addr())
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	return c
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
	s := inputtest.NewSink()
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
		"gzip":               pack(t, []any{"app", inputtest.Gzip(t, pack(t, event(1, text("one")), event(2, text("two")))), compressed("gzip")}),
		"gzip-twice":         pack(t, []any{"app", append(inputtest.Gzip(t, pack(t, event(1, text("one")))), inputtest.Gzip(t, pack(t, event(2, text("two"))))...), compressed("gzip-twice")}),
		"empty":              pack(t, []any{"app", []any{}, chunk("empty")}),
		"empty-packed":       pack(t, []any{"app", []byte{}, compressed("empty-packed")}),
	}
	two := []string{"2026-11-18T11:06:40.000000001Z - app one", "2026-11-18T11:06:40.000000002Z - app two"}
	want := map[string][]string{
		"message": {"2026-11-18T11:06:40Z ERROR app ERROR one"}, "message-event-time": {"2026-11-18T11:06:40.000000007Z - app one"},
		"forward": two, "packed": two, "packed-text": two, "gzip": two, "gzip-twice": two, "empty": nil, "empty-packed": nil,
	}
	for name, b := range send {
		s.Take()
		inputtest.Write(t, c, b[:len(b)/2])
		inputtest.Write(t, c, b[len(b)/2:])
		acknowledged(t, c, name)
		if diff := cmp.Diff(want[name], lines(s.Wait(t, 0))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		checkDurable(t, s)
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
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s)})
	c := dial(t, server)
	b := slices.Concat(pack(t, nil), pack(t, []any{"a", second, text("one")}), pack(t, []any{"a", second, text("two"), nil}),
		pack(t, nil), pack(t, []any{"b", []any{event(0, text("three"))}, map[string]any{"size": 1}}), pack(t, []any{"c", second, text("four"), chunk("last")}))
	inputtest.Write(t, c, b)
	acknowledged(t, c, "last")
	want := []string{
		"2026-11-18T11:06:40Z - a one", "2026-11-18T11:06:40Z - a two", "2026-11-18T11:06:40Z - b three", "2026-11-18T11:06:40Z - c four",
	}
	if diff := cmp.Diff(want, lines(s.Wait(t, 4))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	checkDurable(t, s)
}
