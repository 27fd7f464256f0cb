package buffer

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"logstow/buffer/internal/disk"
	"logstow/buffer/sealed"
	"logstow/buffer/wal"
	"logstow/record"
)

// spool is a buffer's part on disk: the log of what is not sealed, and the sealed batches.
type spool struct {
	buf  *Buffer
	log  *wal.Log
	dir  *sealed.Dir
	lock *dirLock
	// fileSize is the size at which a log file is full.
	fileSize int64
	// bytes is the size of the sealed batches' files.
	bytes atomic.Int64
	// saidFull is when it was last logged that there is no space, Unix nanoseconds.
	fullLogged atomic.Int64
	reserve    *reserve
	// want is how large the reserve should be, limit what the rest may take.
	reserveTarget, limit atomic.Int64
	// waiting counts those that wait for space, to append or to seal.
	waiting atomic.Int64
	// sealing is held by one that seals on a full disk, so that none takes the space
	// that another needs.
	sealMu sync.Mutex
	// unchecked is how many bytes may be appended before it is looked again how many
	// are free; checking guards it.
	checkMu   sync.Mutex
	unchecked int64

	// The Buffer's lock guards the rest.

	// frozen: the log is needed by the next process as it is.
	frozen bool
	// floor is a number that no record of the log that is not replayed is below.
	replayFloor uint64
	// durable says that entries were synced.
	durable broadcast
	// delivered batches wait for their coverage to be written down.
	delivered []*Batch
}

// batch is what Next hands out of a sealed batch on disk.
func (s *spool) batch(h sealed.Head) *Batch {
	return &Batch{
		Service: h.Key.Service, BucketStart: time.Unix(0, h.Key.Start).UTC(),
		Meta: h.Meta, Size: h.Size, buf: s.buf, head: h, first: h.First,
	}
}

// write writes a chunk to the log, where there is one; landed must follow once
// its records are in their batches. The lane's lock is held.
func (b *Buffer) writeLog(p *partition, c *Chunk, runs []run, records []record.Record) (first, entry uint64, err error) {
	if b.spool == nil {
		return 0, 0, nil
	}
	floor := b.spool.log.Next()
	b.mu.Lock()
	b.inflightAppends[p] = floor
	b.mu.Unlock()
	logged := make([]wal.Run, 0, len(runs))
	for _, r := range runs {
		logged = append(logged, wal.Run{Start: r.bucket.start, Width: r.bucket.width, Count: r.to - r.from})
	}
	positions := make([]wal.Position, 0, len(c.Positions))
	for _, p := range c.Positions {
		positions = append(positions, wal.Position(p))
	}
	first, entry, err = b.spool.log.Append(c.Service, c.Class, logged, records, positions)
	if err != nil {
		b.endInflight(p)
		if b.spool.log.Err() != nil {
			err = b.fail(err)
		}
	}
	return first, entry, err
}

// landed says that what a lane wrote to the log is in its batches.
func (b *Buffer) endInflight(p *partition) {
	if b.spool == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.inflightAppends, p)
}

// seal makes a batch durable. ok says that the older batches of its lane are.
// While the disk is full it waits, until the buffer gives up: the log has the records.
func (s *spool) seal(o *openBatch, batch *Batch, ok bool) error {
	if !ok {
		return errUnsealed
	}
	if err := s.checkLock(); err != nil {
		return err
	}
	b := s.buf
	head := sealed.Head{Key: o.key(), Through: o.through, First: o.first, Meta: batch.Meta}
	write := func() (err error) {
		// Positions and numbers must not be lost behind the batch.
		written, _ := s.log.Entries()
		if err = s.log.Sync(written); err != nil {
			return err
		}
		if head, err = s.dir.Write(head, o.body.parts); err != nil {
			return err
		}
		if entry, err := s.log.Cover(head.Key, head.Through, head.Meta.Seq); err == nil {
			batch.coverEntry = entry
		} else if s.log.Err() != nil {
			_ = b.fail(err) // the batch is durable all the same
		}
		return nil
	}
	var err error
	if n := (o.body.size + headSize + diskBlock - 1) / diskBlock * diskBlock; s.fitsWithoutReserve(n) {
		err = write()
		if disk.Full(err) {
			err = s.waitAndSeal(n, write)
		}
	} else {
		err = s.waitAndSeal(n, write)
	}
	if err != nil && !disk.Full(err) {
		return b.fail(err)
	}
	if err != nil {
		return err
	}
	batch.head = head
	s.bytes.Add(head.Size)
	return nil
}

const (
	// headSize is about what a sealed batch's file has beside the segment.
	headSize = 1 << 10
	// diskBlock is the unit in which most file systems give space.
	diskBlock = 4 << 10
)

// awaitSpace calls a function that writes n bytes until there is space, which may
// be at once by way of the reserve, or the buffer gives up.
func (s *spool) waitAndSeal(n int64, write func() error) error {
	b := s.buf
	for {
		b.mu.Lock()
		space, failed := b.space.wait(), b.failed
		b.mu.Unlock()
		if failed != nil {
			return failed
		}
		s.trim(true)
		s.sealMu.Lock()
		s.dropRecycled()
		err := s.releaseReserveFor(n)
		if err == nil {
			err = write()
		}
		s.sealMu.Unlock()
		if !disk.Full(err) {
			return err
		}
		s.logFull(err)
		b.waitRetry(nil, space)
		select {
		case <-b.quit:
			return err
		default:
		}
	}
}

