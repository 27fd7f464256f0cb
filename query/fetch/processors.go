package fetch

import (
	"context"
	"time"

	"logstow/internal/parallel"
)

// longestTurn is how long a block waits for a processor. Then it is searched without one: a query keeps its processor while it waits
// for its client, and must not keep back the others.
const longestTurn = time.Second

// Processors limits how many blocks all queries of a process search at the same time. Otherwise each query searches as many as there
// are processors, and work that takes little time waits for all of these. It also limits the blocks of all these queries that are in
// flight, in bytes after decompression. It is safe for concurrent use.
type Processors struct {
	free     chan struct{}
	inFlight *parallel.Budget
}

// sharedBytes is the maximum size of the blocks in flight of all queries that share processors, in addition to one of each query.
const sharedBytes = 32 << 20

// NewProcessors returns Processors for n blocks at a time.
func NewProcessors(n int) *Processors {
	p := &Processors{make(chan struct{}, n), parallel.NewBudget(sharedBytes)}
	for range n {
		p.free <- struct{}{}
	}
	return p
}

// acquire waits for a processor, at most for longestTurn or until ctx ends. A nil p does not wait.
func (p *Processors) acquire(ctx context.Context) (release func()) {
	if p == nil {
		return func() {}
	}
	release = func() { p.free <- struct{}{} }
	select {
	case <-p.free:
		return release
	default:
	}
	late := time.NewTimer(longestTurn)
	defer late.Stop()
	select {
	case <-p.free:
		return release
	case <-late.C:
	case <-ctx.Done():
	}
	return func() {}
}
