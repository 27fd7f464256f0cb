package main

import (
	"bytes"
	"os"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/internal/progress"
	"logstow/internal/retry"
	"logstow/query"
	"logstow/store"
)

func TestProgressText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		done, segments, matches int64
		bound                   query.Bound
		took                    time.Duration
		want                    string
	}{
		{0, 0, 0, query.Bound{Segments: 3, Bytes: 1000}, time.Second, "[                    ]   0%  0 B of 1.0 kB, 0 of 3 segments"},
		{250, 1, 7, query.Bound{Segments: 3, Bytes: 1000}, 2 * time.Second, "[=====               ]  25%  250 B of 1.0 kB, 1 of 3 segments, 7 found, 6s left"},
		{2500, 9, 0, query.Bound{Segments: 3, Bytes: 1000}, time.Second, "[====================] 100%  1.0 kB of 1.0 kB, 3 of 3 segments"},
		{0, 0, 0, query.Bound{}, time.Second, "[====================] 100%  0 B of 0 B, 0 of 0 segments"},
		{5e8, 1, 0, query.Bound{Segments: 1, Bytes: 2e12}, time.Second, "[                    ]   0%  500.0 MB of 2.0 TB, 1 of 1 segment, 1h6m39s left"},
	} {
		if got := progressText(c.done, c.segments, c.matches, c.bound, c.took); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Text of other programs may be much more than what is stored of it.
func TestProgressOfDecoding(t *testing.T) {
	t.Parallel()
	var p queryProgress
	p.plan.Store(&scan{bound: query.Bound{Segments: 1, Bytes: 1000}, start: time.Now()})
	const want = ", 1.2 GB decoded, 7.0M lines"
	if got := p.text(query.Progress{Bytes: 500, Decoded: 1.2e9, Lines: 7e6}); !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
	if got := p.text(query.Progress{Bytes: 500}); strings.Contains(got, "decoded") {
		t.Errorf("nothing is decoded: %q", got)
	}
}

// Progress appears on a terminal after a while, and leaves nothing.
func TestProgress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		columns int
		after   time.Duration
		lines   int
	}{"off a terminal": {0, time.Minute, 0}, "short": {80, 50 * time.Millisecond, 0}, "long": {30, 500 * time.Millisecond, 3}} {
		synctest.Test(t, func(t *testing.T) {
			q, err := query.New(nil, query.Selection{From: time.Unix(0, 0), To: time.Unix(1, 0)}, query.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var errs bytes.Buffer
			env := environment{line: progress.New(&errs, c.columns)}
			var p queryProgress
			p.watch(&env, q)
			time.Sleep(1100 * time.Millisecond)
			p.planned(q, &query.Plan{})
			time.Sleep(c.after)
			p.end()
			p.end()
			got := errs.String()
			if strings.Count(got, "%") != c.lines || (c.columns > 0) != strings.Contains(got, "\rlisting: 0 blobs so far\x1b[K") || c.lines > 0 && !strings.HasSuffix(got, "\r\x1b[K") {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}

// Messages appear above the progress line, retried requests among them.
func TestMessagesAboveProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, err := query.New(nil, query.Selection{From: time.Unix(0, 0), To: time.Unix(1, 0)}, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		ctx, env := withMessages(t.Context(), environment{stderr: &errs, err: screen{columns: 80}, getenv: func(string) string { return "" }})
		var p queryProgress
		p.watch(&env, q)
		began := time.Now()
		time.Sleep(2100 * time.Millisecond)
		synctest.Wait()
		errs.Reset()
		retry.Report(ctx, began, store.ErrUnavailable, 100*time.Millisecond)
		env.warnUnused("logs", store.ErrUnusable)
		const want = "\r\x1b[Klogq: retrying for 2s, next in 100ms: storage unavailable\nlogq: logs: "
		if got := errs.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q at its start", got, want)
		}
		p.end()
	})
}

// Messages do not go between the lines of a pager.
func TestMessagesAfterPager(t *testing.T) {
	t.Parallel()
	defer signal.Reset(os.Interrupt) // a pager's caller ignores it
	var screen locked
	_, env := withMessages(t.Context(), environment{stdout: &screen, stderr: &screen, getenv: func(name string) string {
		return map[string]string{"LOGSTOW_PAGER": "sed s/^/paged:/"}[name]
	}})
	left := make(chan struct{})
	pager, err := env.pager(t.Context())(func() { close(left) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pager.Write([]byte("one\n")); err != nil {
		t.Fatal(err)
	}
	env.printf("a message")
	if err := pager.Close(); err != nil {
		t.Fatal(err)
	}
	<-left
	if got, want := screen.buf.String(), "paged:one\nlogq: a message\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

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
