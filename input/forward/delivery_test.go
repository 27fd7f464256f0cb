package forward_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"logstow/buffer"
	"logstow/input/forward"
	"logstow/internal/test/inputtest"
)

// While the buffer has no room nothing is acknowledged and the connection ends;
// the same message sent again is taken once.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	s.SetFull(true)
	server, _ := serve(t, forward.Options{Options: options(s)})
	b := pack(t, []any{"app", second, text("one"), chunk("a")})
	c := dial(t, server)
	inputtest.Write(t, c, b)
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Errorf("%q %v, want the end of the connection", rest, err)
	}
	s.SetFull(false)
	for range 3 {
		c = dial(t, server)
		inputtest.Write(t, c, b)
		acknowledged(t, c, "a")
	}
	if got := lines(s.Wait(t, 1)); len(got) != 1 {
		t.Errorf("%q", got)
	}
	if got := server.Stats(); got.Busy != 1 || got.Repeated != 2 {
		t.Errorf("%+v", got)
	}
}

// A sender that requests no acknowledgement is not read from while there is no space.
func TestPressure(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	s.SetFull(true)
	server, _ := serve(t, forward.Options{Options: options(s)})
	c := dial(t, server)
	const count = 300
	line := strings.Repeat("x", 100<<10) // more than sockets hold
	message := pack(t, []any{"app", second, text(line)})
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(bytes.Repeat(message, count))
		sent <- errors.Join(err, c.Close())
	}()
	select {
	case err := <-sent:
		t.Fatalf("the sender did not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	s.SetFull(false)
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if got := lines(s.Wait(t, count)); len(got) != count {
		t.Errorf("%d came", len(got))
	}
}

// fillingSink is full after its first append.
type fillingSink struct {
	*inputtest.Sink
	once sync.Once
}

func (s *fillingSink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	lsn, err := s.Sink.Append(ctx, c)
	s.once.Do(func() { s.SetFull(true) })
	return lsn, err
}

// A large message is taken in several pieces. What was taken of it is not taken
// again when the rest found no room, and the rest is of the groups that began before.
func TestPieces(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(&fillingSink{Sink: s})})
	const count = 100_000
	var packed []byte
	for i := range count {
		if i%1000 == 0 {
			packed = append(packed, pack(t, begin(ordered{"scope", ordered{"version", fmt.Sprint(i / 1000)}}))...)
		}
		packed = append(packed, pack(t, event(i, text(fmt.Sprint("line ", i))))...)
	}
	b := pack(t, []any{"app", inputtest.Gzip(t, packed), map[string]any{"chunk": "a", "compressed": "gzip"}})
	c := dial(t, server)
	inputtest.Write(t, c, b)
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
	if n := len(lines(s.Wait(t, 1))); n >= count {
		t.Fatalf("%d were taken at once", n)
	}
	s.SetFull(false)
	c = dial(t, server)
	inputtest.Write(t, c, b)
	acknowledged(t, c, "a")
	records := s.Wait(t, count)
	got := lines(records)
	if len(got) != count {
		t.Errorf("%d came", len(got))
	}
	for i, line := range got {
		if want := fmt.Sprintf(`{"scope_version":"%d"}`, i/1000); string(records[i].Attributes) != want {
			t.Fatalf("%d: %s, want %s", i, records[i].Attributes, want)
		}
		if !strings.HasSuffix(line, fmt.Sprint("app line ", i)) {
			t.Fatalf("%d: %q", i, line)
		}
	}
}

// Messages that come one behind the other are made durable together, and acknowledged in their order.
func TestTogether(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s)})
	c := dial(t, server)
	const count = 5000
	var all []byte
	for i := range count {
		all = append(all, pack(t, []any{"app", event(i, nil)[0], text("x"), chunk(fmt.Sprint(i))})...)
	}
	go func() { _, _ = c.Write(all) }()
	d := msgpack.NewDecoder(c)
	for i := range count {
		var ack map[string]string
		if err := d.Decode(&ack); err != nil || ack["ack"] != fmt.Sprint(i) {
			t.Fatalf("%d: %q %v", i, ack, err)
		}
	}
	appended, synced, syncs := s.Syncs()
	if n := len(s.Take()); n != count || synced != appended || syncs > count/20 {
		t.Errorf("%d came in %d pieces, %d durable after %d syncs", n, appended, synced, syncs)
	}
}

// What was taken is acknowledged, though what follows is not the protocol.
func TestTrailingGarbage(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s)})
	c := dial(t, server)
	inputtest.Write(t, c, append(pack(t, []any{"app", second, text("one"), chunk("a")}), "GET / HTTP/1.1\r\n\r\n"...))
	if got := closed(t, c); !bytes.Equal(got, pack(t, map[string]string{"ack": "a"})) {
		t.Errorf("%q", got)
	}
}

// Two connections with the same message: the second waits for what becomes of the first.
func TestSameTime(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s)})
	b := pack(t, []any{"app", []any{event(1, text("one")), event(2, text("two"))}, chunk("a")})
	var all sync.WaitGroup
	for range 20 {
		c := dial(t, server)
		all.Go(func() {
			inputtest.Write(t, c, b)
			acknowledged(t, c, "a")
		})
	}
	all.Wait()
	if got := lines(s.Wait(t, 2)); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// Another chunk with the same events is another message.
func TestOtherChunk(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s)})
	c := dial(t, server)
	for i := range 1100 { // more than are remembered
		id := fmt.Sprint("chunk ", i)
		inputtest.Write(t, c, pack(t, []any{"app", second, text("one"), chunk(id)}))
		acknowledged(t, c, id)
	}
	if got := lines(s.Wait(t, 1100)); len(got) != 1100 {
		t.Errorf("%d came", len(got))
	}
}

// An error of the sink ends the server, and nothing is acknowledged.
func TestSinkError(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]any{"chunk": chunk("a"), "no chunk": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inputtest.NewSink()
			s.Fail("", buffer.ErrClosed)
			server, stop := serve(t, forward.Options{Options: options(s)})
			c := dial(t, server)
			inputtest.Write(t, c, pack(t, []any{"app", second, text("one"), option}))
			if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
				t.Errorf("%q %v", rest, err)
			}
			if err := stop(); !errors.Is(err, buffer.ErrClosed) {
				t.Error(err)
			}
		})
	}
}

// The end while the buffer has no space: no acknowledgement, and no error where one was requested.
func TestEndBusy(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	server, stop := serve(t, forward.Options{Options: options(s)})
	c := dial(t, server)
	inputtest.Write(t, c, pack(t, []any{"app", second, text("one"), chunk("a")}))
	acknowledged(t, c, "a")
	s.SetFull(true)
	inputtest.Write(t, c, pack(t, []any{"app", second, text("two"), chunk("b")}))
	if err := stop(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(c); err == nil && len(rest) > 0 {
		t.Errorf("%q", rest)
	}
	if diff := cmp.Diff([]string{"2026-11-18T11:06:40Z - app one"}, lines(s.Wait(t, 1))); diff != "" {
		t.Error(diff)
	}
}
