package buffer

import (
	"context"
	"fmt"
	"time"
)

// logFiles is about how many full log files may stay.
const logFiles = 3

// tidy keeps the log short while much is appended: what a few records of a quiet
// bucket hold back is freed by sealing them.
func (s *spool) tidy() {
	if !s.log.Full() {
		return
	}
	s.trim(false)
	for s.log.Size() > logFiles*s.fileSize {
		s.buf.mu.Lock()
		oldest := s.buf.oldestOpen()
		frozen := s.frozen
		s.buf.mu.Unlock()
		if frozen || oldest == nil || oldest.from > s.log.Oldest() {
			return
		}
		s.buf.seal(oldest)
	}
}

// oldestOpen is the open batch with the oldest record in the log; nil where none is open. b.mu is held.
func (b *Buffer) oldestOpen() (oldest *openBatch) {
	for o := range b.open {
		if oldest == nil || o.from < oldest.from {
			oldest = o
		}
	}
	return oldest
}

// room waits until n more bytes fit into Options.MaxSize.
func (b *Buffer) room(ctx context.Context, n int64) error {
	s := b.spool
	if s == nil {
		return nil
	}
	s.tidy()
	n = min(n, b.opts.MaxSize/4)
	for s.size()+n > b.opts.MaxSize {
		if err := b.stopped(ctx); err != nil {
			return err
		}
		if s.dropSpare() {
			continue
		}
		b.mu.Lock()
		space := b.space.wait()
		waiting := len(b.queue.waiting)
		oldest := b.oldestOpen()
		b.mu.Unlock()
		switch {
		case s.log.Size() > b.opts.MaxSize/4 && oldest != nil:
			// The log is as large as the records; sealed they are a fraction of it.
			b.seal(oldest)
			s.trim(true)
			continue
		case b.opts.OnFull == DropOldest && waiting > 0:
			if err := s.dropOldest(); err != nil {
				return err
			}
			continue
		}
		s.sayFull(fmt.Errorf("%d bytes of %d are taken", s.size(), b.opts.MaxSize))
		timer := time.NewTimer(b.opts.fullWait)
		select {
		case <-ctx.Done():
		case <-space:
		case <-timer.C:
		}
		timer.Stop()
	}
	s.saidFull.Store(false)
	return nil
}

// waitFull waits a little before a write that found the disk full is tried again.
func (s *spool) waitFull(ctx context.Context, err error) error {
	s.dropSpare()
	s.sayFull(err)
	if err := s.buf.stopped(ctx); err != nil {
		return err
	}
	timer := time.NewTimer(s.buf.opts.fullWait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.buf.stop:
	case <-timer.C:
	}
	return nil
}

// stopped is why nobody should wait any longer, nil where there is no reason.
func (b *Buffer) stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failed != nil:
		return b.failed
	case b.draining:
		return ErrClosed
	}
	return nil
}

// dropOldest gives up the oldest sealed batch that nobody sends.
func (s *spool) dropOldest() error {
	s.buf.mu.Lock()
	batch := s.buf.queue.takeOldest()
	s.buf.mu.Unlock()
	if batch == nil {
		return nil
	}
	s.buf.opts.Log.Error("the buffer is full: its oldest batch is dropped and its records are lost",
		"service", batch.Service, "bucket", batch.BucketStart, "records", batch.Meta.Records, "bytes", batch.Size)
	if err := s.remove(batch); err != nil {
		return err
	}
	return s.buf.remove(batch, func(st *Stats) {
		st.Dropped++
		st.DroppedRecords += batch.Meta.Records
	})
}

// sayFull says once that there is no room, until there was again.
func (s *spool) sayFull(err error) {
	if !s.saidFull.Swap(true) {
		s.buf.opts.Log.Warn("the buffer is full; inputs wait until storage takes what is in it", "dir", s.buf.opts.Dir, "error", err)
	}
}
