package loki_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"logstow/serve/loki"
)

// following is a server with a connection that follows the records of a query.
func following(t *testing.T, f *fake, params string, header http.Header, change func(*loki.Options)) *websocket.Conn {
	t.Helper()
	f.arrivals, f.ended = make(chan []line), make(chan error, 1)
	server := httptest.NewServer(api(f, change))
	t.Cleanup(server.Close)
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"/loki/api/v1/tail?"+params, //nolint:bodyclose // there is none
		&websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(4 << 20)
	return conn
}

// arrive has records arrive at the tail.
func (f *fake) arrive(t *testing.T, lines ...line) {
	t.Helper()
	select {
	case f.arrivals <- lines:
	case <-time.After(time.Minute):
		t.Fatal("nothing follows the records")
	}
}

// wantEnd waits for the end of the tail, and returns its error.
func (f *fake) wantEnd(t *testing.T) error {
	t.Helper()
	select {
	case err := <-f.ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the read goes on")
		return nil
	}
}

// closed is how the server closed a connection.
func closed(t *testing.T, conn *websocket.Conn) (closed websocket.CloseError) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, _, err := conn.Read(ctx); !errors.As(err, &closed) {
		t.Errorf("closed with %v", err)
	}
	return closed
}

// next is the next message as a client decodes it.
func next(t *testing.T, conn *websocket.Conn) (message struct {
	Flags   []string `json:"encodingFlags"`
	Streams []struct {
		Stream map[string]string `json:"stream"`
		Values [][]any           `json:"values"`
	} `json:"streams"`
	Dropped []any `json:"dropped_entries"`
},
) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	kind, text, err := conn.Read(ctx)
	if err != nil || kind != websocket.MessageText {
		t.Fatalf("message of type %v: %v", kind, err)
	}
	if err := json.Unmarshal(text, &message); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if message.Dropped == nil {
		t.Errorf("no dropped_entries: %s", text)
	}
	return message
}

var selectAPI = url.Values{"query": {`{service_name="api"}`}, "limit": {"2"}, "delay_for": {"0"}, "start": {hourAgo}}.Encode()

// The newest records come first, in order, then those that arrive.
func TestTail(t *testing.T) {
	t.Parallel()
	f := world()
	conn := following(t, f, selectAPI, nil, nil)
	first := next(t, conn)
	if len(first.Streams) != 2 || first.Flags != nil {
		t.Fatalf("first message: %+v", first)
	}
	want := []any{"1772625300000000000", "status=200 took=1ms path=/y"}
	if diff := cmp.Diff(want, first.Streams[1].Values[0]); diff != "" {
		t.Error(diff)
	}
	f.arrive(t, line{now, "api", "info", "b-1", "new"}, line{now.Add(1), "api", "info", "b-1", "newer"})
	second := next(t, conn)
	if len(second.Streams) != 1 || len(second.Streams[0].Values) != 2 || second.Streams[0].Values[1][1] != "newer" {
		t.Errorf("second message: %+v", second)
	}
	if stream := second.Streams[0].Stream; stream["detected_level"] != "info" || stream["source"] != "stdout" || stream["level"] != "info" {
		t.Errorf("labels: %v", stream)
	}
}

func TestTailCategories(t *testing.T) {
	t.Parallel()
	t.Run("by header", func(t *testing.T) {
		t.Parallel()
		checkCategories(t, following(t, world(), selectAPI, http.Header{"X-Loki-Response-Encoding-Flags": {"categorize-labels"}}, nil))
	})
	t.Run("by parameter", func(t *testing.T) {
		t.Parallel()
		checkCategories(t, following(t, world(), selectAPI+"&categorize=1", nil, nil))
	})
}

