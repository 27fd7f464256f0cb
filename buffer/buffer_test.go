package buffer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
)

func TestOpenChecksOptions(t *testing.T) {
	t.Parallel()
	_, err := buffer.Open(t.Context(), buffer.Options{Instance: "a/b", Width: 7 * time.Minute, FlushSize: -1, MaxOpen: -1, Memory: -1})
	if err == nil {
		t.Fatal("invalid options were accepted")
	}
	for _, want := range []string{"instance", "width", "flush size", "open buckets", "memory"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}

func TestSealsBySize(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	b := open(t, buffer.Options{FlushSize: size, FlushInterval: -1})
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 110 {
		mustAppend(t, b, chunk(rec(noon, noise(rnd, 100<<10))))
	}
	s := b.Stats()
	if s.Waiting != 3 {
		t.Fatalf("%+v, want 3 sealed", s)
	}
	for range s.Waiting {
		if batch := next(t, b); batch.Size < size*9/10 || batch.Size > size*12/10 {
			t.Errorf("a batch of %d bytes, want about %d", batch.Size, size)
		}
	}
}

func TestBatchMetadata(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{})
	c := chunk(rec(noon.Add(time.Second), "b"), rec(noon, "a"), rec(noon.Add(time.Hour), "c"))
	c.Class = "audit"
	mustAppend(t, b, c)
	b.Drain(t.Context())
	got := rest(t, b)
	if len(got) != 2 {
		t.Fatalf("%d batches, want 2", len(got))
	}
	if got[0].Meta.Records == 1 {
		got[0], got[1] = got[1], got[0]
	}
	s := got[0]
	if s.Service != "web" || !s.BucketStart.Equal(noon) || s.messages() != "a b" ||
		s.Meta.Class != "audit" || s.Meta.Instance != "test" ||
		s.Meta.Start != noon.UnixNano() || s.Meta.End != noon.Add(time.Second).UnixNano() {
		t.Errorf("got %+v with %q", s.Batch, s.messages())
	}
}

func TestClassesDoNotMix(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{})
	c := chunk(rec(noon, "a"))
	mustAppend(t, b, c)
	c.Class = "audit"
	mustAppend(t, b, c)
	if s := b.Stats(); s.Open != 2 {
		t.Errorf("%d open, want one a class", s.Open)
	}
}

func TestPositions(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{})
	commit := func(positions ...buffer.Position) {
		mustAppend(t, b, buffer.Chunk{Positions: positions})
	}
	commit(buffer.Position{Input: "a", Value: []byte("1")}, buffer.Position{Input: "b", Value: []byte("2")})
	commit(buffer.Position{Input: "a", Value: []byte("3")}, buffer.Position{Input: "b"})
	if v, ok := b.Position("a"); !ok || string(v) != "3" {
		t.Errorf("a is at %q, want the last one", v)
	}
	if v, ok := b.Position("b"); ok {
		t.Errorf("b is at %q, but was forgotten", v)
	}
}

func TestLSNsRise(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{})
	var last buffer.LSN
	for range 3 {
		lsn := mustAppend(t, b, chunk(rec(noon, "a")))
		if lsn <= last {
			t.Errorf("LSN %d after %d", lsn, last)
		}
		last = lsn
	}
}

func TestReturnComesFirst(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{})
	for _, m := range []string{"first", "second", "third"} {
		mustAppend(t, b, chunk(rec(noon, m)))
		b.Flush(t.Context())
	}
	first, second := next(t, b), next(t, b)
	if err := first.SetName("here", "web/1"); err != nil {
		t.Fatal(err)
	}
	second.Return()
	first.Return()
	again := next(t, b)
	if again.Meta.Seq != first.Meta.Seq || again.Name() != "web/1" {
		t.Errorf("got %q, want the oldest with what was written down", again.Name())
	}
	if got := next(t, b); got.Meta.Seq != second.Meta.Seq {
		t.Error("the second given back does not come second")
	}
	if s := b.Stats(); s.Sending != 2 || s.Waiting != 1 || s.Unindexed != 0 {
		t.Errorf("%+v, want 2 being sent, 1 waiting", s)
	}
	if err := again.DoneWithEntity("etag"); err != nil {
		t.Fatal(err)
	}
	if s := b.Stats(); s.Sending != 1 || s.Waiting != 1 || s.Unindexed != 1 {
		t.Errorf("%+v, want 1 being sent, 1 waiting, 1 stored and unindexed", s)
	}
}

