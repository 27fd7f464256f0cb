package agent

import (
	"context"
	"sync"
	"sync/atomic"

	"logstow/buffer"
	"logstow/config"
	"logstow/input"
)

// restoration waits, after the positions of inputs were lost, until the inputs have positions
// again. Then the policy for lost positions no longer applies: not to inputs that are added later,
// and not to the next run. Safe for concurrent use.
type restoration struct {
	// waiting counts the inputs without new positions, those that have failed included, and one until all inputs are open.
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

func (r *restoration) release() {
	if r.waiting.Add(-1) == 0 {
		r.finish()
	}
}

// sink returns the sink of an input. While positions are lost, the restoration waits until the
// input has committed positions, or release is called since the input is gone: a second call does
// nothing. With Once that takes until the end of the run.
func (p *pipeline) sink(kind config.Kind) (sink input.Sink, release func()) {
	keepsPositions := kind == config.KindFiles || kind == config.KindJournald
	if p.Once || !keepsPositions || p.buffer.LostPositions() == buffer.UndecidedLost {
		return p.buffer, func() {}
	}
	p.restoration.waiting.Add(1)
	release = sync.OnceFunc(p.restoration.release)
	return committingSink{p.buffer, release}, release
}

// committingSink calls committed when positions were committed. The first that an input of
// files commits are those of all its files.
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

// restorePositions ends the policy for lost positions once all inputs have positions, unless ctx
// ends before.
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
