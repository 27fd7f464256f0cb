package blobnaming_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/internal/test/testrand"
)

// next returns the next number of a bucket, for which nothing may have to be awaited.
func next(t *testing.T, n *blobnaming.Numberer, service string, bucket time.Time) uint64 {
	t.Helper()
	number, ok := n.Next(service, bucket)
	if !ok {
		t.Fatalf("Next waits for a result in %v of %s", bucket, service)
	}
	return number
}

func TestNumbererAlone(t *testing.T) {
	t.Parallel()
	n := blobnaming.NewNumberer(func(uint64) uint64 { panic("a writer alone draws nothing") })
	for hour := range 3 {
		bucket := time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)
		for want := range uint64(300) {
			got := next(t, n, "x", bucket)
			if got != want+1 {
				t.Fatalf("hour %d: got %d, want %d", hour, got, want+1)
			}
			n.Wrote("x", bucket, got)
		}
	}
}

func TestNumbererRule(t *testing.T) {
	t.Parallel()
	var limits []uint64
	n := blobnaming.NewNumberer(func(limit uint64) uint64 {
		limits = append(limits, limit)
		return uint64(len(limits))
	})
	hour := func(h int) time.Time { return time.Date(2026, 1, 1, h, 0, 0, 0, time.UTC) }
	want := func(h int, want uint64) {
		t.Helper()
		if got := next(t, n, "x", hour(h)); got != want {
			t.Fatalf("hour %d: Next is %d, want %d", h, got, want)
		}
	}
	wantWait := func(h int) {
		t.Helper()
		if got, ok := n.Next("x", hour(h)); ok {
			t.Fatalf("hour %d: Next is %d before the result of the first number", h, got)
		}
	}

	want(0, 1)
	wantWait(0)
	n.Taken("x", hour(0), 1)
	want(0, 101) // the first draw
	wantWait(0)
	n.Wrote("x", hour(0), 101)
	want(0, 102)
	want(0, 103) // while 102 is in flight
	n.Taken("x", hour(0), 102)
	want(0, 151)
	n.Taken("x", hour(0), 103) // of the draw before: no new one
	wantWait(0)
	n.Unknown("x", hour(0), 150) // another one
	wantWait(0)
	n.Unknown("x", hour(0), 151)
	want(0, 152)
	n.Wrote("x", hour(0), 152)
	n.Taken("x", hour(0), 153) // not given out: nothing to avoid
	for number := uint64(153); number < 200; number++ {
		want(0, number)
	}
	want(0, 201) // 49 numbers of its own are over
	wantWait(0)

	want(1, 251) // others were met: start at random
	n.Wrote("x", hour(1), 251)
	want(2, 301) // and still, though no other writer was met in hour 1
	n.Unknown("x", hour(2), 301)
	if got := next(t, n, "y", hour(1)); got != 1 {
		t.Errorf("another service starts at %d, want 1", got)
	}
	for range 5 {
		n.Taken("x", hour(2), next(t, n, "x", hour(2)))
	}
	wantLimits := []uint64{19_999, 19_999, 19_999, 19_999, 19_999, 19_999, 199_990, 199_990, 1_999_900, 1_999_900}
	if !slices.Equal(limits, wantLimits) {
		t.Fatalf("drew from %v, want %v", limits, wantLimits)
	}
}

func TestNumbererContinuesAfterAnEarlierProcess(t *testing.T) {
	t.Parallel()
	n := blobnaming.NewNumberer(rand.Uint64N)
	bucket := time.Unix(0, 0)
	n.Wrote("x", bucket, 7)
	if got := next(t, n, "x", bucket); got != 8 {
		t.Errorf("got %d, want 8", got)
	}
}

func TestNumbererEndlessConflicts(t *testing.T) {
	t.Parallel()
	n := blobnaming.NewNumberer(func(limit uint64) uint64 { return limit - 1 })
	bucket := time.Unix(0, 0)
	for range 200 {
		number := next(t, n, "x", bucket)
		if number == 0 || number%50 != 1 {
			t.Fatalf("drew %d: the numbers overflowed", number)
		}
		n.Taken("x", bucket, number)
	}
}

