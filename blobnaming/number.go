package blobnaming

import (
	"math"
	"sync"
	"time"
)

const (
	// runLength is the length of a run of consecutive numbers. A writer draws a run, uses its first
	// runLength-1 numbers, and then draws another.
	runLength = 50
	// runs is the number of runs to draw from: their numbers have at most six digits.
	runs = 1_000_000/runLength - 1
	// maxRuns is the maximum number of runs to draw from: their numbers have at most 16 digits.
	maxRuns = 9_000_000_000_000_000/runLength - 1
	// maxBuckets is the maximum number of buckets that a Numberer remembers.
	maxBuckets = 4096
)

// Numberer returns the numbers that one writer tries, so that a single writer counts 1, 2, 3, … and
// several writers of one service rarely try the same number. A number belongs to the writer whose
// conditional create succeeds; a Numberer only remembers the results:
//
//   - In a new bucket it starts at 1 if it has not detected another writer of the service,
//     otherwise at a random number.
//   - After a conflict, and after 49 numbers in a row from one draw, it draws
//     again: s x 50 + 1, s from 1 to 19,999, and from ten times as many after
//     every second conflict in a row.
//
// It remembers the 4,096 buckets used last. Safe for concurrent use.
//
// Next never returns a number twice, so several creates in one bucket may be in flight: the first of each
// draw alone, because its numbers may all be taken, and the others once it has succeeded.
type Numberer struct {
	random func(n uint64) uint64

	mu      sync.Mutex
	clock   uint64 // counts uses, to find the least recently used bucket
	buckets map[bucketKey]*run
	// services has an entry for each service of buckets.
	services map[string]*otherWriters
}

// bucketKey names a bucket of a service; start is in Unix seconds.
type bucketKey struct {
	service string
	start   int64
}

// run is a writer's range of numbers in one bucket, from first to end (excluded); next is the one to try
// next.
type run struct {
	first, next, end uint64
	// free is set once one of its numbers was free, trying is the number whose result Next waits for until then; 0 is none.
	free   bool
	trying uint64
	// conflicts is the number of conflicts since the last free number.
	conflicts int
	used      uint64
}

// otherWriters records whether a service has other writers.
type otherWriters struct {
	// seen is set when a number was taken. It stays set: a writer that starts at random numbers
	// cannot detect that the others have ended.
	seen    bool
	buckets int
}

// NewNumberer makes a Numberer; random returns a number in [0, n), as
// [math/rand/v2.Uint64N] does.
func NewNumberer(random func(n uint64) uint64) *Numberer {
	return &Numberer{
		random:   random,
		buckets:  make(map[bucketKey]*run),
		services: make(map[string]*otherWriters),
	}
}

// Next returns the number to try for the next batch in a bucket of a service. ok is false while the first number of a draw
// is being tried: the caller must wait for its Wrote, Taken or Unknown.
func (n *Numberer) Next(service string, bucket time.Time) (number uint64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.run(service, bucket)
	if r.next == r.end {
		n.draw(r)
	}
	if !r.free {
		if r.trying != 0 {
			return 0, false
		}
		r.trying = r.next
	}
	r.next++
	return r.next - 1, true
}

// Unknown reports that a number was not tried, or that the result is not known.
func (n *Numberer) Unknown(service string, bucket time.Time, number uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.run(service, bucket); r.trying == number {
		r.trying = 0
	}
}

// Taken reports that a number belongs to another writer; the following Next avoids it. A number of
// an earlier draw changes nothing.
func (n *Numberer) Taken(service string, bucket time.Time, number uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.run(service, bucket)
	n.services[service].seen = true
	if r.first <= number && number < r.next {
		r.conflicts++
		n.draw(r)
	}
}

// Wrote reports that this writer created a number. It may be one that an earlier process drew:
// counting continues after it.
func (n *Numberer) Wrote(service string, bucket time.Time, number uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.run(service, bucket)
	if r.first <= number && number < r.end {
		r.conflicts = 0
		r.free, r.trying = true, 0
		r.next = max(r.next, number+1)
	}
}

// run finds the range of a bucket, or starts one.
func (n *Numberer) run(service string, bucket time.Time) *run {
	n.clock++
	key := bucketKey{service, bucket.Unix()}
	r := n.buckets[key]
	if r == nil {
		if len(n.buckets) == maxBuckets {
			n.evict()
		}
		s := n.services[service]
		if s == nil {
			s = &otherWriters{}
			n.services[service] = s
		}
		s.buckets++
		r = &run{first: 1, next: 1, end: (maxRuns + 1) * runLength}
		if s.seen {
			n.draw(r)
		}
		n.buckets[key] = r
	}
	r.used = n.clock
	return r
}

// draw moves r to random numbers.
func (n *Numberer) draw(r *run) {
	limit := uint64(runs)
	for range r.conflicts / 2 {
		limit = min(limit*10, maxRuns)
	}
	r.first = (1+n.random(limit))*runLength + 1
	r.next = r.first
	r.end = r.first + runLength - 1
	r.free, r.trying = false, 0
}

// evict removes the least recently used bucket.
func (n *Numberer) evict() {
	var oldest bucketKey
	least := uint64(math.MaxUint64)
	for key, r := range n.buckets {
		if r.used < least {
			oldest, least = key, r.used
		}
	}
	delete(n.buckets, oldest)
	s := n.services[oldest.service]
	if s.buckets--; s.buckets == 0 {
		delete(n.services, oldest.service)
	}
}
