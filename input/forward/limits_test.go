package forward_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/test/heap"

	"logstow/input/forward"
	"logstow/input/listen"
	"logstow/internal/test/inputtest"
)

// closed reads until the server closes the connection, and returns what came.
func closed(t testing.TB, c net.Conn) []byte {
	t.Helper()
	rest, err := io.ReadAll(c)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatal("the connection was not closed")
	}
	return rest
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	opts := options(s)
	opts.MaxRecord = 4096
	server, _ := serve(t, forward.Options{Options: opts})
	good := event(0, text("one"))
	deep := any("x")
	for range 70 {
		deep = []any{deep}
	}
	bomb := bytes.Repeat(inputtest.Gzip(t, pack(t, event(0, text(strings.Repeat("x", 8<<20))))), 17)
	gzipped := map[string]any{"chunk": "a", "compressed": "gzip"}
	all := map[string][]byte{
		"HTTP":                  []byte("GET / HTTP/1.1\r\n\r\n"),
		"TLS":                   {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
		"no msgpack":            {0xc1},
		"a number":              pack(t, 1),
		"a map":                 pack(t, text("a")),
		"too short":             pack(t, []any{"a"}),
		"no record":             pack(t, []any{"a", second}),
		"tag is none":           pack(t, []any{1, second, text("a"), chunk("a")}),
		"options are none":      pack(t, []any{"a", second, text("a"), "chunk"}),
		"compression":           pack(t, []any{"a", []byte{1}, map[string]any{"chunk": "a", "compressed": "lz4"}}),
		"event is none":         pack(t, []any{"a", []any{1}, chunk("a")}),
		"event is short":        pack(t, []any{"a", []any{[]any{second}}, chunk("a")}),
		"packed event is none":  pack(t, []any{"a", []byte("plain text"), chunk("a")}),
		"packed ends too early": pack(t, []any{"a", pack(t, good)[:5], chunk("a")}),
		"no gzip":               pack(t, []any{"a", []byte("plain text"), gzipped}),
		"gzip is cut":           pack(t, []any{"a", inputtest.Gzip(t, pack(t, good, good))[:20], gzipped}),
		"gzip of nonsense":      pack(t, []any{"a", inputtest.Gzip(t, bytes.Repeat([]byte{0}, 1<<20)), gzipped}),
		"gzip bomb":             pack(t, []any{"a", bomb, gzipped}),
		"too deep":              pack(t, []any{"a", second, deep, chunk("a")}),
		"packed too deep":       pack(t, []any{"a", pack(t, []any{second, deep}), chunk("a")}),
		"too long":              {0x93, 0xa1, 'a', 0xc6, 0x7f, 0xff, 0xff, 0xff},
		"too many":              {0x93, 0xa1, 'a', 0xdd, 0xff, 0xff, 0xff, 0xff},
	}
	for name, b := range all {
		c := dial(t, server)
		_, _ = c.Write(b) // it may be closed before the end
		if got := closed(t, c); len(got) > 0 {
			t.Errorf("%s: answered with %q", name, got)
		}
	}
	if got := server.Stats(); got.Malformed != int64(len(all)) {
		t.Errorf("%+v, want %d malformed", got, len(all))
	}
	c := dial(t, server)
	inputtest.Write(t, c, pack(t, []any{"app", second, text("fine"), chunk("a")}))
	acknowledged(t, c, "a")
}

// Connections that end without or within a message, and one half of which ends.
func TestEnds(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s)})
	b := pack(t, []any{"app", second, text("one"), chunk("a")})
	c := dial(t, server) // as a heartbeat
	_ = c.Close()
	c = dial(t, server)
	inputtest.Write(t, c, b[:10])
	_ = c.Close()
	c = dial(t, server)
	inputtest.Write(t, c, b[:10])
	_ = c.(*net.TCPConn).CloseWrite()
	if rest := closed(t, c); len(rest) > 0 {
		t.Errorf("%q", rest)
	}
	c = dial(t, server)
	inputtest.Write(t, c, b)
	_ = c.(*net.TCPConn).CloseWrite()
	acknowledged(t, c, "a")
	if got := lines(s.Wait(t, 1)); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// The time for a message does not begin again with each of its bytes.
func TestSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, dial := servePipes(t, forward.Options{Endpoint: listen.Endpoint{MessageTimeout: 200 * time.Millisecond}})
		b := pack(t, []any{"app", second, text(strings.Repeat("x", 1000)), chunk("a")})
		c, began := dial(), time.Now()
		var took time.Duration
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for _, one := range b { // a byte now and then does not help
				time.Sleep(10 * time.Millisecond)
				if _, err := c.Write([]byte{one}); err != nil {
					took = time.Since(began)
					return
				}
			}
		}()
		if rest := closed(t, c); len(rest) > 0 {
			t.Errorf("%q", rest)
		}
		<-ended
		if took == 0 || took > 300*time.Millisecond {
			t.Errorf("it ended after %v", took)
		}
		if got := server.Stats(); got.Slow != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// A connection on which nothing is sent ends, and is not a slow one.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, dial := servePipes(t, forward.Options{Endpoint: listen.Endpoint{IdleTimeout: 100 * time.Millisecond}})
		began := time.Now()
		if got := closed(t, dial()); len(got) > 0 {
			t.Errorf("%q", got)
		}
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("it ended after %v", took)
		}
		if got := server.Stats(); got.Slow != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// servePipes runs a server in a synctest bubble.
func servePipes(t *testing.T, opts forward.Options) (s *forward.Server, dial func() net.Conn) {
	t.Helper()
	opts.Options, opts.Address = options(inputtest.NewSink()), ":0"
	s, err := forward.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	pipes := inputtest.NewPipes()
	s.Listen(pipes)
	inputtest.Run(t, s)
	return s, func() net.Conn {
		t.Helper()
		c, err := pipes.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// Many connections with long messages that do not end: what they hold stays within
// bounds, and another one's messages are taken.
func TestHeldMemory(t *testing.T) { //nolint:paralleltest // it measures the heap
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s)})
	before := heap.Live()
	part := append([]byte{0x93, 0xa1, 'a', 0xc6, 0, 0xff, 0xff, 0}, make([]byte, 12<<20)...)
	var all []net.Conn
	var ends []chan error
	for range 20 {
		c := dial(t, server)
		all = append(all, c)
		end := make(chan error, 1)
		ends = append(ends, end)
		go func() {
			_, err := c.Write(part)
			end <- err
		}()
	}
	for i := range 20 {
		id := strings.Repeat("i", i+1)
		c := dial(t, server)
		inputtest.Write(t, c, pack(t, []any{"app", second, text("small"), chunk(id)}))
		acknowledged(t, c, id)
	}
	if grown := heap.Live() - before; grown > 100<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	for _, c := range all {
		_ = c.SetWriteDeadline(time.Now().Add(2 * time.Second)) // those that are served need less
	}
	refused := 0
	for i, end := range ends {
		if err := <-end; err != nil {
			refused++
		}
		_ = all[i].Close()
	}
	if refused == 0 {
		t.Error("all connections were served: that is more than they may hold")
	}
}

// A connection gives back what it held, message by message.
func TestGivesBack(t *testing.T) {
	t.Parallel()
	s := inputtest.NewSink()
	server, _ := serve(t, forward.Options{Options: options(s)})
	event := pack(t, event(0, text(strings.Repeat("x", 900<<10))))
	packed := slices.Repeat(event, 10)
	for range 12 {
		c := dial(t, server)
		for _, m := range []any{
			[]any{"app", packed, chunk("a")},
			[]any{"app", inputtest.Gzip(t, packed), map[string]any{"chunk": "a", "compressed": "gzip"}},
		} {
			s.Take()
			inputtest.Write(t, c, pack(t, m))
			acknowledged(t, c, "a")
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]forward.Options{
		"shared key":        {Spec: forward.Spec{Users: map[string]string{"a": "b"}}, Endpoint: listen.Endpoint{Address: ":0"}},
		"at least 67108864": {MaxMemory: 1, Endpoint: listen.Endpoint{Address: ":0"}},
		"listen on ":        {Endpoint: listen.Endpoint{Address: "127.0.0.1:none"}},
		"certificate":       {Endpoint: listen.Endpoint{Address: ":0", TLS: listen.TLS{Cert: "none"}}},
	} {
		opts.Options = options(inputtest.NewSink())
		if _, err := forward.New(t.Context(), opts); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s, err := forward.New(t.Context(), forward.Options{Options: options(inputtest.NewSink()), Endpoint: listen.Endpoint{Address: ":0"}})
	if err != nil {
		t.Fatal(err)
	}
	if host, _, err := net.SplitHostPort(s.Addr().String()); err != nil || host != "127.0.0.1" {
		t.Errorf("%v %v", s.Addr(), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