func TestNumbererForgetsTheLongestUnused(t *testing.T) {
	t.Parallel()
	n := blobnaming.NewNumberer(rand.Uint64N)
	bucket := func(i int) time.Time { return time.Unix(int64(i)*3600, 0) }
	use := func(i int) (number uint64) {
		number = next(t, n, "x", bucket(i))
		n.Wrote("x", bucket(i), number)
		return number
	}
	for i := range 4096 {
		use(i)
	}
	use(0)
	use(5000) // one more than is remembered
	if got := use(0); got != 3 {
		t.Errorf("the bucket just used was forgotten: Next is %d, want 3", got)
	}
	if got := use(1); got != 1 {
		t.Errorf("the bucket longest unused was not forgotten: Next is %d, want 1", got)
	}
}

func TestNumbererConcurrently(t *testing.T) {
	t.Parallel()
	n := blobnaming.NewNumberer(rand.Uint64N)
	bucket := time.Unix(0, 0)
	names := bucketNames{}
	n.Wrote("x", bucket, next(t, n, "x", bucket))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				number, _ := n.Next("x", bucket)
				if !names.create(number) {
					t.Errorf("%d was given out twice", number)
				}
				n.Wrote("x", bucket, number)
			}
		})
	}
	wg.Wait()
}

// bucketNames are the numbers taken in a bucket: storage with conditional create.
type bucketNames struct {
	mu    sync.Mutex
	taken map[uint64]bool
}

func (b *bucketNames) create(number uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken[number] {
		return false
	}
	if b.taken == nil {
		b.taken = make(map[uint64]bool)
	}
	b.taken[number] = true
	return true
}

// TestNumberersContend lets writers of one service, which have seen nothing of each
// other, fill buckets one after the other: at most 5% of the creates in the
// first bucket may end in conflict, and 1% in those after it.
func TestNumberersContend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                      string
		writers, batches, buckets int
	}{
		{"1 writer", 1, 20, 3},
		{"8 writers", 8, 20, 3},
		{"100 writers", 100, 20, 3},
		{"1000 writers", 1000, 20, 4},
		{"1000 writers, a batch a minute", 1000, 60, 2},
		{"20 writers, a batch a second", 20, 3600, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			random := testrand.New(t)
			writers := make([]*blobnaming.Numberer, c.writers)
			for i := range writers {
				writers[i] = blobnaming.NewNumberer(random.Uint64N)
			}
			for hour := range c.buckets {
				bucket := time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)
				conflicts := contend(random, writers, c.batches, bucket)
				creates := c.writers*c.batches + conflicts
				share := float64(conflicts) / float64(creates)
				t.Logf("bucket %d: %d of %d creates in conflict, %.2f%%", hour, conflicts, creates, 100*share)
				if limit := map[bool]float64{true: 0.05, false: 0.01}[hour == 0]; share > limit {
					t.Errorf("bucket %d: %.2f%% of creates in conflict, want at most %.0f%%", hour, 100*share, 100*limit)
				}
			}
		})
	}
}

// contend lets every writer write its batches into a bucket and counts the
// conflicts. At each step a writer drawn at random learns what became of its last
// create, and sends the next one.
func contend(random *rand.Rand, writers []*blobnaming.Numberer, batches int, bucket time.Time) (conflicts int) {
	left := make([]int, len(writers))
	active := make([]int, len(writers))
	for i := range writers {
		left[i], active[i] = batches, i
	}
	type sent struct {
		number uint64
		free   bool
	}
	flight := make(map[int]sent)
	var names bucketNames
	for len(active) > 0 {
		at := random.IntN(len(active))
		w := active[at]
		if s, ok := flight[w]; ok {
			if s.free {
				writers[w].Wrote("x", bucket, s.number)
				left[w]--
			} else {
				writers[w].Taken("x", bucket, s.number)
				conflicts++
			}
			delete(flight, w)
		}
		if left[w] == 0 {
			active[at] = active[len(active)-1]
			active = active[:len(active)-1]
			continue
		}
		number, _ := writers[w].Next("x", bucket) // each waits for its last result
		flight[w] = sent{number, names.create(number)}
	}
	return conflicts
}
