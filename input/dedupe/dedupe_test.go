package dedupe_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logstow/buffer"
	"logstow/input/dedupe"
	"logstow/internal/test/testrand"
	"logstow/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps positions, and counts what is stored with them.
type sink struct {
	mu        sync.Mutex
	positions map[string][]byte
	stored    map[string]int
	lsn       buffer.LSN
}

func newSink() *sink { return &sink{positions: map[string][]byte{}, stored: map[string]int{}} }

func (s *sink) Positions(prefix string) (all []buffer.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, value := range s.positions {
		if strings.HasPrefix(name, prefix) {
			all = append(all, buffer.Position{Input: name, Value: value})
		}
	}
	slices.SortFunc(all, func(x, y buffer.Position) int { return strings.Compare(x.Input, y.Input) })
	return all
}

// store stores a part of a request with its positions.
func (s *sink) store(part string, positions []buffer.Position) (buffer.LSN, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[part]++
	for _, p := range positions {
		if len(p.Value) == 0 {
			delete(s.positions, p.Input)
		} else {
			s.positions[p.Input] = slices.Clone(p.Value)
		}
	}
	s.lsn++
	return s.lsn, nil
}

// clock is a clock that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// send sends a request of several parts, of which those that are not stored are stored, and returns how many
// were not. fail reports for each of them whether the buffer has no space.
func send(ctx context.Context, k *dedupe.Keys, s *sink, key dedupe.Key, name string, parts int, fail func() bool) (int, error) {
	r, err := k.Begin(ctx, key)
	if err != nil {
		return 0, err
	}
	defer r.End()
	from := r.Stored()
	for i := from; i < parts; i++ {
		err := r.Commit(i+1, i+1 == parts, func(positions []buffer.Position) (buffer.LSN, error) {
			if fail != nil && fail() {
				return 0, errFull
			}
			return s.store(fmt.Sprint(name, " ", i), positions)
		})
		if err != nil {
			return i - from, err
		}
	}
	return parts - from, nil
}

var errFull = errors.New("full")

func named(name string) dedupe.Key { return dedupe.NewKey("lines web", name, []byte(name)) }

func mustSend(t *testing.T, k *dedupe.Keys, s *sink, key dedupe.Key, name string, parts, want int) {
	t.Helper()
	if n, err := send(t.Context(), k, s, key, name, parts, nil); n != want || err != nil {
		t.Errorf("%s: %d parts stored, want %d: %v", name, n, want, err)
	}
}

