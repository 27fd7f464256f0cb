package upload

import (
	"context"
	"sync"
	"time"

	"logstow/blobnaming"
)

// maxOpenBuckets is the maximum number of open buckets that a bucketGate remembers.
const maxOpenBuckets = 4096

// bucketGate serializes the creates in a bucket until one has succeeded: concurrent first attempts
// would all try the same taken names. It is safe for concurrent use.
type bucketGate struct {
	mu sync.Mutex
	// open has the buckets in which the last create succeeded, busy those in which a first create is in
	// flight: its channel is closed when that create ends.
	open map[bucketKey]struct{}
	busy map[bucketKey]chan struct{}
}

type bucketKey struct {
	service string
	bucket  time.Time
}

func newBucketGate() bucketGate {
	return bucketGate{open: make(map[bucketKey]struct{}), busy: make(map[bucketKey]chan struct{})}
}

// enter waits until the bucket of a name is open, or until the caller may make the first create in it.
// The caller must call leave after the create; free reports that it succeeded.
func (g *bucketGate) enter(ctx context.Context, name blobnaming.Name) (leave func(free bool), err error) {
	key := bucketKey{name.Service, name.Bucket.UTC()}
	for {
		g.mu.Lock()
		_, settled := g.open[key]
		wait, busy := g.busy[key]
		var mine chan struct{}
		if !settled && !busy {
			mine = make(chan struct{})
			g.busy[key] = mine
		}
		g.mu.Unlock()
		if settled || mine != nil {
			return func(free bool) { g.leave(key, mine, free) }, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// leave records the outcome of a create. mine is the caller's channel in busy, nil if it has none.
func (g *bucketGate) leave(key bucketKey, mine chan struct{}, free bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if mine != nil {
		delete(g.busy, key)
		close(mine)
	}
	if !free {
		delete(g.open, key)
		return
	}
	if len(g.open) == maxOpenBuckets {
		clear(g.open)
	}
	g.open[key] = struct{}{}
}