// In a backlog the newest batch is taken now and then.
func TestNewestInBacklog(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{FlushInterval: -1, Once: true})
	const batches = 40
	for i := range batches {
		mustAppend(t, b, chunk(rec(noon.Add(time.Duration(i)*time.Hour), "x")))
		b.Flush(t.Context())
	}
	var newest, oldest int
	last := time.Time{}
	for range 12 {
		batch := next(t, b)
		switch batch.BucketStart {
		case noon.Add(time.Duration(oldest) * time.Hour):
			oldest++
		case noon.Add(time.Duration(batches-1-newest) * time.Hour):
			newest++
		default:
			t.Errorf("the batch of %v came after that of %v", batch.BucketStart, last)
		}
		last = batch.BucketStart
		if err := batch.Done(); err != nil {
			t.Fatal(err)
		}
	}
	if newest != 3 {
		t.Errorf("%d of 12 were the newest, want 3", newest)
	}
}

// Unordered times yield a bounded number of segments.
func TestRandomTimes(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{FlushInterval: -1, Memory: 256 << 20})
	rnd := rand.New(rand.NewPCG(3, 3))
	const records = 200_000
	for range records / 1000 {
		var c buffer.Chunk
		c.Service = "svc"
		for range 1000 {
			c.Records = append(c.Records, rec(noon.Add(-time.Duration(rnd.Int64N(int64(10*365*24*time.Hour)))), "x"))
		}
		mustAppend(t, b, c)
	}
	s := b.Stats()
	if n := s.Open + s.Waiting; n > 1500 {
		t.Errorf("%d segments", n)
	}
	if s.Late < records/2 {
		t.Errorf("%d records are late", s.Late)
	}
}

// A record older than MaxLateness gets the time it was read.
func TestMaxLateness(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		b := open(t, buffer.Options{MaxLateness: 30 * time.Minute, Once: once, FlushInterval: -1})
		c := chunk(rec(noon.Add(-20*time.Minute), "a"), rec(noon.Add(-31*time.Minute), "b"), rec(noon.Add(-29*time.Minute), "c"), rec(noon, "d"))
		c.Read = noon.Add(time.Minute / 2).UnixNano()
		mustAppend(t, b, c)
		b.Drain(t.Context())
		want := "a b c d"
		got := ""
		late := b.Stats().Late
		for _, s := range rest(t, b) {
			got += s.messages() + " "
		}
		if once && late != 0 || !once && late != 1 {
			t.Errorf("once %v: %d late, in %q (of %s)", once, late, got, want)
		}
	}
}

func TestDoneTwice(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{})
	mustAppend(t, b, chunk(rec(noon, "a")))
	b.Flush(t.Context())
	batch := next(t, b)
	if err := batch.Done(); err != nil {
		t.Fatal(err)
	}
	if err := batch.Done(); err == nil {
		t.Error("a second Done succeeded")
	}
	batch.Return()
	if s := b.Stats(); s.Done != 1 || s.Waiting != 0 || s.Bytes != 0 {
		t.Errorf("%+v, want one done and nothing left", s)
	}
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := open(t, buffer.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	mustAppend(t, b, chunk(rec(noon, "a")))
	b.Drain(t.Context())
	if err := next(t, b).Quarantine("storage says no"); err != nil {
		t.Fatal(err)
	}
	if s := b.Stats(); s.Quarantined != 1 || s.Bytes != 0 {
		t.Errorf("%+v, want one quarantined and no bytes", s)
	}
	if !strings.Contains(log.String(), "storage says no") || !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("log: %q", log.String())
	}
	if _, err := b.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Next returned %v, want EOF", err)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, buffer.Options{})
		mustAppend(t, b, chunk(rec(noon, "a")))
		batch := make(chan *buffer.Batch, 1)
		first := background(func() error {
			got, err := b.Next(t.Context())
			batch <- got
			return err
		})
		synctest.Wait()
		b.Drain(t.Context())
		if err := <-first; err != nil {
			t.Fatalf("the waiting Next returned %v, want the batch", err)
		}
		if _, err := b.Append(t.Context(), chunk(rec(noon, "b"))); !errors.Is(err, buffer.ErrClosed) {
			t.Errorf("Append returned %v, want ErrClosed", err)
		}
		if _, err := b.Append(t.Context(), buffer.Chunk{}); !errors.Is(err, buffer.ErrClosed) {
			t.Errorf("Append of nothing returned %v, want ErrClosed", err)
		}
		if _, err := b.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("Next returned %v, want EOF", err)
		}
		(<-batch).Return()
		if err := next(t, b).Done(); err != nil {
			t.Error(err)
		}
		b.Drain(t.Context())
	})
}

