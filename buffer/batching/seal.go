package batching

import (
	"context"
	"errors"
	"sync"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/disk"
	"logstow/buffer/internal/wait"
	"logstow/buffer/queue"
	"logstow/buffer/sealed"
	"logstow/buffer/spool"
)

// errUnsealed is the error of a batch that is not sealed because an older one of its partition could not be.
var errUnsealed = errors.New("an older batch is not sealed")

// sealer seals detached batches into the spool and the queue. It is safe for concurrent use.
type sealer struct {
	opts *Options
	open *openSet

	mu sync.Mutex
	// closed is set by stop: nothing is sealed in the background any more.
	closed bool
	// failed and unsealed count batches, as in Stats.
	failed, unsealed uint64

	// quit is closed to end all waits for space.
	quit     chan struct{}
	quitOnce sync.Once
	running  sync.WaitGroup
}

func newSealer(opts *Options, open *openSet) *sealer {
	return &sealer{opts: opts, open: open, quit: make(chan struct{})}
}

// endWaiting ends all waits for space.
func (s *sealer) endWaiting() { s.quitOnce.Do(func() { close(s.quit) }) }

// stop ends sealing in the background and all waits for space.
func (s *sealer) stop() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.endWaiting()
}

// counts returns the numbers of batches that could not be sealed, in memory and on disk.
func (s *sealer) counts() (failed, unsealed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed, s.unsealed
}

// sealDetached seals a detached batch in the background and waits until it is queued or ctx
// ends: on a full disk sealing may last as long as storage is unavailable.
func (s *sealer) sealDetached(ctx context.Context, o *openBatch) {
	s.mu.Lock()
	if s.opts.Spool == nil || s.closed {
		s.mu.Unlock()
		s.sealAndEnqueue(o)
		return
	}
	done := make(chan struct{})
	s.running.Go(func() {
		defer close(done)
		s.sealAndEnqueue(o)
	})
	s.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// sealAndEnqueue seals a detached batch and queues it.
func (s *sealer) sealAndEnqueue(o *openBatch) {
	meta, err := o.writer.Close(o.seq)
	ok := o.ticket.wait()
	var item *queue.Item
	if err == nil && s.opts.Spool == nil {
		// A batch in memory is charged its size; one on disk takes hardly any memory.
		item = queue.NewItem(o.key(), meta, o.body.size, o.first, queue.InMemory(o.body.join()), o.body.size+batchOverhead)
	} else if err == nil {
		var written *spool.Batch
		if written, err = s.write(o, meta, ok); err == nil {
			item = queue.NewItem(o.key(), meta, written.Size, o.first, written, 0)
		}
	}
	o.ticket.finish(err == nil)
	if err == nil {
		item.Minutes = o.writer.Minutes()
		s.opts.Queue.Put(item)
	} else {
		s.giveUp(o, err)
	}
	s.open.endSealing(o)
	s.opts.Queue.Stored.Notify()
	s.trim(false)
}

// write makes a batch durable. ok reports that the older batches of its partition are durable.
// While the disk is full it waits, until Quit; the records are in the log. If no batch is left whose delivery would free space, index
// entities are dropped for it.
func (s *sealer) write(o *openBatch, meta blobnaming.Metadata, ok bool) (*spool.Batch, error) {
	if !ok {
		return nil, errUnsealed
	}
	sp := s.opts.Spool
	head := sealed.Head{Key: o.key(), Through: o.through, First: o.first, Meta: meta}
	batch, err := sp.Seal(head, o.body.parts, o.body.size)
	for disk.Full(err) {
		space := s.opts.Memory.Freed.Next()
		if err := s.opts.Failure.Err(); err != nil {
			return nil, err
		}
		s.trim(true)
		if batch, err = sp.SealFromReserve(head, o.body.parts, o.body.size); !disk.Full(err) {
			break
		}
		if queued := s.opts.Queue.Stats(); queued.Waiting+queued.Sending == 0 {
			if freed, dropErr := sp.Entities().DropOldest("the disk is full"); dropErr != nil {
				return nil, dropErr
			} else if freed {
				continue
			}
		}
		sp.WarnFull(err)
		sp.Wait(nil, s.quit, space)
		select {
		case <-s.quit:
			return nil, err
		default:
		}
	}
	return batch, err
}

// giveUp counts and logs that a batch could not be sealed.
func (s *sealer) giveUp(o *openBatch, err error) {
	text := "cannot seal a batch; its records are lost"
	s.mu.Lock()
	if s.opts.Spool != nil {
		// The records are in the log; the next process seals them.
		text = "cannot seal a batch; its records stay in the log"
		s.open.freeze()
		s.unsealed++
	} else {
		s.failed++
	}
	s.mu.Unlock()
	if s.opts.Spool == nil || !errors.Is(err, errUnsealed) && !errors.Is(err, wait.ErrClosed) {
		s.opts.Log.Error(text, "service", o.service, "bucket", time.Unix(0, o.bucket.start).UTC(), "error", err)
	}
	s.opts.Queue.GiveUp()
}

// discard drops a detached batch without sealing it.
func (s *sealer) discard(o *openBatch) {
	o.writer.Discard()
	o.ticket.wait()
	o.ticket.finish(false)
	s.opts.Queue.GiveUp()
	s.open.endSealing(o)
}

// trim removes the part of the log whose records are all in sealed batches. With force set it
// begins a new log file for that.
func (s *sealer) trim(force bool) {
	if s.opts.Spool == nil {
		return
	}
	next := s.opts.Spool.Next() // read first: records appended from here on have higher numbers
	if number, idle, ok := s.open.needed(next); ok {
		s.opts.Spool.Trim(number, force, idle)
	}
}
