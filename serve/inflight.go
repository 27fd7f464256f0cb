package serve

import (
	"context"
	"sync"
)

// inflight counts the requests that are being served. It is safe for concurrent use.
type inflight struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n becomes 0; nil if nothing waits for it
}

func (f *inflight) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
}

func (f *inflight) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n--; f.n == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// wait waits until no request is being served, or ctx ends, and reports whether it is the former.
func (f *inflight) wait(ctx context.Context) bool {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return true
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	idle := f.idle
	f.mu.Unlock()
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}