func checkCategories(t *testing.T, conn *websocket.Conn) {
	t.Helper()
	first := next(t, conn)
	if len(first.Flags) != 1 || first.Flags[0] != "categorize-labels" {
		t.Errorf("flags: %v", first.Flags)
	}
	want := map[string]any{"structuredMetadata": map[string]any{"detected_level": "info", "source": "stdout"}}
	if diff := cmp.Diff(want, first.Streams[0].Values[0][2]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"service_name": "api", "level": "info", "instance": "b-1"}, first.Streams[0].Stream); diff != "" {
		t.Error(diff)
	}
}

// A poll with many records is several messages.
func TestTailBounds(t *testing.T) {
	t.Parallel()
	f := world()
	conn := following(t, f, selectAPI, nil, nil)
	next(t, conn)
	long := line{now, "api", "info", "b-1", strings.Repeat("x", 300<<10)}
	f.arrive(t, long, long, long, long, long)
	if n := len(next(t, conn).Streams[0].Values); n != 4 {
		t.Errorf("%d long records in a message", n)
	}
	if n := len(next(t, conn).Streams[0].Values); n != 1 {
		t.Errorf("%d long records in the last message", n)
	}
	f.arrive(t, make([]line, 2500)...)
	for _, want := range []int{1000, 1000, 500} {
		if n := len(next(t, conn).Streams[0].Values); n != want {
			t.Errorf("%d records in a message, want %d", n, want)
		}
	}
}

// A client that closes, or whose connection breaks, ends the reading at once.
func TestTailClientGone(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*websocket.Conn) error{
		"close": func(c *websocket.Conn) error { return c.Close(websocket.StatusNormalClosure, "") },
		"break": (*websocket.Conn).CloseNow,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := world()
			conn := following(t, f, selectAPI, nil, nil)
			next(t, conn)
			go leave(conn)
			if err := f.wantEnd(t); !errors.Is(err, context.Canceled) {
				t.Errorf("the read ended with %v", err)
			}
		})
	}
}

// A message that cannot be sent because the client is gone is no failure, and not logged.
func TestTailClientGoneWhileSending(t *testing.T) {
	t.Parallel()
	f := world()
	f.arrivals, f.ended = make(chan []line), make(chan error, 1)
	var log bytes.Buffer
	a := api(f, func(o *loki.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	served := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		a.ServeHTTP(onSend{w, func(c net.Conn, p []byte) {
			if p[0] == 0x81 { // after the first message
				_ = c.(*net.TCPConn).CloseWrite()
			}
		}}, r)
	}))
	t.Cleanup(server.Close)
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"/loki/api/v1/tail?"+selectAPI, nil) //nolint:bodyclose // there is none
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	next(t, conn)
	f.arrive(t, f.lines[2])
	if err := f.wantEnd(t); err == nil {
		t.Error("the read ended without an error")
	}
	<-served
	if log.Len() > 0 {
		t.Errorf("logged: %s", log.String())
	}
}

// A client that answers no ping is gone too.
func TestTailPing(t *testing.T) {
	t.Parallel()
	f := world()
	// Nothing reads from this connection, so that no ping is answered.
	following(t, f, selectAPI, nil, func(o *loki.Options) { o.Ping = 20 * time.Millisecond })
	if err := f.wantEnd(t); err == nil {
		t.Error("the read ended without an error")
	}
}

// memoryListener accepts one connection, in memory.
type memoryListener struct {
	accepted chan net.Conn
	close    func()
}

// newMemoryListener returns a listener and the client's side of its connection.
func newMemoryListener() (l memoryListener, client net.Conn) {
	client, server := net.Pipe()
	l.accepted = make(chan net.Conn, 1)
	l.accepted <- server
	l.close = sync.OnceFunc(func() { close(l.accepted) })
	return l, client
}

func (l memoryListener) Accept() (net.Conn, error) {
	conn, ok := <-l.accepted
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l memoryListener) Close() error { l.close(); return nil }

func (memoryListener) Addr() net.Addr { return &net.TCPAddr{} }

// onSend is a response that, once taken over, calls sent for each write before the write returns.
type onSend struct {
	http.ResponseWriter
	sent func(c net.Conn, p []byte)
}

