package buffer_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"logstow/buffer"
)

// waiting asserts how many batches are open and sealed when all goroutines are idle.
func waiting(t *testing.T, b *buffer.Buffer, open, sealed int) {
	t.Helper()
	synctest.Wait()
	if s := b.Stats(); s.Open != open || s.Waiting != sealed {
		t.Fatalf("%d open and %d waiting at %v, want %d and %d", s.Open, s.Waiting, time.Now().UTC(), open, sealed)
	}
}

func TestSealsByAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, buffer.Options{FlushInterval: 10 * time.Second})
		old := chunk(rec(noon, "a"))
		mustAppend(t, b, old)
		time.Sleep(6 * time.Second)
		mustAppend(t, b, old)
		waiting(t, b, 1, 0)
		time.Sleep(3999 * time.Millisecond)
		waiting(t, b, 1, 0)
		time.Sleep(time.Millisecond)
		waiting(t, b, 0, 1)

		// Batches of different ages are sealed at different times.
		for range 3 {
			c := old
			c.Records = fill(2, noon.Add(time.Duration(b.Stats().Open)*time.Hour), "b")
			mustAppend(t, b, c)
			time.Sleep(time.Second)
		}
		waiting(t, b, 3, 1)
		time.Sleep(7 * time.Second)
		waiting(t, b, 2, 2)
		time.Sleep(time.Second)
		waiting(t, b, 1, 3)
		time.Sleep(time.Second)
		waiting(t, b, 0, 4)
		if got := decode(t, next(t, b)).messages(); got != "a a" {
			t.Errorf("the first batch holds %q", got)
		}
	})
}

// TestSealsAtBucketEnd: the bubble's clock starts on the hour.
func TestSealsAtBucketEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, buffer.Options{FlushInterval: 20 * time.Minute, Width: 5 * time.Minute})
		now := time.Now()
		time.Sleep(4 * time.Minute)
		mustAppend(t, b, chunk(rec(now, "in time")))
		mustAppend(t, b, chunk(rec(now.Add(5*time.Minute), "of the next bucket")))
		mustAppend(t, b, chunk(rec(now.Add(-time.Hour), "late")))
		time.Sleep(time.Minute)
		waiting(t, b, 3, 0)
		time.Sleep(2 * time.Second) // the grace after a bucket's end
		waiting(t, b, 2, 1)
		// A late record of the bucket that has just ended is sealed by age.
		mustAppend(t, b, chunk(rec(now, "straggler")))
		time.Sleep(5 * time.Minute)
		waiting(t, b, 2, 2)
		time.Sleep(14 * time.Minute)
		waiting(t, b, 1, 3)
		time.Sleep(2 * time.Minute)
		waiting(t, b, 0, 4)
	})
}

func TestNoTimerSeals(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]buffer.Options{
		"once":          {Once: true},
		"never, by age": {FlushInterval: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := open(t, opts)
				mustAppend(t, b, chunk(rec(time.Now().Add(-100*time.Hour), "old")))
				time.Sleep(24 * time.Hour)
				waiting(t, b, 1, 0)
			})
		})
	}
}

// A batch with little text is sealed at MaxFlushInterval; one that reaches 1 MiB, and one of a followed service, at FlushInterval, or
// at once if that has passed.
func TestMaxFlushInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, buffer.Options{FlushInterval: time.Minute, MaxFlushInterval: 15 * time.Minute})
		small := func(service string) {
			t.Helper()
			c := chunk(rec(noon, "a"))
			c.Service = service
			mustAppend(t, b, c)
		}
		large := func(service string) {
			t.Helper()
			c := chunk(rec(noon, strings.Repeat("a", 1<<19)), rec(noon, strings.Repeat("b", 1<<19)))
			c.Service = service
			mustAppend(t, b, c)
		}
		small("a")
		time.Sleep(15*time.Minute - time.Millisecond)
		waiting(t, b, 1, 0)
		time.Sleep(time.Millisecond)
		waiting(t, b, 0, 1)

		large("a")
		time.Sleep(time.Minute - time.Millisecond)
		waiting(t, b, 1, 1)
		time.Sleep(time.Millisecond)
		waiting(t, b, 0, 2)
		small("a")
		time.Sleep(5 * time.Minute)
		large("a")
		waiting(t, b, 0, 3)

		b.SetFollowed("b", true)
		small("a")
		small("b")
		time.Sleep(time.Minute)
		waiting(t, b, 1, 4)
		small("b")
		b.SetFollowed("b", false)
		time.Sleep(time.Minute)
		waiting(t, b, 2, 4)
		b.SetFollowed("b", true)
		waiting(t, b, 1, 5)
		b.SetFlushIntervals(time.Minute, 10*time.Minute)
		time.Sleep(8 * time.Minute)
		waiting(t, b, 0, 6)
		small("a")
		time.Sleep(2 * time.Minute)
		b.SetFlushIntervals(time.Minute, 0)
		waiting(t, b, 0, 7)
		small("a")
		b.SetFlushIntervals(time.Minute, 30*time.Second) // less than FlushInterval
		time.Sleep(59 * time.Second)
		waiting(t, b, 1, 7)
		time.Sleep(time.Second)
		waiting(t, b, 0, 8)
	})
	synctest.Test(t, func(t *testing.T) { // of a bucket that ends before
		b := open(t, buffer.Options{FlushInterval: time.Minute, MaxFlushInterval: 15 * time.Minute, Width: 5 * time.Minute})
		mustAppend(t, b, chunk(rec(time.Now(), "a")))
		time.Sleep(5*time.Minute + time.Second)
		waiting(t, b, 1, 0)
		time.Sleep(time.Second)
		waiting(t, b, 0, 1)
	})
}

func TestNextIsWokenBySealing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, buffer.Options{FlushInterval: time.Second})
		got := background(func() error {
			_, err := b.Next(t.Context())
			return err
		})
		mustAppend(t, b, chunk(rec(noon, "a")))
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatalf("Next returned before anything was sealed: %v", err)
		default:
		}
		time.Sleep(time.Millisecond)
		if err := <-got; err != nil {
			t.Fatal(err)
		}
	})
}
