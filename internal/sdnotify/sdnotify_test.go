package sdnotify_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"logstow/internal/sdnotify"
)

// manager is a service manager's socket.
type manager struct {
	*net.UnixConn
	path string
}

func listen(t *testing.T) manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd") // t.TempDir may be longer than a socket's name
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		os.RemoveAll(dir)
	})
	return manager{c, path}
}

func (m manager) next(t *testing.T) string {
	t.Helper()
	if err := m.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1024)
	n, err := m.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// env is an environment.
type env map[string]string

func (e env) get(name string) string { return e[name] }

func TestSend(t *testing.T) {
	t.Parallel()
	m := listen(t)
	n := sdnotify.FromEnv(env{"NOTIFY_SOCKET": m.path}.get, 1)
	for _, state := range []string{sdnotify.Ready, sdnotify.Stopping, "STATUS=x\nRELOADING=1"} {
		if err := n.Send(t.Context(), state); err != nil {
			t.Fatal(err)
		}
		if got := m.next(t); got != state {
			t.Errorf("%q, want %q", got, state)
		}
	}
	n.Watch(t.Context(), func() error { t.Error("checked without a watchdog"); return nil }, nil) // returns at once
}

// A socket in the abstract name space, which systemd uses in containers.
func TestAbstractSocket(t *testing.T) {
	t.Parallel()
	name := "@logstow-sdnotify-" + filepath.Base(t.TempDir()) + time.Now().Format("150405.000000")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Skip("no abstract sockets here:", err)
	}
	defer c.Close()
	if err := sdnotify.FromEnv(env{"NOTIFY_SOCKET": name}.get, 1).Send(t.Context(), sdnotify.Ready); err != nil {
		t.Fatal(err)
	}
	if got := (manager{UnixConn: c}).next(t); got != sdnotify.Ready {
		t.Error(got)
	}
}

// Without a service manager nothing is sent; one that is gone is an error.
func TestNobody(t *testing.T) {
	t.Parallel()
	for _, socket := range []string{"", "vsock:2:1", "relative"} {
		n := sdnotify.FromEnv(env{"NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "1"}.get, 1)
		if n != nil {
			t.Errorf("%q: %+v", socket, n)
		}
		if err := n.Send(t.Context(), sdnotify.Ready); err != nil {
			t.Error(err)
		}
		n.Watch(t.Context(), nil, nil)
	}
	gone := sdnotify.FromEnv(env{"NOTIFY_SOCKET": filepath.Join(t.TempDir(), "gone")}.get, 1)
	if err := gone.Send(t.Context(), sdnotify.Ready); err == nil {
		t.Error("no error although nothing listens")
	}
}

// The watchdog is notified for as long as the check passes.
func TestWatch(t *testing.T) {
	t.Parallel()
	m := listen(t)
	n := sdnotify.FromEnv(env{"NOTIFY_SOCKET": m.path, "WATCHDOG_USEC": "15000", "WATCHDOG_PID": "7"}.get, 7)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var sick atomic.Bool
	asked := make(chan struct{}, 1)
	wait := func() {
		t.Helper()
		select {
		case <-asked:
		case <-time.After(time.Minute):
			t.Fatal("the check is not called")
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Watch(ctx, func() error {
			if sick.Load() {
				select {
				case asked <- struct{}{}:
				default:
				}
				return errors.New("sick")
			}
			return nil
		}, nil)
	}()
	for range 3 {
		if got := m.next(t); got != "WATCHDOG=1" {
			t.Error(got)
		}
	}
	sick.Store(true)
	sent := make(chan error, 1)
	go func() { // the socket may be full of what was sent before: nothing more is until that is read
		<-asked
		sent <- n.Send(t.Context(), "MARK=1")
	}()
	for m.next(t) != "MARK=1" {
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	wait()
	wait()
	if err := n.Send(t.Context(), "MARK=2"); err != nil {
		t.Fatal(err)
	}
	if got := m.next(t); got != "MARK=2" {
		t.Error("notified while the check fails:", got)
	}
	cancel()
	<-ended
}

// A watchdog of another process, or a time that is none, is not notified.
func TestOtherWatchdog(t *testing.T) {
	t.Parallel()
	m := listen(t)
	for _, e := range []env{
		{"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "8"},
		{"WATCHDOG_USEC": "x"},
		{"WATCHDOG_USEC": "-5"},
		{"WATCHDOG_USEC": "0"},
		{"WATCHDOG_USEC": "9223372036854775807"},
	} {
		e["NOTIFY_SOCKET"] = m.path
		sdnotify.FromEnv(e.get, 7).Watch(t.Context(), func() error { t.Errorf("%v is watched", e); return nil }, nil)
	}
}