// cover makes the coverage of a batch durable, after which it may be removed.
func (s *spool) cover(batch *Batch) error {
	return s.withReserve(func() (err error) {
		if batch.coverEntry == 0 {
			batch.coverEntry, err = s.log.Cover(batch.head.Key, batch.head.Through, batch.Meta.Seq)
		}
		if err == nil {
			err = s.log.Sync(batch.coverEntry)
		}
		return err
	})
}

// remove removes a delivered batch, once its coverage is durable.
func (s *spool) remove(batch *Batch) (err error) {
	err = s.cover(batch)
	keep := false
	if err == nil {
		keep, err = s.writeDone(batch.Meta.Seq)
	}
	if errors.Is(err, wal.ErrFull) { // it stays until there is room for that
		s.buf.mu.Lock()
		s.delivered = append(s.delivered, batch)
		s.buf.mu.Unlock()
		return nil
	}
	if err == nil {
		err = s.dir.Remove(batch.Meta.Seq, keep)
	}
	if err != nil {
		return s.buf.fail(err)
	}
	s.bytes.Add(-batch.Size)
	return nil
}

// quarantine moves a batch to the quarantine.
func (s *spool) quarantine(batch *Batch, reason string) error {
	err := s.cover(batch)
	if err == nil {
		_, err = s.writeDone(batch.Meta.Seq)
	}
	if err == nil {
		err = s.withReserve(func() error { return s.dir.Quarantine(batch.Meta.Seq, reason) })
	}
	if errors.Is(err, wal.ErrFull) || disk.Full(err) {
		return err
	}
	if err != nil {
		return s.buf.fail(err)
	}
	s.bytes.Add(-batch.Size)
	return nil
}

// keep syncs the log at the interval, and tries again what found no room, until the buffer closes.
func (s *spool) syncLoop() {
	b := s.buf
	interval := time.Duration(b.opts.Sync)
	if interval <= 0 {
		interval = time.Second
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	rolled, quiet := s.log.Rolls(), time.Duration(0)
	for {
		select {
		case <-b.stop:
			return
		case <-ticker.C:
		}
		if n := s.log.Rolls(); n != rolled {
			rolled, quiet = n, 0
		} else if quiet += interval; quiet > recycledMaxIdle {
			s.dropRecycled()
		}
		if b.opts.Sync != SyncNever {
			written, synced := s.log.Entries()
			err := s.log.Sync(written)
			if err == nil && synced == written { // nothing came since the last tick
				err = s.log.WriteDurable()
			}
			if err != nil && !errors.Is(err, wal.ErrFull) {
				b.opts.Log.Error("the buffer's log cannot be made durable", "error", b.fail(err))
				return
			}
		}
		b.mu.Lock()
		s.durable.notify()
		again := s.delivered
		s.delivered = nil
		b.mu.Unlock()
		for _, batch := range again {
			if s.remove(batch) != nil {
				return
			}
		}
		s.trim(false)
		if err := s.restoreReserve(); err != nil {
			b.opts.Log.Error("the buffer's disk fails", "error", b.fail(err))
			return
		}
	}
}

// spareTime is how long log files are kept to be used again while none is begun.
const recycledMaxIdle = 10 * time.Second

// dropSpare gives the room of spare log files back and reports whether there was any.
func (s *spool) dropRecycled() bool {
	if s.log == nil {
		return false
	}
	before := s.log.RecycledSize()
	if err := s.log.DropRecycled(); err != nil {
		s.buf.opts.Log.Warn("the buffer's log keeps files that it does not need", "error", err)
	}
	return s.log.RecycledSize() < before
}

// trim removes log files whose records are all sealed. With force, or when
// nothing is open, even the current one makes place for an empty one.
func (s *spool) trim(force bool) {
	b := s.buf
	needed := s.log.Next() // first: what is appended from here on is above it
	b.mu.Lock()
	for o := range b.open {
		needed = min(needed, o.from)
	}
	for o := range b.sealing {
		needed = min(needed, o.from)
	}
	for _, floor := range b.inflightAppends {
		needed = min(needed, floor)
	}
	needed = min(needed, s.replayFloor)
	idle := len(b.open)+len(b.sealing)+len(b.inflightAppends) == 0
	frozen := s.frozen || b.failed != nil
	b.mu.Unlock()
	if frozen || s.checkLock() != nil {
		return
	}
	const large = 1 << 20
	err := s.withReserve(func() error { return s.log.Trim(needed, force || idle && s.log.Size() > large) })
	if err != nil && s.log.Err() != nil {
		_ = b.fail(err)
	} else if err != nil {
		b.opts.Log.Warn("the buffer's log keeps files that it does not need", "error", err)
	}
}

// size is what the buffer takes on disk, in bytes.
func (s *spool) size() int64 { return s.log.Size() + s.log.RecycledSize() + s.bytes.Load() }

// close ends the log: synced, and as small as what is left allows.
func (s *spool) close() error {
	b := s.buf
	b.mu.Lock()
	failed := b.failed
	empty := !s.frozen && s.replayFloor == math.MaxUint64 && len(b.queue.waiting)+len(b.queue.inflight) == 0
	b.mu.Unlock()
	err := s.log.Close()
	if empty && failed == nil && err == nil {
		// The next process has space as this one had.
		s.releaseReserve(math.MaxInt64)
	}
	if failed != nil {
		err = failed
	}
	return errors.Join(err, s.lock.Close())
}
