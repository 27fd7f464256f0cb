// Package event wakes goroutines that wait for something to happen.
package event

import "sync"

// Event wakes all goroutines that wait for it. The zero Event is ready to use. It is safe for
// concurrent use.
type Event struct {
	mu sync.Mutex
	ch chan struct{}
}

// Next returns a channel that the next Notify closes.
func (e *Event) Next() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ch == nil {
		e.ch = make(chan struct{})
	}
	return e.ch
}

// Notify wakes all goroutines that wait.
func (e *Event) Notify() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ch != nil {
		close(e.ch)
		e.ch = nil
	}
}
