package sorting

import (
	"sync"
	"sync/atomic"
)

// bound drops records that cannot be among the first limit records, by prefixes of their keys. Safe for concurrent use.
type bound struct {
	// limit is the number of records wanted; 0 drops none.
	limit int
	// worst is the greatest of first, once first has limit elements.
	worst atomic.Pointer[string]

	mu sync.Mutex
	// first are the prefixes of the least keys so far, as a heap with the greatest at index 0.
	first []string
}

const (
	// maxBounded is the maximum limit for which keys are kept.
	maxBounded = 10_000
	// boundBytes is the maximum length of a prefix of a key that is kept.
	boundBytes = 64
)

// newBound makes a bound for a limit. A limit of 0 or more than maxBounded drops nothing.
func newBound(limit int) *bound {
	if limit > maxBounded {
		limit = 0
	}
	return &bound{limit: limit}
}

// behind reports whether records whose keys begin with start cannot be among those wanted.
func (b *bound) behind(start []byte) bool {
	worst := b.worst.Load()
	return worst != nil && string(start[:min(len(start), boundBytes)]) > *worst
}

// admit reports whether a record with a key may be among those wanted.
func (b *bound) admit(key []byte) bool {
	if b.limit == 0 {
		return true
	}
	if b.behind(key) {
		return false
	}
	start := string(key[:min(len(key), boundBytes)])
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.first) < b.limit {
		b.first = append(b.first, start)
		b.up()
	} else {
		if start > b.first[0] {
			return false
		}
		b.first[0] = start
		b.down()
	}
	if len(b.first) == b.limit {
		worst := b.first[0]
		b.worst.Store(&worst)
	}
	return true
}

// up restores the heap after an item was appended.
func (b *bound) up() {
	for i := len(b.first) - 1; i > 0; {
		parent := (i - 1) / 2
		if b.first[parent] >= b.first[i] {
			return
		}
		b.first[parent], b.first[i] = b.first[i], b.first[parent]
		i = parent
	}
}

// down restores the heap after its first item has changed.
func (b *bound) down() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(b.first) {
			return
		}
		if child+1 < len(b.first) && b.first[child+1] > b.first[child] {
			child++
		}
		if b.first[child] <= b.first[i] {
			return
		}
		b.first[i], b.first[child] = b.first[child], b.first[i]
		i = child
	}
}
