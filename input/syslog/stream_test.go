package syslog_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/await"
	"logstow/internal/test/heap"

	"logstow/input"
	"logstow/input/listen"
	"logstow/input/socket"
	"logstow/input/syslog"
	"logstow/internal/test/inputtest"
	"logstow/internal/test/testpki"
	"logstow/record"
)

func TestStream(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"tcp://:0", "unix://" + filepath.Join(t.TempDir(), "s")} {
		t.Run(address[:4], func(t *testing.T) {
			t.Parallel()
			sink := newSink()
			s, stop := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: address}})
			c := inputtest.Dial(t, s.Addr())
			inputtest.Write(t, c, "<11>Nov 21 08:20:49 h app[1]: one\n30 <14>Nov 21 08:20:50 h app: two")
			inputtest.Write(t, c, "no header at all\n<13>Nov 21 08:20:51 h app: thr")
			sink.Wait(t, 3)
			inputtest.Write(t, c, "ee\n<13>Nov 21 08:20:52 h app: no newline")
			sink.Wait(t, 4)
			_ = c.Close()
			got := sink.Wait(t, 5)
			if want := []string{"one", "two", "no header at all", "three", "no newline"}; !slices.Equal(inputtest.Messages(got), want) {
				t.Errorf("%q", inputtest.Messages(got))
			}
			if got[0].Level != record.Error || got[0].Source != "h/app/1" {
				t.Errorf("%v %v", got[0].Level, got[0].Source)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The header's time counts, unless another is configured.
func TestTimeFrom(t *testing.T) {
	t.Parallel()
	for from, want := range map[input.TimeFrom]string{input.TimeDefault: "08:20:49", input.TimeAuto: "07:00:00", input.TimeLine: "07:00:00", input.TimeProtocol: "08:20:49"} {
		sink := newSink()
		opts := options(sink)
		opts.TimeFrom = from
		s, _ := serve(t, socket.Options{Options: opts, Endpoint: listen.Endpoint{Address: "tcp://:0"}})
		inputtest.Write(t, inputtest.Dial(t, s.Addr()), "<11>Nov 21 08:20:49 h app[1]: 2026-11-21 07:00:00 one\n")
		if got := time.Unix(0, sink.Wait(t, 1)[0].Time).UTC().Format(time.TimeOnly); got != want {
			t.Errorf("time from %d: %s, want %s", from, got, want)
		}
	}
}

// Half-closed: the sender has closed its side and waits for our end of the connection.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	sink := newSink()
	s, _ := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: "tcp://:0"}})
	c := inputtest.Dial(t, s.Addr())
	inputtest.Write(t, c, "<13>Nov 21 08:20:52 h app: last words")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Errorf("%q %v", rest, err)
	}
	if got := inputtest.Messages(sink.Wait(t, 1)); got[0] != "last words" {
		t.Errorf("%q", got)
	}
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	sink := newSink()
	opts := options(sink)
	opts.MaxRecord = 64 << 10
	s, _ := serve(t, socket.Options{Options: opts, Endpoint: listen.Endpoint{Address: "tcp://:0"}})
	c := inputtest.Dial(t, s.Addr())
	long := "<13>Nov 21 08:20:52 h app: " + strings.Repeat("x", 1<<20)
	inputtest.Write(t, c, long+"\n<13>Nov 21 08:20:52 h app: after\n")
	inputtest.Write(t, c, fmt.Sprintf("%d %s", len(long), long))
	inputtest.Write(t, c, "<13>Nov 21 08:20:52 h app: again\n")
	got := sink.Wait(t, 4)
	for i, want := range []string{"", "after", "", "again"} {
		text := string(got[i].Message)
		if want != "" && text != want {
			t.Errorf("%d: %q", i, text)
		}
		if want == "" && (len(text) > opts.MaxRecord || len(text) < opts.MaxRecord-200 || !strings.HasPrefix(text, "xxx") || !strings.HasSuffix(text, " bytes]")) {
			t.Errorf("%d: %d bytes, ending with %q", i, len(text), text[max(0, len(text)-60):])
		}
	}
	if n := opts.Stats.Cut.Load(); n != 2 {
		t.Errorf("%d were cut", n)
	}
}

