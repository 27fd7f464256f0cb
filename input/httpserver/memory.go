package httpserver

import (
	"fmt"
	"sync/atomic"

	"logstow/input"
)

// DefaultMemory is the size in bytes of a [Memory], where nothing else is configured.
const DefaultMemory = 64 << 20

// Memory bounds what all requests to an input hold together: bodies, and what is
// made of them. Safe for concurrent use.
type Memory struct {
	limit int64
	used  atomic.Int64
}

// NewMemory makes a Memory of so many bytes; 0 is [DefaultMemory].
func NewMemory(limit int64) *Memory {
	if limit <= 0 {
		limit = DefaultMemory
	}
	return &Memory{limit: limit}
}

// Lease is what one request holds of a [Memory]. It is for one goroutine, which must Release it.
type Lease struct {
	memory *Memory
	held   int64
}

// Lease begins a request.
func (m *Memory) Lease() *Lease { return &Lease{memory: m} }

// Take adds n bytes. It never waits: where others hold too much the error is
// [input.ErrBusy], where this request does alone, [input.ErrTooLarge].
func (l *Lease) Take(n int64) error {
	if l.held+n > l.memory.limit {
		return fmt.Errorf("%w: a request may take %d bytes of memory", input.ErrTooLarge, l.memory.limit)
	}
	if l.memory.used.Add(n) > l.memory.limit {
		l.memory.used.Add(-n)
		return fmt.Errorf("%w: other requests hold all memory", input.ErrBusy)
	}
	l.held += n
	return nil
}

// Release gives all of it back.
func (l *Lease) Release() {
	l.memory.used.Add(-l.held)
	l.held = 0
}
