package limits

import (
	"context"
	"slices"
	"sync"
)

// queue limits how many queries run (slots) and how many wait to run (places). Queries that wait are served round-robin by key, so
// that many queries of one key do not delay the single query of another. It is safe for concurrent use.
type queue struct {
	slots, places int

	mu      sync.Mutex
	running int
	waiting int
	lines   map[string][]chan struct{} // the queries that wait, by key, in the order of arrival
	turns   []string                   // the keys of lines; the first is served next
}

// acquire waits for a slot. It returns [ErrQueue] at once if all places are taken, and the cause of ctx if ctx ends first.
func (q *queue) acquire(ctx context.Context, key string) error {
	q.mu.Lock()
	if q.running < q.slots {
		q.running++
		q.mu.Unlock()
		return nil
	}
	if q.waiting >= q.places {
		q.mu.Unlock()
		return ErrQueue
	}
	granted := make(chan struct{})
	if q.lines == nil {
		q.lines = map[string][]chan struct{}{}
	}
	if len(q.lines[key]) == 0 {
		q.turns = append(q.turns, key)
	}
	q.lines[key] = append(q.lines[key], granted)
	q.waiting++
	q.mu.Unlock()
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.lines[key], granted); i >= 0 {
		q.remove(key, i)
	} else { // the slot was granted at the same time
		q.releaseLocked()
	}
	return context.Cause(ctx)
}

// release releases a slot.
func (q *queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.releaseLocked()
}

// releaseLocked is release with the lock held. The next query that waits gets the slot.
func (q *queue) releaseLocked() {
	if len(q.turns) == 0 {
		q.running--
		return
	}
	key := q.turns[0]
	close(q.lines[key][0])
	q.remove(key, 0)
	if len(q.lines[key]) > 0 {
		q.turns = append(q.turns[1:], key)
	}
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
