package limits

import (
	"context"
	"slices"
	"sync"
)

// queue lets a number of queries run at once and others wait, a bounded number. Those that wait run in turns of their keys,
// so that many queries of one do not delay the single query of another.
type queue struct {
	slots, places int

	mu      sync.Mutex
	running int
	waiting int
	lines   map[string][]chan struct{} // by key, in the order of arrival
	turns   []string                   // the keys of lines, the next first
}

// acquire waits for a slot. It returns [ErrQueue] at once if too many wait, and the context's cause if that ends before.
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
	} else { // granted meanwhile
		q.releaseLocked()
	}
	return context.Cause(ctx)
}

// release ends a query.
func (q *queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.releaseLocked()
}

// releaseLocked gives the slot to the next query.
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

// remove removes a query that waits; a key without any has no turn.
func (q *queue) remove(key string, i int) {
	q.waiting--
	q.lines[key] = slices.Delete(q.lines[key], i, i+1)
	if len(q.lines[key]) == 0 {
		delete(q.lines, key)
		q.turns = slices.DeleteFunc(q.turns, func(k string) bool { return k == key })
	}
}

// counts are the numbers of queries that run and wait.
func (q *queue) counts() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.waiting
}
