package upload

import (
	"context"
	"sync"
	"time"

	"logstow/blobnaming"
)

// maxSettled is how many buckets firsts remembers.
const maxSettled = 4096

// firsts lets one create at a time into a bucket until one was settled there:
// several first tries would all meet the same conflict.
type firsts struct {
	mu sync.Mutex
	// settled holds the buckets of which the last number tried was free, busy
	// those into which a first create is under way.
	settled map[firstsKey]struct{}
	busy    map[firstsKey]chan struct{}
}

type firstsKey struct {
	service string
	bucket  time.Time
}

func newFirsts() firsts {
	return firsts{settled: make(map[firstsKey]struct{}), busy: make(map[firstsKey]chan struct{})}
}

// enter waits for a name's bucket to be open; leave must be called with whether the create was free.
func (f *firsts) enter(ctx context.Context, name blobnaming.Name) (leave func(free bool), err error) {
	key := firstsKey{name.Service, name.Bucket.UTC()}
	for {
		f.mu.Lock()
		_, settled := f.settled[key]
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

// leave notes what became of a create; mine is what it holds busy, if anything.
func (f *firsts) leave(key firstsKey, mine chan struct{}, free bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if mine != nil {
		delete(f.busy, key)
		close(mine)
	}
	if !free {
		delete(f.settled, key)
		return
	}
	if len(f.settled) == maxSettled {
		clear(f.settled)
	}
	f.settled[key] = struct{}{}
}