func (w onSend) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	conn = sendingConn{conn, w.sent}
	buffered.Writer.Reset(conn)
	return conn, buffered, nil
}

type sendingConn struct {
	net.Conn
	sent func(c net.Conn, p []byte)
}

func (c sendingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent(c.Conn, p)
	return n, err
}

// A server that ends the request closes the connection with the reason, also while it sends a message or a ping.
func TestTailServerEnds(t *testing.T) {
	t.Parallel()
	for name, opcode := range map[string]byte{"idle": 0, "message": 0x81, "ping": 0x89} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { checkServerEnds(t, opcode) })
		})
	}
}

// checkServerEnds ends a request while its server sends a frame with an opcode; 0 is none. The clock is fake.
func checkServerEnds(t *testing.T, opcode byte) {
	t.Helper()
	f := world()
	f.arrivals, f.ended = make(chan []line), make(chan error, 1)
	a := api(f, nil)
	ends := make(chan func(), 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancelCause(r.Context())
		end := func() { cancel(errors.New("the server is shutting down")) }
		ends <- end
		a.ServeHTTP(onSend{w, func(_ net.Conn, p []byte) {
			if p[0] == opcode {
				end()
				time.Sleep(time.Second) // the write lasts on
			}
		}}, r.WithContext(ctx))
	})}
	l, client := newMemoryListener()
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return client, nil }}
	conn, _, err := websocket.Dial(t.Context(), "ws://memory/loki/api/v1/tail?"+selectAPI, //nolint:bodyclose // there is none
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	next(t, conn)
	if end := <-ends; opcode == 0 {
		end()
	}
	if got := closed(t, conn); got.Code != websocket.StatusGoingAway || got.Reason != "the server is shutting down" {
		t.Errorf("closed with %v", got)
	}
	if err := f.wantEnd(t); !errors.Is(err, context.Canceled) {
		t.Errorf("the read ended with %v", err)
	}
}

// A failure closes the connection with its text.
func TestTailFailure(t *testing.T) {
	t.Parallel()
	f := world()
	f.err = errors.New("cannot list web/: storage unavailable" + strings.Repeat(" é", 100))
	conn := following(t, f, selectAPI, nil, nil)
	if got := closed(t, conn); got.Code != websocket.StatusInternalError || !strings.Contains(got.Reason, "cannot list web/") {
		t.Errorf("closed with %v", got)
	}
}

// watchedFake is a fake whose records may be flushed early.
type watchedFake struct {
	*fake
	watched atomic.Bool
}

func (f *watchedFake) Watched() bool { return f.watched.Load() }

// A client that asks for it is sent whether its tail is watched, when that changes; others are not.
func TestTailWatched(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{true, false} {
		f := &watchedFake{fake: world()}
		params := selectAPI
		if asked {
			params += "&watched=1"
		}
		conn := following(t, f.fake, params, nil, func(o *loki.Options) { o.View = func(context.Context) loki.Backend { return f } })
		read := func() string {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, text, err := conn.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		if first := read(); strings.Contains(first, "watched") {
			t.Errorf("first message: %s", first)
		}
		arrival := line{now, "api", "info", "b-1", "new"}
		for _, watched := range []bool{true, true, false} {
			changed := f.watched.Swap(watched) != watched
			f.arrive(t) // a poll that finds nothing
			if want := fmt.Sprintf(`{"streams":[],"dropped_entries":[],"watched":%t}`, watched); asked && changed {
				if got := read(); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
			f.arrive(t, arrival)
			if got := read(); !strings.HasSuffix(got, `"new"]]}],"dropped_entries":[]}`) {
				t.Errorf("records: %s", got)
			}
		}
		f.watched.Store(true)
		f.arrive(t, arrival)
		if got := read(); strings.HasSuffix(got, `"new"]]}],"dropped_entries":[],"watched":true}`) != asked {
			t.Errorf("records with a change: %s", got)
		}
	}
}
