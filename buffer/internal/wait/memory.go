package wait

import (
	"sync"

	"logstow/internal/event"
)

// Memory counts bytes against a limit. It is safe for concurrent use.
type Memory struct {
	// Freed is notified when memory, or space on disk, became free.
	Freed event.Event

	limit int64
	mu    sync.Mutex
	// used is the total of open batches, sealed batches and chunks being appended;
	// pending is the part of it that is being sealed or delivered, and becomes free without
	// sealing anything else.
	used, pending int64
}

// NewMemory returns a Memory of which nothing is used. limit is in bytes.
func NewMemory(limit int64) *Memory { return &Memory{limit: limit} }

// TryReserve reserves n bytes if they fit, or if nothing is used. If it does not, pending reports
// whether more than half of the memory becomes free without sealing anything.
func (m *Memory) TryReserve(n int64) (ok, pending bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used+n <= m.limit || m.used == 0 {
		m.used += n
		return true, false
	}
	return false, m.pending > m.limit/2
}

// Add adds to what is used, and to the part of it that is pending.
func (m *Memory) Add(used, pending int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used += used
	m.pending += pending
}

// Release subtracts from what is used, and from the part of it that is pending, and notifies Freed.
func (m *Memory) Release(used, pending int64) {
	m.Add(-used, -pending)
	m.Freed.Notify()
}

// Used returns how many bytes are used, and the limit.
func (m *Memory) Used() (used, limit int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.limit
}

// Exceeded reports whether more than the limit is used.
func (m *Memory) Exceeded() bool {
	used, limit := m.Used()
	return used > limit
}
