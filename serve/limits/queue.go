package limits

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// queue limits how many queries run (slots) and how many wait to run (places). It is fair between keys:
//
//   - A key holds at most all slots but one, so that the query of another never waits for one key alone.
//   - Queries that wait are served round-robin by key.
//   - If all places are taken, a query of a key with few of them takes the place of the last one of the key with most.
//
// The key "" is a client that shares the queue with no other: it may hold all slots. It is safe for concurrent use.
type queue struct {
	slots, places int

	mu      sync.Mutex
	running int
	held    map[string]int       // the slots that are held, by key
	waiting int                  // the number of queries in lines
	lines   map[string][]*waiter // the queries that wait, by key, in the order of arrival
	turns   []string             // the keys of lines; the first that may hold another slot is served next
}

// waiter is a query that waits. decided is closed when it has a slot, or when it has lost its place: then lost is set.
type waiter struct {
	decided chan struct{}
	lost    bool
}

// newQueue returns an empty queue.
func newQueue(slots, places int) *queue {
	return &queue{slots: slots, places: places, held: map[string]int{}, lines: map[string][]*waiter{}}
}

// acquire waits for a slot. It returns [ErrQueue] if there is no place to wait, or another key takes it, and the cause of ctx if
// ctx ends first.
func (q *queue) acquire(ctx context.Context, key string) error {
	q.mu.Lock()
	if q.running < q.slots && q.mayHold(key) { // those that wait may not hold another
		q.take(key)
		q.mu.Unlock()
		return nil
	}
	if q.waiting >= q.places && !q.makePlace(key) {
		q.mu.Unlock()
		return ErrQueue
	}
	w := &waiter{decided: make(chan struct{})}
	if len(q.lines[key]) == 0 {
		q.turns = append(q.turns, key)
	}
	q.lines[key] = append(q.lines[key], w)
	q.waiting++
	q.mu.Unlock()
	select {
	case <-w.decided:
		if w.lost {
			return ErrQueue
		}
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.lines[key], w); i >= 0 {
		q.remove(key, i)
	} else if !w.lost { // the slot was granted at the same time
		q.releaseLocked(key)
	}
	return context.Cause(ctx)
}

// release releases a slot of a key.
func (q *queue) release(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.releaseLocked(key)
}

// releaseLocked is release with the lock held. The next query that waits and may run gets the slot. There is at most one slot to
// give: before, either none was free, or no key that waits could hold another.
func (q *queue) releaseLocked(key string) {
	q.running--
	if q.held[key]--; q.held[key] == 0 {
		delete(q.held, key)
	}
	i := slices.IndexFunc(q.turns, q.mayHold)
	if i < 0 {
		return
	}
	next := q.turns[i]
	q.take(next)
	close(q.lines[next][0].decided)
	q.remove(next, 0)
	if len(q.lines[next]) > 0 {
		q.turns = append(slices.Delete(q.turns, i, i+1), next)
	}
}

// mayHold reports whether a key may hold another slot, if one is free.
func (q *queue) mayHold(key string) bool {
	return key == "" || q.held[key] < max(1, q.slots-1)
}

// take gives a slot to a key.
func (q *queue) take(key string) {
	q.running++
	q.held[key]++
}

// makePlace removes the last query of the longest line if that is longer than the one of a key will be, and reports whether it did.
func (q *queue) makePlace(key string) bool {
	longest, n := "", len(q.lines[key])+1
	for _, other := range slices.Sorted(maps.Keys(q.lines)) {
		if len(q.lines[other]) > n {
			longest, n = other, len(q.lines[other])
		}
	}
	if longest == "" {
		return false // also for the key "", which has no other
	}
	last := q.lines[longest][n-1]
	last.lost = true
	close(last.decided)
	q.remove(longest, n-1)
	return true
}

// remove removes the query at index i of a key's line, and the key if the line is empty.
func (q *queue) remove(key string, i int) {
	q.waiting--
	q.lines[key] = slices.Delete(q.lines[key], i, i+1)
	if len(q.lines[key]) == 0 {
		delete(q.lines, key)
		q.turns = slices.DeleteFunc(q.turns, func(k string) bool { return k == key })
	}
}

// counts returns the numbers of queries that run and that wait.
func (q *queue) counts() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.waiting
}