// Many senders of long messages without an end: what they hold stays within bounds,
// and another sender's messages come through.
func TestHeldMemory(t *testing.T) { //nolint:paralleltest // it measures the heap
	sink := newSink()
	s, _ := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: "tcp://:0"}, MaxMemory: 4 << 20})
	before := heap.Live()
	part := []byte("<13>Nov 21 08:20:52 h app: " + strings.Repeat("x", 900<<10))
	var all []net.Conn
	for range 40 {
		c := inputtest.Dial(t, s.Addr())
		all = append(all, c)
		go func() { _, _ = c.Write(part) }()
	}
	c := inputtest.Dial(t, s.Addr())
	inputtest.Write(t, c, "<13>Nov 21 08:20:52 h app: small\n")
	if got := inputtest.Messages(sink.Wait(t, 1)); got[0] != "small" {
		t.Errorf("%.100q", got)
	}
	if grown := heap.Live() - before; grown > 24<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	for _, c := range all {
		_ = c.Close()
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, socket.Options{Options: options(newSink()), Endpoint: listen.Endpoint{Address: "tcp://:0", IdleTimeout: 50 * time.Millisecond}})
	c := inputtest.Dial(t, s.Addr())
	if _, err := io.ReadAll(c); err != nil {
		t.Error(err)
	}
}

// While there is no room, senders wait and nothing is lost.
func TestBackpressure(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"tcp://:0", "unix://" + filepath.Join(t.TempDir(), "s"), "unixgram://" + filepath.Join(t.TempDir(), "d")} {
		t.Run(address[:8], func(t *testing.T) {
			t.Parallel()
			sink := newSink()
			sink.SetFull(true)
			s, stop := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: address}, MaxMemory: 2 << 20})
			c := inputtest.Dial(t, s.Addr())
			n := 20000
			if strings.HasPrefix(address, "unixgram") { // its socket holds some datagrams only
				n = 5000
			}
			begun, sent := make(chan struct{}), make(chan struct{})
			text := strings.Repeat("y", 1000)
			go func() {
				defer close(sent)
				for i := range n {
					if _, err := fmt.Fprintf(c, "<13>Nov 21 08:20:52 h app: %d %s\n", i, text); err != nil {
						t.Error(i, err)
						return
					}
					if i == 0 {
						close(begun)
					}
				}
			}()
			select {
			case <-begun:
			case <-sent: // it failed
			}
			select {
			case <-sent:
				t.Error("the sender did not wait")
			case <-time.After(50 * time.Millisecond):
			}
			sink.SetFull(false)
			got := inputtest.Messages(sink.Wait(t, n))
			<-sent
			for i, m := range got {
				if m != fmt.Sprintf("%d %s", i, text) {
					t.Fatalf("record %d is %.20q", i, m)
				}
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBrokenSink(t *testing.T) {
	t.Parallel()
	sink := newSink()
	broken := errors.New("broken")
	sink.Fail("", broken)
	for _, address := range []string{"tcp://:0", "udp://:0"} {
		s, err := socket.New(t.Context(), socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: address}}, new(syslog.Spec).Protocol())
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- s.Run(t.Context()) }()
		inputtest.Write(t, inputtest.Dial(t, s.Addr()), "<13>x\n")
		if err := <-done; !errors.Is(err, broken) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// More senders than connections: the others wait for their turn.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	sink := newSink()
	s, _ := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: "tcp://:0", MaxConnections: 20}})
	const n, open = 1000, 40
	var all []net.Conn
	for i := range n {
		c := inputtest.Dial(t, s.Addr())
		inputtest.Write(t, c, fmt.Sprintf("<13>Nov 21 08:20:52 h app: %d\n", i))
		if all = append(all, c); len(all) > open { // half of those that are open wait
			_ = all[0].Close()
			all = all[1:]
		}
	}
	for _, c := range all {
		_ = c.Close()
	}
	seen := map[string]bool{}
	for _, m := range inputtest.Messages(sink.Wait(t, n)) {
		seen[m] = true
	}
	if len(seen) != n || s.Connections.Accepted.Load() != n {
		t.Errorf("%d different records, %+v", len(seen), s.Stats())
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	pki := testpki.New(t)
	for _, mutual := range []bool{false, true} {
		t.Run(fmt.Sprint("mutual ", mutual), func(t *testing.T) {
			t.Parallel()
			files := listen.TLS{Cert: pki.Path("server.pem"), Key: pki.Path("server.key")}
			if mutual {
				files.ClientCA = pki.Path("ca.pem")
			}
			sink := newSink()
			s, stop := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: "tcp://:0", TLS: files}})
			dialTLS := func(client *tls.Config) error {
				c := tls.Client(inputtest.Dial(t, s.Addr()), client)
				_, err := c.Write([]byte("33 <13>Nov 21 08:20:52 h app: sealed"))
				if err == nil {
					err = c.CloseWrite()
				}
				if err == nil {
					_, err = io.ReadAll(c)
				}
				return err
			}
			if err := dialTLS(&tls.Config{RootCAs: pki.Pool, ServerName: "localhost", Certificates: []tls.Certificate{pki.Client}}); err != nil {
				t.Fatal(err)
			}
			if got := inputtest.Messages(sink.Wait(t, 1)); got[0] != "sealed" {
				t.Errorf("%q", got)
			}
			// Without TLS, and where it must show a certificate without one: refused.
			plain := inputtest.Dial(t, s.Addr())
			inputtest.Write(t, plain, "<13>Nov 21 08:20:52 h app: not sealed\n")
			_, _ = io.ReadAll(plain)
			refused := int64(1)
			if mutual {
				refused++
				if err := dialTLS(&tls.Config{RootCAs: pki.Pool, ServerName: "localhost"}); err == nil {
					t.Error("no certificate was requested")
				}
			}
			// A client knows of it before it is counted.
			await.Until(t, 10*time.Second, "the refused connections are counted", func() bool { return s.Connections.Rejected.Load() == refused })
			if err := stop(); err != nil {
				t.Error(err)
			}
			if got := sink.Wait(t, 1); len(got) != 1 || s.Connections.Rejected.Load() != refused {
				t.Errorf("%q, %+v", inputtest.Messages(got), s.Stats())
			}
		})
	}
}

