package upload

import (
	"context"
	"sync"
	"time"

	"logstow/blobnaming"
)

// maxOpenBuckets is how many buckets a bucketGate remembers.
const maxOpenBuckets = 4096

// bucketGate serializes the first creates in a bucket until one has succeeded: concurrent first
// attempts would all run into the same conflict.
type bucketGate struct {
	mu sync.Mutex
	// open holds the buckets in which the last number tried was free, busy those in which a first
	// create is in flight.
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

// enter waits until the bucket of a name is open. The caller must call leave with the outcome of
// the create.
func (f *bucketGate) enter(ctx context.Context, name blobnaming.Name) (leave func(free bool), err error) {
	key := bucketKey{name.Service, name.Bucket.UTC()}
	for {
		f.mu.Lock()
		_, settled := f.open[key]
		wait, busy := f.busy[key]
		var mine chan struct{}
		if !settled && !busy {
			mine = make(chan struct{})
			f.busy[key] = mine
		}
		f.mu.Unlock()
		if settled || mine != nil {
			return func(free bool) { f.leave(key, mine, free) }, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// leave records the outcome of a create; mine is the entry in busy that it holds, if any.
func (f *bucketGate) leave(key bucketKey, mine chan struct{}, free bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if mine != nil {
		delete(f.busy, key)
		close(mine)
	}
	if !free {
		delete(f.open, key)
		return
	}
	if len(f.open) == maxOpenBuckets {
		clear(f.open)
	}
	f.open[key] = struct{}{}
}
