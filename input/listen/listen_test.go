package listen_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/input/listen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		":514": "127.0.0.1:514", "0.0.0.0:514": "0.0.0.0:514", "[::]:514": "[::]:514", "localhost:0": "localhost:0", "nonsense": "nonsense",
	} {
		if got := listen.Loopback(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{":514", "0.0.0.0:0", "[::1]:65535", "localhost:http", "log.example.org:5140"} {
		if err := listen.CheckAddress(address); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{"", "foo", "5514", ":", "host:", ":65536", ":99999", ":-1", "::1", ":nosuchservice", "http://x:80"} {
		if err := listen.CheckAddress(address); err == nil {
			t.Errorf("%s: no error", address)
		}
	}
}

func TestTLSConfig(t *testing.T) {
	t.Parallel()
	if c, err := (listen.TLS{}).Config(nil); c != nil || err != nil {
		t.Errorf("%v %v", c, err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		files listen.TLS
		want  string
	}{
		{listen.TLS{Cert: file}, "a certificate and a key"},
		{listen.TLS{Key: file}, "a certificate and a key"},
		{listen.TLS{ClientCA: file}, "a certificate and a key"},
		{listen.TLS{Cert: file, Key: file}, "cannot read the certificate of " + file},
		{listen.TLS{Cert: filepath.Join(dir, "none"), Key: file}, "no such file"},
	} {
		if _, err := c.files.Config(nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.files, err, c.want)
		}
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := listen.Stream(t.Context(), "unix", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listen.Stream(t.Context(), "unix", path, nil); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
	// One that was left behind is replaced, another kind of file is not.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	l, err = listen.Stream(t.Context(), "unix", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen.Packets(t.Context(), "unixgram", path); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Error(err)
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	l, err := listen.Stream(t.Context(), "tcp", ":0", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var now, most, all atomic.Int64
	const senders = 50
	release, served := make(chan struct{}), make(chan struct{}, senders)
	done := make(chan error, 1)
	go func() {
		done <- listen.Serve(ctx, l, 3, func(ctx context.Context, c net.Conn) {
			n := now.Add(1)
			served <- struct{}{}
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			all.Add(1)
			select {
			case <-release:
			case <-ctx.Done():
			}
		})
	}()
	var ended sync.WaitGroup
	for range senders {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ended.Go(func() {
			_, _ = io.Copy(io.Discard, c) // until it is closed at the other end
			_ = c.Close()
		})
	}
	for range 3 {
		<-served
	}
	close(release)
	ended.Wait()
	if most.Load() != 3 || all.Load() != senders {
		t.Errorf("%d at a time, %d in all", most.Load(), all.Load())
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	// A listener that fails ends it with its error.
	if err := listen.Serve(t.Context(), l, 1, nil); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// The end of the context ends connections too.
func TestServeEnd(t *testing.T) {
	t.Parallel()
	l, err := listen.Stream(t.Context(), "tcp", ":0", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- listen.Serve(ctx, l, 1, func(ctx context.Context, _ net.Conn) {
			cancel()
			<-ctx.Done()
		})
	}()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(c); err != nil {
		t.Error(err)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	b := listen.NewBudget(10, nil)
	if !b.Take(7) || b.Take(4) {
		t.Error("not 10")
	}
	if err := b.Wait(t.Context(), 11); !errors.Is(err, listen.ErrBudget) {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := b.Wait(ctx, 4); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- b.Wait(t.Context(), 10) }()
	b.Give(7)
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// What is returned does not pile up, whether the runtime collects or not.
func TestBudgetGarbage(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const size, part = 32 << 20, 4 << 20
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	b := listen.NewBudget(size, listen.NewBudget(size, nil))
	before, most := heap(), int64(0)
	for range 100 {
		if !b.Take(part) {
			t.Fatal("not available")
		}
		garbage := make([]byte, part)
		most = max(most, heap()-before)
		runtime.KeepAlive(garbage)
		b.Give(part)
	}
	if most > size+listen.MaxGarbage+1<<20 {
		t.Errorf("%d bytes at the peak", most)
	}
}

// Garbage that the runtime has collected is not collected again.
func TestBudgetCollected(t *testing.T) { //nolint:paralleltest // it counts the collections of the process
	const size, times = 1 << 20, 3 * (1 + listen.MaxGarbage>>20)
	b := listen.NewBudget(size, nil)
	forced := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	before := forced()
	for range times {
		if !b.Take(size) {
			t.Fatal("not available")
		}
		b.Give(size)
		runtime.GC()
		for b.Uncollected() > 0 {
			runtime.Gosched()
		}
	}
	if n := forced() - before; n != times {
		t.Errorf("%d collections, %d of them were asked for", n, times)
	}
}

// Connections that wait to be accepted at the end are served, as many at a time as before; those that are opened afterwards are not.
func TestServeWaiting(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "unix"} {
		address := ":0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		l, err := listen.Stream(t.Context(), network, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const senders, limit = 50, 3
		for i := range senders {
			var d net.Dialer
			c, err := d.DialContext(t.Context(), network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if _, err := fmt.Fprintf(c, "%d", i); err != nil {
				t.Fatal(err)
			}
		}
		var now, most, all atomic.Int64
		first := make(chan struct{})
		done := make(chan error, 1)
		go func() {
			done <- listen.Serve(ctx, l, limit, func(ctx context.Context, c net.Conn) {
				defer now.Add(-1)
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				if n, err := c.Read(make([]byte, 10)); n > 0 && err == nil && all.Add(1) == limit {
					close(first)
				}
				<-ctx.Done()
			})
		}()
		<-first
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if all.Load() != senders || most.Load() > limit {
			t.Errorf("%s: %d of %d connections were served, up to %d at a time", network, all.Load(), senders, most.Load())
		}
		var d net.Dialer
		if c, err := d.DialContext(t.Context(), network, l.Addr().String()); err == nil {
			_ = c.Close()
			t.Errorf("%s: connected after the end", network)
		}
	}
}