// Records of successful Appends are delivered before EOF, those of failed ones are not,
// whenever Drain is called.
func TestDrainWhileAppending(t *testing.T) {
	t.Parallel()
	for round := range 300 {
		b := open(t, buffer.Options{FlushSize: 1 + int64(round%2)<<20})
		var appending sync.WaitGroup
		var taken atomic.Int64
		for range 3 {
			appending.Go(func() {
				for {
					_, err := b.Append(t.Context(), chunk(rec(noon, "a")))
					if errors.Is(err, buffer.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					taken.Add(1)
				}
			})
		}
		var got int64
		drained := background(func() error {
			for taken.Load() < int64(round%5) {
				runtime.Gosched()
			}
			b.Drain(t.Context())
			return nil
		})
		for {
			batch, err := b.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got += int64(batch.Meta.Records)
			if err := errors.Join(batch.Load(t.Context()), batch.Done()); err != nil {
				t.Fatal(err)
			}
		}
		appending.Wait()
		if err := <-drained; err != nil || got != taken.Load() {
			t.Fatalf("round %d: %d records came out, %d were taken", round, got, taken.Load())
		}
	}
}

// Drain of an empty buffer ends a waiting Next.
func TestDrainEmpty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, buffer.Options{})
		waits := background(func() error {
			_, err := b.Next(t.Context())
			return err
		})
		synctest.Wait()
		b.Drain(t.Context())
		if err := <-waits; !errors.Is(err, io.EOF) {
			t.Errorf("Next returned %v, want EOF", err)
		}
	})
}

func TestCloseWakesWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, buffer.Options{Memory: 1})
		mustAppend(t, b, chunk(rec(noon, "a")))
		b.Flush(t.Context())
		batch := next(t, b) // so that Next has nothing and Append no memory
		waits := []<-chan error{
			background(func() error {
				_, err := b.Next(t.Context())
				return err
			}),
			background(func() error {
				_, err := b.Append(t.Context(), chunk(rec(noon, "b")))
				return err
			}),
		}
		synctest.Wait()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		for i, w := range waits {
			if err := <-w; !errors.Is(err, buffer.ErrClosed) {
				t.Errorf("waiting call %d returned %v, want ErrClosed", i, err)
			}
		}
		if err := b.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if err := batch.Done(); err != nil {
			t.Errorf("Done after Close: %v", err)
		}
	})
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{})
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := b.Append(ctx, chunk(rec(noon, "a"))); !errors.Is(err, cause) {
		t.Errorf("Append returned %v, want the cause", err)
	}
	if _, err := b.Next(ctx); !errors.Is(err, cause) {
		t.Errorf("Next returned %v, want the cause", err)
	}
}

// Seqs rise even if the clock goes back.
func TestSeqRises(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(noon.UnixNano())
	b := open(t, buffer.Options{Now: func() time.Time { return time.Unix(0, now.Load()) }, FlushInterval: -1})
	var last int64
	for _, step := range []time.Duration{0, 0, -time.Hour, 2 * time.Hour} {
		now.Add(int64(step))
		mustAppend(t, b, chunk(rec(noon, "a")))
		b.Flush(t.Context())
		seq := next(t, b).Meta.Seq
		if seq <= last {
			t.Errorf("after a step of %v: seq %d after %d", step, seq, last)
		}
		last = seq
	}
	if last != now.Load() {
		t.Errorf("the last seq is %d, want the clock's %d", last, now.Load())
	}
}