// What senders wrote before the end is handed over.
func TestEnd(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"tcp://:0", "udp://:0", "unixgram://" + filepath.Join(t.TempDir(), "d")} {
		sink := newSink()
		s, stop := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: address}})
		c := inputtest.Dial(t, s.Addr())
		inputtest.Write(t, c, "<13>Nov 21 08:20:52 h app: first\n")
		sink.Wait(t, 1)
		for range 100 {
			inputtest.Write(t, c, "<13>Nov 21 08:20:52 h app: more\n")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got := sink.Wait(t, 101); len(got) != 101 {
			t.Errorf("%s: %d", address, len(got))
		}
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	sink := newSink()
	s, _ := serve(t, socket.Options{Options: options(sink), Endpoint: listen.Endpoint{Address: "tcp://:0"}})
	for _, text := range []string{"\x16\x03\x01\x02\x00\x01\x00", "GET / HTTP/1.1\r\n\r\n", "\n\n\n", "9999999 <", "<<<<<", "\x00\x00"} {
		c := inputtest.Dial(t, s.Addr())
		inputtest.Write(t, c, text)
		_ = c.Close()
	}
	inputtest.Write(t, inputtest.Dial(t, s.Addr()), "<13>Nov 21 08:20:52 h app: well\n")
	for n := 1; ; n++ {
		if got := inputtest.Messages(sink.Wait(t, n)); slices.Contains(got, "well") {
			break
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, socket.Options{Options: options(newSink()), Endpoint: listen.Endpoint{Address: "tcp://:0"}})
	dir := t.TempDir()
	for _, c := range []struct {
		opts socket.Options
		want string
	}{
		{socket.Options{Endpoint: listen.Endpoint{Address: "127.0.0.1:514"}}, "must start with udp://"},
		{socket.Options{Endpoint: listen.Endpoint{Address: "http://127.0.0.1:514"}}, "must start with udp://"},
		{socket.Options{Endpoint: listen.Endpoint{Address: "tcp://127.0.0.1"}}, "HOST:PORT"},
		{socket.Options{Endpoint: listen.Endpoint{Address: "unix://"}}, "a path must follow"},
		{socket.Options{Endpoint: listen.Endpoint{Address: "tcp://" + s.Addr().String()}}, "address already in use"},
		{socket.Options{Endpoint: listen.Endpoint{Address: "udp://:0", TLS: listen.TLS{Cert: "a"}}}, "TLS requires a certificate and a key"},
		{socket.Options{Endpoint: listen.Endpoint{Address: "tcp://:0", TLS: listen.TLS{Cert: dir + "/a", Key: dir + "/b"}}}, "no such file"},
		{socket.Options{Endpoint: listen.Endpoint{Address: "unix://" + dir}}, "is not a socket"},
		{socket.Options{Endpoint: listen.Endpoint{Address: "tcp://:0"}, Options: input.Options{MaxRecord: 1}}, "record limit"},
	} {
		c.opts.Sink = newSink()
		if _, err := socket.New(t.Context(), c.opts, new(syslog.Spec).Protocol()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.opts.Address, err, c.want)
		}
	}
}
