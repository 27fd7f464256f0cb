package buffer_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
	"logstow/record"
)

// observed collects what Observe gets.
type observed struct {
	mu  sync.Mutex
	all []string
}

func (o *observed) observe(service, parser string, records []record.Record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range records {
		o.all = append(o.all, fmt.Sprintf("%s %s %s %s", service, parser, time.Unix(0, r.Time).UTC().Format("15:04"), r.Message))
	}
}

func (o *observed) want(t *testing.T, lines ...string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if got := strings.Join(o.all, "\n"); got != strings.Join(lines, "\n") {
		t.Errorf("observed:\n%s", got)
	}
}

// Observe gets each record once, as it is stored: in the life in which it was appended, not where the log is
// replayed. It gets none that is rejected.
func TestObserve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var first, second observed
	opts := buffer.Options{Instance: "i", Dir: dir, FlushInterval: -1, MaxLateness: time.Hour, Observe: first.observe}
	b, err := buffer.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	c := chunk(rec(noon, "in time"), rec(noon.Add(-3*time.Hour), "late"))
	c.Read, c.Parse = noon.Add(time.Minute).UnixNano(), "none/1"
	mustAppend(t, b, c)
	mustAppend(t, b, buffer.Chunk{Positions: []buffer.Position{{Input: "a", Value: []byte("1")}}})
	invalid := chunk(rec(noon, "invalid"))
	invalid.Service = "not/valid"
	if _, err := b.Append(t.Context(), invalid); err == nil {
		t.Error("an invalid chunk was accepted")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(t.Context(), c); err == nil {
		t.Error("appended to a closed buffer")
	}
	first.want(t, "web none/1 12:00 in time", "web none/1 12:01 late")

	opts.Observe = second.observe
	b = open(t, opts)
	mustAppend(t, b, chunk(rec(noon, "later")))
	if n := b.Stats().Replayed; n != 2 {
		t.Errorf("%d replayed", n)
	}
	second.want(t, "web  12:00 later")
}

// SetFlushIntervals applies to open batches too, in both directions, and not past the end of their bucket.
func TestSetFlushIntervals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, buffer.Options{FlushInterval: 10 * time.Second})
		old := chunk(rec(noon, "a"))
		mustAppend(t, b, old)
		time.Sleep(2 * time.Second)
		b.SetFlushIntervals(20*time.Second, 0)
		time.Sleep(17 * time.Second)
		waiting(t, b, 1, 0)
		b.SetFlushIntervals(19*time.Second, 0) // its age
		waiting(t, b, 0, 1)

		b.SetFlushIntervals(time.Hour, 0)
		mustAppend(t, b, old)
		time.Sleep(5 * time.Second)
		b.SetFlushIntervals(7*time.Second, 0)
		time.Sleep(1999 * time.Millisecond)
		waiting(t, b, 1, 1)
		time.Sleep(time.Millisecond)
		waiting(t, b, 0, 2)

		now := time.Now() // its bucket ends within the hour
		mustAppend(t, b, chunk(rec(now, "b")))
		b.SetFlushIntervals(-1, 0)
		time.Sleep(now.Truncate(time.Hour).Add(time.Hour).Sub(now) + time.Second)
		waiting(t, b, 1, 2)
		time.Sleep(time.Second)
		waiting(t, b, 0, 3)
	})

	synctest.Test(t, func(t *testing.T) {
		b := open(t, buffer.Options{Once: true})
		mustAppend(t, b, chunk(rec(noon, "a")))
		b.SetFlushIntervals(time.Second, 0)
		time.Sleep(time.Hour)
		waiting(t, b, 1, 0)
	})
}
