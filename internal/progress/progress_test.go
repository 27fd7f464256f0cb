package progress_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/progress"
)

// locked is a buffer that two goroutines may use.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// take returns what was written since the last call.
func (l *locked) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.buf.Reset()
	return l.buf.String()
}

func TestLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var to locked
		l := progress.New(&to, 10)
		want := func(what, want string) {
			t.Helper()
			if got := to.take(); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		n := 0
		stop := l.Start(func() string {
			n++
			return fmt.Sprintf("line %d is long", n)
		})
		fmt.Fprintln(l, "early")
		want("before the line", "early\n")
		time.Sleep(1010 * time.Millisecond)
		want("the line, cut", "\rline 1 is\x1b[K")
		fmt.Fprintln(l, "one")
		fmt.Fprintln(l, "two")
		want("messages above it", "\r\x1b[Kone\ntwo\n")
		time.Sleep(200 * time.Millisecond)
		want("redrawn", "\rline 2 is\x1b[K")

		release := l.Hold()
		want("held: removed", "\r\x1b[K")
		fmt.Fprintln(l, "three")
		time.Sleep(time.Second)
		want("while held", "")
		release()
		release()
		want("released", "three\n")
		time.Sleep(200 * time.Millisecond)
		if got := to.take(); !strings.HasPrefix(got, "\rline ") {
			t.Errorf("not redrawn after the release: %q", got)
		}
		stop()
		stop()
		want("stopped", "\r\x1b[K")
		time.Sleep(time.Second)
		fmt.Fprintln(l, "four")
		want("after the end", "four\n")
	})
}

// A stream that is not a terminal gets messages only.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var to locked
		l := progress.New(&to, 0)
		stop := l.Start(func() string { return "progress" })
		time.Sleep(time.Minute)
		fmt.Fprintln(l, "message")
		stop()
		if got := to.take(); got != "message\n" {
			t.Errorf("%q", got)
		}
	})
	if rows, columns := progress.Screen(&bytes.Buffer{}); rows != 0 || columns != 0 {
		t.Errorf("a buffer is a terminal of %d rows and %d columns", rows, columns)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if rows, columns := progress.Screen(f); rows != 0 || columns != 0 {
		t.Errorf("%s is a terminal of %d rows and %d columns", os.DevNull, rows, columns)
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		done, all int64
		want      string
	}{
		{0, 1000, "[                    ]   0%"},
		{250, 1000, "[=====               ]  25%"},
		{2500, 1000, "[====================] 100%"},
		{0, 0, "[====================] 100%"},
	} {
		if got := progress.Bar(c.done, c.all); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.done, c.all, got, c.want)
		}
	}
}
