// Package ship takes sealed batches from the buffer to storage: the blob, then
// its row in the index, then the acknowledgement. It is the only owner of that
// order and of retries: what lies below it tries once.
//
// A batch's name is written down before its create is tried, and kept for as
// long as that create may have been applied. A create that finds its name taken
// looks whether the blob there is this batch, whose answer got lost; if not, it
// takes the next number. So a batch is stored once, whatever answers are lost.
//
// The index is no condition for a blob: rows are collected, written in groups,
// and kept until the index takes them.
package ship

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/store"
)

// Options configure a [Shipper]; a zero field takes the default named at it.
type Options struct {
	// Buffer is where batches come from. Required.
	Buffer *buffer.Buffer
	// Store is where they go. Required.
	Store store.Store
	// Workers is how many batches are sent at once; default 2. Each holds one in memory.
	Workers int
	// RetryFor is how long a request that storage does not answer is tried before
	// Run gives up; a request that it refuses then ends Run at once. 0 is for ever.
	RetryFor time.Duration
	// Backoff is the wait between tries.
	Backoff Backoff
	// IndexWait is how long a row may wait for others to be written with; default five seconds.
	IndexWait time.Duration
	// IndexGroup is how many rows are written without waiting; default 100, a transaction.
	IndexGroup int
	// MaxUnindexed is how many batches may wait for the index; past that the oldest are
	// acknowledged without a row, which is counted and said. Default 4,096.
	MaxUnindexed int
	// Random returns a number in [0, n); default [rand.Uint64N].
	Random func(n uint64) uint64
	// Log gets what an operator should know; nil is silence.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	setDefault(&o.Workers, 2)
	setDefault(&o.IndexWait, 5*time.Second)
	setDefault(&o.IndexGroup, store.MaxTransaction)
	setDefault(&o.MaxUnindexed, 4096)
	o.Backoff = o.Backoff.withDefaults()
	if o.Random == nil {
		o.Random = rand.Uint64N
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Shipper is the sending end of the pipeline.
type Shipper struct {
	opts    Options
	blobs   store.Blobs
	tables  store.Tables
	numbers *blobnaming.Numberer
	firsts  firsts
	// blobTrouble and indexTrouble say what does not work at the moment.
	blobTrouble, indexTrouble trouble
	index                     chan *buffer.Batch

	mu    sync.Mutex
	stats Stats
}

// Stats are numbers since New.
type Stats struct {
	// Segments, Records, RawBytes and StoredBytes are in storage; RawBytes is the size of the text form.
	Segments, Records, RawBytes, StoredBytes uint64
	// Creates were tried, Conflicts of them found another's blob under their name.
	Creates, Conflicts uint64
	// Quarantined batches were set aside: storage refuses them, or they are damaged.
	Quarantined uint64
	// Unindexed batches were acknowledged without a row in the index.
	Unindexed uint64
}

// New makes a Shipper.
func New(opts Options) *Shipper {
	opts = opts.withDefaults()
	return &Shipper{
		opts:         opts,
		blobs:        opts.Store.Blobs(),
		tables:       opts.Store.Tables(),
		numbers:      blobnaming.NewNumberer(opts.Random),
		firsts:       newFirsts(),
		blobTrouble:  trouble{log: opts.Log, what: "storing segments", where: opts.Store.String()},
		indexTrouble: trouble{log: opts.Log, what: "writing the index", where: opts.Store.String()},
		index:        make(chan *buffer.Batch, opts.Workers),
	}
}

// Stats returns the numbers up to now.
func (s *Shipper) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

func (s *Shipper) count(change func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.stats)
}

// Run ships until the buffer is drained and everything is stored and indexed,
// or ctx ends, or, with RetryFor, storage does not work. Batches that are not done
// then went back to the buffer. It may be called once.
func (s *Shipper) Run(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	var workers sync.WaitGroup
	for range s.opts.Workers {
		workers.Add(1)
		g.Go(func() error {
			defer workers.Done()
			return s.work(running)
		})
	}
	g.Go(func() error {
		workers.Wait()
		close(s.index)
		return nil
	})
	g.Go(func() error { return s.writeIndex(running) })
	err := g.Wait()
	if ctx.Err() != nil && err != nil {
		err = s.indexTrouble.explain(s.blobTrouble.explain(err))
	}
	return err
}

// work sends one batch after the other.
func (s *Shipper) work(ctx context.Context) error {
	for {
		b, err := s.opts.Buffer.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := s.deliver(ctx, b); err != nil {
			return err
		}
	}
}
