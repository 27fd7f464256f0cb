package tap_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"logstow/internal/test/await"
	"logstow/record"
	"logstow/tap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a tap in a directory until the test ends; stop ends it sooner.
func serve(t testing.TB, dir string) (one *tap.Tap, stop func()) {
	t.Helper()
	one = tap.New("pod-3", slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	run, err := one.Listen(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	if info, err := os.Stat(filepath.Join(dir, tap.Socket)); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v: %v", err, info)
	}
	return one, stop
}

// connect connects a client. It is ended after minutes, so that a test that waits in vain fails.
func connect(t testing.TB, dir string) *tap.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	c, err := tap.Connect(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// checkEnabled checks that the tap has a client and time: it has both as soon as its first client is connected.
func checkEnabled(t testing.TB, o *tap.Observer) {
	t.Helper()
	if !o.Enabled() {
		t.Fatal("not enabled with a client")
	}
}

// next is the next record; skipped ones are added up.
func next(t testing.TB, c *tap.Client, skipped *uint64) *tap.Record {
	t.Helper()
	for {
		r, n, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		if *skipped += n; r != nil {
			return r
		}
	}
}

// receive counts what a client gets, records and skipped ones, until there are n of both, or the shipper has ended.
func receive(t testing.TB, c *tap.Client, n uint64) (got, skipped uint64) {
	t.Helper()
	for got+skipped < n {
		r, more, err := c.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if skipped += more; r != nil {
			got++
		}
	}
	return got, skipped
}

// Two clients get what passes, also in a directory whose name is too long for a socket's address.
func TestRecords(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("d", 120))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		one, stop := serve(t, dir)
		o := one.Observer("regexp x")
		if o.Enabled() {
			t.Error("enabled without a client")
		}
		a, b := connect(t, dir), connect(t, dir)
		checkEnabled(t, o)
		long := bytes.Repeat([]byte("m"), tap.MaxMessage+1)
		r := record.Record{Time: 1700000000123456789, Level: record.Warn, Source: "a/b", Message: []byte("hello\x00\n")}
		o.Observe("shop", &r, []string{"bearer", "card"}, "sample")
		o.Observe("", &record.Record{Message: long}, nil, "")
		if len(long) != tap.MaxMessage+1 || string(r.Message) != "hello\x00\n" {
			t.Error("the record was changed")
		}
		for _, c := range []*tap.Client{a, b} {
			var skipped uint64
			got := next(t, c, &skipped)
			want := &tap.Record{Record: r, Service: "shop", Parser: "regexp x", Size: 7, Redacted: []string{"bearer", "card"}, Dropped: "sample"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if got = next(t, c, &skipped); got.Size != len(long) || len(got.Message) != tap.MaxMessage {
				t.Errorf("%d bytes of %d", len(got.Message), got.Size)
			}
			if skipped > 0 {
				t.Errorf("%d skipped", skipped)
			}
		}
		stop()
		if _, _, err := a.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, tap.Socket)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	}
}

// A client of a shipper with little work gets all of the first records, however slow the machine.
func TestFirstRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, _ := serve(t, dir)
	a, b := connect(t, dir), connect(t, dir)
	o := one.Observer("")
	checkEnabled(t, o)
	message := bytes.Repeat([]byte("x"), 5_000)
	const n = 50
	for range n {
		if o.Enabled() {
			o.Observe("s", &record.Record{Message: message}, nil, "")
		}
	}
	for _, c := range []*tap.Client{a, b} {
		_, skipped := receive(t, c, n)
		if skipped > 0 {
			t.Errorf("%d skipped", skipped)
		}
	}
}

// A client that does not read costs no time and a bounded memory; what it misses is counted when it
// reads again. Records and skipped ones together are all there were.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, _ := serve(t, dir)
	c := connect(t, dir)
	o := one.Observer("")
	checkEnabled(t, o)
	message := bytes.Repeat([]byte("x"), 10_000)
	const n = 20_000
	for range n { // one that waited for the client would wait until it is disconnected, and the client would miss the rest
		if o.Enabled() {
			o.Observe("s", &record.Record{Message: message}, nil, "")
		}
	}
	got, skipped := receive(t, c, n)
	if got+skipped != n || got == 0 || got > n/2 {
		t.Errorf("%d records and %d skipped of %d", got, skipped, n)
	}
}

