package upload

import (
	"context"
	"sync"
	"time"

	"logstow/blobnaming"
)

// bucketGate draws the numbers of creates. In each bucket it admits the first create of a draw alone: concurrent ones would
// all try taken numbers. It is safe for concurrent use.
type bucketGate struct {
	numbers *blobnaming.Numberer

	mu sync.Mutex
	// ended are closed when the next create in a bucket ends; only buckets in which others wait have one.
	ended map[bucketKey]chan struct{}
}

type bucketKey struct {
	service string
	bucket  time.Time
}

func newBucketGate(random func(n uint64) uint64) *bucketGate {
	return &bucketGate{numbers: blobnaming.NewNumberer(random), ended: make(map[bucketKey]chan struct{})}
}

// next waits until a create in a bucket may be made, and returns its name. The caller must call wrote, taken or unknown
// after the create.
func (g *bucketGate) next(ctx context.Context, service string, bucket time.Time) (blobnaming.Name, error) {
	key := bucketKey{service, bucket.UTC()}
	for {
		g.mu.Lock()
		number, ok := g.numbers.Next(service, bucket)
		ended := g.ended[key]
		if !ok && ended == nil {
			ended = make(chan struct{})
			g.ended[key] = ended
		}
		g.mu.Unlock()
		if ok {
			return blobnaming.Name{Service: service, Bucket: bucket, Number: number}, nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return blobnaming.Name{}, context.Cause(ctx)
		}
	}
}

// wrote records that a name was free.
func (g *bucketGate) wrote(name blobnaming.Name) { g.end(name, g.numbers.Wrote) }

// taken records that another batch has a name.
func (g *bucketGate) taken(name blobnaming.Name) { g.end(name, g.numbers.Taken) }

// unknown records that a create has failed.
func (g *bucketGate) unknown(name blobnaming.Name) { g.end(name, g.numbers.Unknown) }

// end records the result of a create, and lets those that wait for it continue.
func (g *bucketGate) end(name blobnaming.Name, record func(service string, bucket time.Time, number uint64)) {
	key := bucketKey{name.Service, name.Bucket.UTC()}
	g.mu.Lock()
	defer g.mu.Unlock()
	record(name.Service, name.Bucket, name.Number)
	if ended := g.ended[key]; ended != nil {
		delete(g.ended, key)
		close(ended)
	}
}