// Senders repeat requests, the buffer has no space, and the process is killed, at random: each part of
// each request is stored once.
func TestExactlyOnce(t *testing.T) {
	t.Parallel()
	seed := testrand.Seed(t)
	for _, transient := range []bool{false, true} {
		s, c := newSink(), newClock()
		for life := range 20 {
			k := dedupe.New(s, 0, c.now)
			var all sync.WaitGroup
			for sender := range 8 {
				rnd := rand.New(rand.NewPCG(seed, uint64(life*8+sender)))
				all.Go(func() {
					fail := func() bool { return rnd.IntN(3) == 0 }
					for i := range 30 {
						name := fmt.Sprintf("sender %d request %d", sender/2, i) // two senders send the same
						parts := 1 + i%4
						key := named(name)
						if transient {
							if sender%2 == 1 || i > life { // repeated after success, it would be another request
								continue
							}
							key = dedupe.PartsKey("otlp web", []byte(name))
						}
						if transient && s.count(name, parts) == parts {
							continue
						}
						if _, err := send(t.Context(), k, s, key, name, parts, fail); err != nil && !errors.Is(err, errFull) {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			c.add(time.Second)
		}
		if len(s.stored) < 100 {
			t.Errorf("%d parts stored", len(s.stored))
		}
		for part, n := range s.stored {
			if n != 1 {
				t.Errorf("%s: stored %d times", part, n)
			}
		}
	}
}

// count is how many parts of a request are stored.
func (s *sink) count(name string, parts int) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range parts {
		n += min(1, s.stored[fmt.Sprint(name, " ", i)])
	}
	return n
}

func TestReused(t *testing.T) {
	t.Parallel()
	s, c := newSink(), newClock()
	k := dedupe.New(s, 0, c.now)
	mustSend(t, k, s, dedupe.NewKey("lines web", "1", []byte("one")), "one", 1, 1)
	for _, k := range []*dedupe.Keys{k, dedupe.New(s, 0, c.now)} {
		mustSend(t, k, s, dedupe.NewKey("lines web", "1", []byte("one")), "one", 1, 0)
		if _, err := k.Begin(t.Context(), dedupe.NewKey("lines web", "1", []byte("two"))); !errors.Is(err, dedupe.ErrReused) {
			t.Errorf("another content: %v", err)
		}
	}
	mustSend(t, k, s, dedupe.NewKey("lines shop", "1", []byte("two")), "another scope", 1, 1)
}

// A request whose key is in use waits for it.
func TestWait(t *testing.T) {
	t.Parallel()
	s := newSink()
	k := dedupe.New(s, 0, newClock().now)
	r, err := k.Begin(t.Context(), named("a"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errFull)
	if _, err := k.Begin(ctx, named("a")); !errors.Is(err, errFull) {
		t.Errorf("ended while it waits: %v", err)
	}
	second := make(chan int)
	go func() {
		n, err := send(t.Context(), k, s, named("a"), "a", 1, nil)
		if err != nil {
			t.Error(err)
		}
		second <- n
	}()
	if err := r.Commit(1, true, func(p []buffer.Position) (buffer.LSN, error) { return s.store("a 0", p) }); err != nil {
		t.Error(err)
	}
	r.End()
	if n := <-second; n != 0 {
		t.Errorf("%d parts stored again", n)
	}
}

// A transient key is forgotten when all is stored, also by a process that resumed the request.
func TestTransient(t *testing.T) {
	t.Parallel()
	s, c := newSink(), newClock()
	key := dedupe.PartsKey("otlp web", []byte("x"))
	k := dedupe.New(s, 0, c.now)
	mustSend(t, k, s, key, "x", 3, 3)
	mustSend(t, k, s, key, "x", 3, 3)
	left := 1
	full := func() bool { left--; return left < 0 }
	if n, err := send(t.Context(), k, s, key, "x", 3, full); n != 1 || !errors.Is(err, errFull) {
		t.Fatal(n, err)
	}
	k = dedupe.New(s, 0, c.now)
	mustSend(t, k, s, key, "x", 3, 2)
	mustSend(t, k, s, key, "x", 3, 3)
	k = dedupe.New(s, 0, c.now)
	mustSend(t, k, s, key, "x", 3, 3)
}

// A request with the content of one that was resumed and is forgotten is another one, also if it is resumed in the
// same second, with the clock set back.
func TestTransientRepeated(t *testing.T) {
	t.Parallel()
	s, c := newSink(), newClock()
	key := dedupe.PartsKey("otlp web", []byte("x"))
	k := dedupe.New(s, 0, c.now)
	for _, restart := range []bool{false, true, false, true} {
		left := 1
		full := func() bool { left--; return left < 0 }
		if n, err := send(t.Context(), k, s, key, "x", 3, full); n != 1 || !errors.Is(err, errFull) {
			t.Fatal(n, err)
		}
		if restart {
			k = dedupe.New(s, 0, c.now)
		}
		mustSend(t, k, s, key, "x", 3, 2)
		c.add(-time.Second)
	}
}

// Keys are kept for an hour, and no more than the limit.
func TestForget(t *testing.T) {
	t.Parallel()
	s, c := newSink(), newClock()
	const limit = 200
	k := dedupe.New(s, limit, c.now)
	for i := range 1000 {
		mustSend(t, k, s, named(fmt.Sprint(i)), fmt.Sprint(i), 1, 1)
	}
	for _, k := range []*dedupe.Keys{k, dedupe.New(s, limit, c.now)} {
		for i := 1000 - limit + 16; i < 1000; i++ {
			mustSend(t, k, s, named(fmt.Sprint(i)), fmt.Sprint(i), 1, 0)
		}
	}
	if pages := len(s.Positions(buffer.KeyPrefix)); pages > limit/16+1 {
		t.Errorf("%d pages for %d keys", pages, limit)
	}
	mustSend(t, k, s, named("0"), "0", 1, 1)
	c.add(dedupe.Lifetime + 2*time.Second)
	mustSend(t, k, s, named("999"), "999", 1, 1)
	for i := range 10 {
		mustSend(t, k, s, named(fmt.Sprint("more ", i)), "more", 1, 1)
	}
	if pages := len(s.Positions(buffer.KeyPrefix)); pages > 2 {
		t.Errorf("%d pages an hour later", pages)
	}
}

// Keys and records of a buffer on disk agree after the process ended without a word.
func TestBuffer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Now()
	stored := 0
	for range 3 {
		b, err := buffer.Open(t.Context(), buffer.Options{Dir: dir, Instance: "i"})
		if err != nil {
			t.Fatal(err)
		}
		k := dedupe.New(b, 0, time.Now)
		for i := range 40 {
			r, err := k.Begin(t.Context(), named(fmt.Sprint(i)))
			if err != nil {
				t.Fatal(err)
			}
			if r.Stored() == 0 {
				stored++
				err = r.Commit(1, true, func(positions []buffer.Position) (buffer.LSN, error) {
					return b.Append(t.Context(), buffer.Chunk{
						Service: "web", Positions: positions,
						Records: []record.Record{{Time: at.UnixNano(), Source: "s", Message: []byte("x")}},
					})
				})
			}
			r.End()
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if stored != 40 {
		t.Errorf("%d requests stored, want 40", stored)
	}
}

// Whatever is in the buffer, keys work.
func FuzzLoad(f *testing.F) {
	s := newSink()
	k := dedupe.New(s, 0, newClock().now)
	for i := range 20 {
		_, _ = send(context.Background(), k, s, named(fmt.Sprint(i)), "x", 1, nil)
	}
	for _, p := range s.Positions("") {
		f.Add(p.Input, p.Value)
	}
	f.Add(buffer.KeyPrefix+"fffff", []byte{1})
	f.Add(buffer.KeyPrefix+"-1", []byte{2, 0})
	f.Fuzz(func(t *testing.T, name string, value []byte) {
		s := newSink()
		s.positions[name] = value
		k := dedupe.New(s, 0, newClock().now)
		mustSend(t, k, s, named("new"), "new", 1, 1)
		mustSend(t, k, s, named("new"), "new", 1, 0)
		mustSend(t, dedupe.New(s, 0, newClock().now), s, named("new"), "new", 1, 0)
	})
}

func BenchmarkCommit(b *testing.B) {
	s := newSink()
	k := dedupe.New(s, 0, time.Now)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r, err := k.Begin(b.Context(), named(fmt.Sprint(i)))
		if err != nil {
			b.Fatal(err)
		}
		_ = r.Commit(1, true, func(p []buffer.Position) (buffer.LSN, error) { return s.store("x", p) })
		r.End()
	}
}