// Observing takes a small part of the time, however many records there are.
func TestShare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, _ := serve(t, dir)
	c := connect(t, dir)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, _, err := c.Next(); err != nil {
				return
			}
		}
	}()
	o := one.Observer("")
	checkEnabled(t, o)
	r := record.Record{Message: bytes.Repeat([]byte("x"), 300)}
	begun, used := time.Now(), tap.CPUTime()
	var observing time.Duration
	observed := 0
	for time.Since(begun) < time.Second {
		for range 100 {
			if o.Enabled() {
				start := time.Now()
				o.Observe("s", &r, nil, "")
				observing += min(time.Since(start), 100*time.Microsecond)
				observed++
			}
		}
	}
	// 2% of the CPU time, that of tests beside this one too, or 0.1% of the time, and what was saved up; twice that, as this
	// measures more than the tap does.
	all := tap.CPUTime() - used
	if most := 2 * (all/50 + time.Since(begun)/1000 + 5*time.Millisecond); observing > most || observed == 0 {
		t.Errorf("%v of %v CPU time, want at most %v, for %d records", observing, all, most, observed)
	}
	_ = c.Close()
	<-done
}

// A client past the limit is told so; a place that becomes free is taken.
func TestClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serve(t, dir)
	var all []*tap.Client
	for range tap.MaxClients {
		all = append(all, connect(t, dir))
	}
	for range 3 * tap.MaxClients {
		if _, err := tap.Connect(t.Context(), dir); !errors.Is(err, tap.ErrFull) {
			t.Fatalf("one more than %d: %v", tap.MaxClients, err)
		}
	}
	_ = all[0].Close()
	await.Until(t, time.Minute, "a client that leaves makes room", func() bool {
		c, err := tap.Connect(t.Context(), dir)
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
		} else if !errors.Is(err, tap.ErrFull) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// A client that is interrupted while the shipper does not respond returns the cause; one without a shipper says so.
func TestConnect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := tap.Connect(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no socket: %v", err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, tap.Socket))
	if err != nil {
		t.Fatal(err)
	}
	ending, end := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { end(io.ErrNoProgress) })
	if _, err := tap.Connect(ending, dir); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a client that is interrupted while it waits: %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	if _, err := tap.Connect(t.Context(), dir); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the socket of a shipper that was killed: %v", err)
	}
}

// What passed before the end is sent before it, and counted if it was skipped.
func TestEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, stop := serve(t, dir)
	c := connect(t, dir)
	o := one.Observer("")
	checkEnabled(t, o)
	const n = 2000
	for range n {
		if o.Enabled() {
			o.Observe("s", &record.Record{Message: bytes.Repeat([]byte("x"), 100)}, nil, "")
		}
	}
	go stop()
	got, skipped := receive(t, c, math.MaxUint64)
	if got+skipped < n || got == 0 {
		t.Errorf("%d records and %d skipped of %d", got, skipped, n)
	}
}

// A server that sends anything else is reported.
func TestMalformed(t *testing.T) {
	t.Parallel()
	const magic = "logstow tap 2\n\x05pod-3"
	for i, text := range []string{"HTTP/1.1 400 Bad", magic + "\x00\x00\x00\x00", magic + "\xff\xff\xff\xff", magic + "\x00\x00\x00\x01\x09", magic + "\x00\x00\x00\x02\x01\x00", magic + "\x00\x00\x00\x05\x02"} {
		dir := t.TempDir()
		l, err := net.Listen("unix", filepath.Join(dir, tap.Socket))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err == nil {
				_, _ = io.WriteString(c, text)
				_ = c.Close()
			}
		}()
		c, err := tap.Connect(t.Context(), dir)
		if err == nil {
			_, _, err = c.Next()
			_ = c.Close()
		}
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%d: %v", i, err)
		}
		_ = l.Close()
	}
}

func BenchmarkObserve(b *testing.B) {
	for _, clients := range []int{0, 1} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			dir := b.TempDir()
			one, _ := serve(b, dir)
			o := one.Observer("")
			if clients > 0 {
				c := connect(b, dir)
				go func() {
					for {
						if _, _, err := c.Next(); err != nil {
							return
						}
					}
				}()
				checkEnabled(b, o)
			}
			r := record.Record{Message: bytes.Repeat([]byte("x"), 300)}
			b.ReportAllocs()
			for b.Loop() {
				if o.Enabled() {
					o.Observe("s", &r, nil, "")
				}
			}
		})
	}
}
