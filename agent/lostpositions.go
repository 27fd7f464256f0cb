package agent

import (
	"context"
	"sync"
	"sync/atomic"

	"logstow/buffer"
	"logstow/input"
)

// restoration waits, after the positions of inputs were lost, until all inputs have positions again.
// The policy for lost positions ends then: it applies neither to inputs that are added later nor to
// the next run. It is safe for concurrent use.
type restoration struct {
	// waiting is the number of inputs without new positions, including failed ones. It is one more
	// until all inputs are open, so that it does not reach 0 before.
	waiting atomic.Int64
	done    chan struct{}
	finish  func()
}

func newRestoration() *restoration {
	r := &restoration{done: make(chan struct{})}
	r.finish = sync.OnceFunc(func() { close(r.done) })
	r.waiting.Store(1)
	return r
}

// release ends the wait for one input.
func (r *restoration) release() {
	if r.waiting.Add(-1) == 0 {
		r.finish()
	}
}

// sink returns the sink of an input. While positions are lost, the restoration waits until the input
// has committed positions or release is called, because the input was removed. Further calls of
// release do nothing. With Once there is no wait: the policy applies until the end of the run.
func (p *pipeline) sink(keepsPositions bool) (sink input.Sink, release func()) {
	if p.Once || !keepsPositions || p.buffer.LostPositions() == buffer.UndecidedLost {
		return p.buffer, func() {}
	}
	p.restoration.waiting.Add(1)
	release = sync.OnceFunc(p.restoration.release)
	return committingSink{p.buffer, release}, release
}

// committingSink calls committed after each commit of positions. An input of files commits the
// positions of all its files at once first.
type committingSink struct {
	input.Sink
	committed func()
}

func (s committingSink) Append(ctx context.Context, c buffer.Chunk) (buffer.LSN, error) {
	lsn, err := s.Sink.Append(ctx, c)
	if err == nil && len(c.Positions) > 0 {
		s.committed()
	}
	return lsn, err
}

// restorePositions ends the policy for lost positions as soon as all inputs have positions. It does
// nothing if ctx ends first.
func (p *pipeline) restorePositions(ctx context.Context) {
	select {
	case <-p.restoration.done:
	case <-ctx.Done():
		return
	}
	if err := p.buffer.PositionsRestored(ctx); err != nil && ctx.Err() == nil {
		p.log.Warn("cannot clear the policy for lost positions", "dir", p.BufferDir, "error", err)
	}
}
