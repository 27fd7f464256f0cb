package plain_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/input"
	"logstow/input/listen"
	"logstow/input/plain"
	"logstow/input/socket"
	"logstow/internal/test/await"
	"logstow/internal/test/inputtest"
	"logstow/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newSink() *inputtest.Sink {
	s := inputtest.NewSink()
	s.Unacknowledged = true
	return s
}

func open(t *testing.T, spec *plain.Spec, address string, opts input.Options) (*socket.Server, error) {
	t.Helper()
	opts.Service = "test"
	r, err := spec.Open(t.Context(), input.Opening{Options: opts, Endpoint: listen.Endpoint{Address: address}})
	if err != nil {
		return nil, err
	}
	return r.(*socket.Server), nil
}

// serve runs an input until the test ends; stop ends it sooner.
func serve(t *testing.T, address string, opts input.Options) (s *socket.Server, stop func() error) {
	t.Helper()
	s, err := open(t, &plain.Spec{}, address, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s, inputtest.Run(t, s)
}

// Each datagram is a record, with the time and the level in it, and as it was sent but for a newline or NUL at its end.
func TestDatagrams(t *testing.T) {
	t.Parallel()
	for address, source := range map[string]string{"unixgram://" + filepath.Join(t.TempDir(), "s"): "-", "udp://:0": "127.0.0.1"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			sink := newSink()
			s, stop := serve(t, address, input.Options{Sink: sink})
			c := inputtest.Dial(t, s.Addr())
			for _, text := range []string{
				"2026-11-20T15:04:05Z ERROR no space\n", "two\nlines\n\n", "\n", "<13>Nov 21 08:20:52 app[7]: not parsed", "\x00\xff \x00", " \r\n",
			} {
				inputtest.Write(t, c, text)
			}
			want := []string{"2026-11-20T15:04:05Z ERROR no space", "two\nlines\n", "<13>Nov 21 08:20:52 app[7]: not parsed", "\x00\xff ", " \r"}
			got := sink.Wait(t, len(want))
			if m := inputtest.Messages(got); !slices.Equal(m, want) {
				t.Errorf("%q", m)
			}
			at := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
			if r := got[0]; r.Time != at.UnixNano() || r.Level != record.Error || r.Source != source {
				t.Errorf("%+v", r)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The example of the documentation sends a record.
func TestPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	page, err := os.ReadFile("../../docs/inputs/plain.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```python\n")
	text, _, _ = strings.Cut(text, "```")
	path := filepath.Join(t.TempDir(), "s")
	if !found || !strings.Contains(text, "/run/logstow/plain") {
		t.Fatal("the documentation has no example")
	}
	sink := newSink()
	serve(t, "unixgram://"+path, input.Options{Sink: sink})
	if out, err := exec.CommandContext(t.Context(), python, "-c", strings.ReplaceAll(text, "/run/logstow/plain", path)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := sink.Wait(t, 1)[0]; string(r.Message) != "2026-11-20T15:04:05Z ERROR no stock left" || r.Level != record.Error {
		t.Errorf("%+v", r)
	}
}

// Each line of a stream is a record, and so is its last one without a newline.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"unix://" + filepath.Join(t.TempDir(), "s"), "tcp://:0"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			sink := newSink()
			s, _ := serve(t, address, input.Options{Sink: sink})
			c := inputtest.Dial(t, s.Addr())
			inputtest.Write(t, c, "one\n\n5 two\r\n<13>three\x00 and more\nthe la")
			inputtest.Write(t, c, "st")
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			want := []string{"one", "5 two\r", "<13>three\x00 and more", "the last"}
			if m := inputtest.Messages(sink.Wait(t, len(want))); !slices.Equal(m, want) {
				t.Errorf("%q", m)
			}
		})
	}
}

// A datagram is read whole up to the record limit, and truncated and counted above it.
func TestLongDatagram(t *testing.T) {
	t.Parallel()
	sink, stats := newSink(), new(input.Stats)
	s, _ := serve(t, "unixgram://"+filepath.Join(t.TempDir(), "s"), input.Options{Sink: sink, Stats: stats, MaxRecord: 64 << 10})
	c := inputtest.Dial(t, s.Addr()).(*net.UnixConn)
	if err := c.SetWriteBuffer(256 << 10); err != nil {
		t.Fatal(err)
	}
	whole, long := strings.Repeat("a", 64<<10), strings.Repeat("b", 100<<10)
	inputtest.Write(t, c, whole)
	inputtest.Write(t, c, long)
	want := []string{whole, string(input.Cut([]byte(long), 64<<10, int64(len(long))))}
	if got := inputtest.Messages(sink.Wait(t, 2)); !slices.Equal(got, want) || stats.Cut.Load() != 1 {
		t.Errorf("%d and %d bytes, %d truncated", len(got[0]), len(got[1]), stats.Cut.Load())
	}
}

// What is sent to a Unix socket while the buffer has no space is not lost.
func TestFull(t *testing.T) {
	t.Parallel()
	sink := newSink()
	sink.SetFull(true)
	s, _ := serve(t, "unixgram://"+filepath.Join(t.TempDir(), "s"), input.Options{Sink: sink})
	c := inputtest.Dial(t, s.Addr())
	const n = 1000
	for i := range n {
		inputtest.Write(t, c, fmt.Sprint("message ", i))
	}
	sink.SetFull(false)
	for i, m := range inputtest.Messages(sink.Wait(t, n)) {
		if m != fmt.Sprint("message ", i) {
			t.Fatalf("%d: %q", i, m)
		}
	}
	if stats := s.Stats(); stats.Dropped.Load()+stats.LostByKernel.Load()+stats.Incomplete.Load()+stats.Invalid.Load() != 0 {
		t.Errorf("%+v", stats)
	}
}

// The socket file has its permissions, replaces one without a listener, but nothing else, and is removed at the end.
func TestSocketFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	start := func(mode string) (*socket.Server, error) {
		return open(t, &plain.Spec{Mode: mode}, "unixgram://"+path, input.Options{Sink: newSink()})
	}
	stale, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	if err := stale.Close(); err != nil { // its file stays
		t.Fatal(err)
	}
	// A program that another test starts has the socket until it runs.
	await.Until(t, 10*time.Second, "no one has the socket", func() bool {
		c, err := new(net.Dialer).DialContext(t.Context(), "unixgram", path)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	for mode, want := range map[string]fs.FileMode{"": 0o666, "0640": 0o640} {
		s, err := start(mode)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v %v", mode, info.Mode(), err)
		}
		if _, err := start(mode); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a second server on one socket: %v", err)
		}
		if err := inputtest.Run(t, s)(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := start(""); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("in place of a file: %v", err)
	}
	for _, mode := range []string{"rw", "0888", "1777", "0"} {
		if _, err := start(mode); err == nil || !strings.Contains(err.Error(), "want octal permissions") {
			t.Errorf("mode %q: %v", mode, err)
		}
	}
}
