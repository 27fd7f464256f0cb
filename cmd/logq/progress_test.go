package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/query"
)

func TestProgressLine(t *testing.T) {
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
		{5e8, 1, 0, query.Bound{Segments: 1, Bytes: 2e12}, time.Second, "[                    ]   0%  500.0 MB of 2.0 TB, 1 of 1 segments, 1h6m39s left"},
	} {
		if got := progressLine(c.done, c.segments, c.matches, c.bound, c.took); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Text of other programs may be much more than what is stored of it.
func TestProgressOfDecoding(t *testing.T) {
	t.Parallel()
	var p progress
	p.plan.Store(&scan{bound: query.Bound{Segments: 1, Bytes: 1000}, start: time.Now()})
	const want = ", 1.2 GB decoded, 7.0M lines"
	if got := p.line(query.Progress{Bytes: 500, Decoded: 1.2e9, Lines: 7e6}); !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
	if got := p.line(query.Progress{Bytes: 500}); strings.Contains(got, "decoded") {
		t.Errorf("nothing is decoded: %q", got)
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
			var errs locked
			env := environment{stderr: &errs, err: screen{columns: c.columns}, getenv: func(string) string { return "" }}
			var p progress
			p.watch(&env, q)
			time.Sleep(1100 * time.Millisecond)
			p.planned(q, &query.Plan{})
			time.Sleep(c.after)
			p.end()
			p.end()
			got := errs.buf.String()
			if strings.Count(got, "%") != c.lines || (c.columns > 0) != strings.Contains(got, "\rlisting: 0 blobs so far\x1b[K") || c.lines > 0 && !strings.HasSuffix(got, "\r\x1b[K") {
				t.Errorf("%s: %q", name, got)
			}
			for line := range strings.SplitSeq(got, "\r") {
				if len(strings.TrimSuffix(line, "\x1b[K")) >= 30 {
					t.Errorf("%s: longer than the terminal: %q", name, line)
				}
			}
			p.watch(&env, q) // it has ended: nothing starts
			p.end()
		})
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		2 * time.Hour: "2h", 90 * time.Minute: "1h30m", 10 * time.Minute: "10m", 2 * time.Second: "2s", time.Hour + time.Second: "1h0m1s", 100 * time.Millisecond: "100ms", 0: "0s",
	} {
		if got := short(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
