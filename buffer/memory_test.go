package buffer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
)

// TestMemoryIsBounded: without deliveries Append waits and the limit holds; one Done lets
// Append continue.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 4 << 20
		b := open(t, buffer.Options{Memory: limit, FlushSize: 1 << 20, FlushInterval: -1})
		rnd := rand.New(rand.NewPCG(1, 2))
		errStop := errors.New("stopped by the test")
		ctx, cancel := context.WithCancelCause(t.Context())
		appended := 0
		done := background(func() error {
			for {
				c := chunk(rec(noon, noise(rnd, 100<<10)))
				if _, err := b.Append(ctx, c); err != nil {
					return err
				}
				appended++
			}
		})
		synctest.Wait()
		before := appended
		s := b.Stats()
		if s.Bytes > limit || s.Waiting == 0 || before == 0 {
			t.Fatalf("after %d chunks: %+v, want waiting batches within %d bytes", before, s, limit)
		}
		if err := next(t, b).Done(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if appended == before {
			t.Error("Append did not go on after Done")
		}
		before = appended
		if err := next(t, b).DoneWithEntity("etag"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if appended == before {
			t.Error("Append did not go on after DoneWithEntity, which frees the bytes")
		}
		cancel(errStop)
		if err := <-done; !errors.Is(err, errStop) {
			t.Errorf("Append returned %v, want the cause of its context's end", err)
		}
		if s := b.Stats(); s.Records != uint64(appended) {
			t.Errorf("%d records are counted, %d were appended", s.Records, appended)
		}
	})
}

// TestMemorySealsWhatIsUnused: when memory is short, a batch that is no longer used is
// sealed, not the one being filled.
func TestMemorySealsWhatIsUnused(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{Memory: 800 << 10, FlushInterval: -1, Once: true})
	rnd := rand.New(rand.NewPCG(3, 4))
	for hour, n := range []int{7, 10, 10, 10} {
		for range n {
			mustAppend(t, b, chunk(rec(noon.Add(time.Duration(hour)*time.Hour), noise(rnd, 10<<10))))
		}
	}
	if s := b.Stats(); s.Waiting == 0 || s.Open == 0 {
		t.Fatalf("%+v, want some sealed and some open", s)
	}
	batch := next(t, b)
	if !batch.BucketStart.Equal(noon) || batch.Meta.Records != 7 {
		t.Errorf("sealed first: bucket %v with %d records, want that of %v, complete with 7", batch.BucketStart, batch.Meta.Records, noon)
	}
}

// A chunk larger than the memory limit is accepted when the buffer is empty.
func TestChunkLargerThanMemory(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{Memory: 1000, FlushInterval: -1})
	rnd := rand.New(rand.NewPCG(5, 6))
	done := background(func() error {
		for range 3 {
			if _, err := b.Append(context.Background(), chunk(rec(noon, noise(rnd, 2<<20)))); err != nil {
				return err
			}
		}
		b.Drain(t.Context())
		return nil
	})
	got := 0
	for _, s := range rest(t, b) {
		got += len(s.records)
	}
	if err := <-done; err != nil || got != 3 {
		t.Errorf("%d records, %v; want 3", got, err)
	}
}

// A file whose lines have times in thousands of hours, in no order, becomes one segment for each hour: the
// number of segments is what shipping it costs.
func TestSpreadTimesStayOpen(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{FlushInterval: -1, Once: true})
	const hours = 5000
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 2 {
		for _, hour := range rnd.Perm(hours) {
			mustAppend(t, b, chunk(rec(noon.Add(-time.Duration(hour)*time.Hour), "a line of about eighty bytes, as long as a short line of a log usually is, or so")))
		}
	}
	if s := b.Stats(); s.Open != hours || s.Waiting != 0 {
		t.Errorf("%+v, want %d open batches", s, hours)
	}
}

// TestManyOpenBatchesAreCheap: hundreds of services with a few records each stay open together.
func TestManyOpenBatchesAreCheap(t *testing.T) {
	t.Parallel()
	b := open(t, buffer.Options{FlushInterval: -1})
	for i := range 1000 {
		c := chunk(fill(10, noon, "a few words to keep ")...)
		c.Service = fmt.Sprintf("service-%d", i)
		mustAppend(t, b, c)
	}
	if s := b.Stats(); s.Open != 1000 || s.Waiting != 0 {
		t.Errorf("%+v, want 1000 open batches", s)
	}
}
