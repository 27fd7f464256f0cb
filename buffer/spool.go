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

// spool is a buffer's directory: the write-ahead log of unsealed records, and the sealed batches.
type spool struct {
	buf  *Buffer
	log  *wal.Log
	dir  *sealed.Dir
	lock *dirLock
	// fileSize is the size at which a log file is full.
	fileSize int64
	// bytes is the total size of the sealed batches' segments.
	bytes atomic.Int64
	// fullLogged is when it was last logged that the buffer is full, in Unix nanoseconds.
	fullLogged atomic.Int64
	reserve    *reserve
	// reserveTarget is the size of a complete reserve, limit how many bytes everything else may use.
	reserveTarget, limit atomic.Int64
	// waiting counts the goroutines that wait for space, to append or to seal.
	waiting atomic.Int64
	// sealMu is held while a batch is sealed on a full disk, so that no two use the same
	// released space.
	sealMu sync.Mutex
	// unchecked is how many bytes may be appended before the free space is checked again;
	// checkMu guards it.
	checkMu   sync.Mutex
	unchecked int64

	// The Buffer's lock guards the rest.

	// frozen: a batch could not be sealed, so no log file may be removed: the next process
	// replays them.
	frozen bool
	// replayFloor is a lower bound of the numbers of records that are not yet replayed.
	replayFloor uint64
	// durable is notified when entries were synced.
	durable broadcast
	// delivered are the batches that are delivered, but not removed, because the disk had no
	// space for their coverage.
	delivered []*Batch
}

// batch returns the Batch of a sealed batch on disk.
func (s *spool) batch(h sealed.Head) *Batch {
	return &Batch{
		Service: h.Key.Service, BucketStart: time.Unix(0, h.Key.Start).UTC(),
		Meta: h.Meta, Size: h.Size, buf: s.buf, head: h, first: h.First,
	}
}

// writeLog writes a chunk to the log, if there is one, and marks the partition as appending;
// endInflight must follow once the records are in their batches. The partition's lock is held.
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
	first, entry, err = b.spool.log.Append(c.Service, c.Class, logged, records, c.Positions)
	if err != nil {
		b.endInflight(p)
		if b.spool.log.Err() != nil {
			err = b.fail(err)
		}
	}
	return first, entry, err
}

// endInflight marks the records that a partition wrote to the log as being in its batches.
func (b *Buffer) endInflight(p *partition) {
	if b.spool == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.inflightAppends, p)
}

// seal makes a batch durable. ok reports that the older batches of its partition are. While
// the disk is full it waits until the buffer stops waiting; the records are in the log.
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
		// The log must be durable before the batch: positions and record numbers must not fall behind it.
		written, _ := s.log.Entries()
		if err = s.log.Sync(written); err != nil {
			return err
		}
		s.bytes.Add(o.body.size) // first: while it is written, it occupies space
		if head, err = s.dir.Write(head, o.body.parts); err != nil {
			s.bytes.Add(-o.body.size)
			return err
		}
		if entry, err := s.log.Cover(head.Key, head.Through, head.Meta.Seq); err == nil {
			batch.coverEntry = entry
		} else if s.log.Err() != nil {
			_ = b.fail(err) // the batch itself is durable
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
	return nil
}

const (
	// headSize is about the size of a sealed batch's head.
	headSize = 1 << 10
	// diskBlock is the unit in which most file systems allocate space.
	diskBlock = 4 << 10
)

// waitAndSeal calls write, which writes a batch of n bytes, until there is space, or until
// the buffer stops waiting. It releases the reserve for it.
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

// cover makes the coverage of a batch durable; only then may the batch be removed.
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

// remove removes a delivered batch after making its coverage durable. If the disk has no
// space for the coverage, syncLoop tries again.
func (s *spool) remove(batch *Batch) (err error) {
	err = s.cover(batch)
	keep := false
	if err == nil {
		keep, err = s.writeDone(batch.Meta.Seq)
	}
	if errors.Is(err, wal.ErrFull) {
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

// syncLoop syncs the log at the interval, and retries what failed on a full disk, until the buffer closes.
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
			if err == nil && synced == written { // nothing was appended since the last tick
				err = s.log.WriteDurable()
			}
			if err != nil && !errors.Is(err, wal.ErrFull) {
				b.opts.Log.Error("cannot sync the buffer's log", "error", b.fail(err))
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
			b.opts.Log.Error("cannot reserve space on the buffer's disk", "error", b.fail(err))
			return
		}
	}
}

// recycledMaxIdle is how long recycled log files are kept while no log file is begun.
const recycledMaxIdle = 10 * time.Second

// dropRecycled removes the recycled log files and reports whether that freed space.
func (s *spool) dropRecycled() bool {
	if s.log == nil {
		return false
	}
	before := s.log.RecycledSize()
	if err := s.log.DropRecycled(); err != nil {
		s.buf.opts.Log.Warn("cannot remove recycled log files", "error", err)
	}
	return s.log.RecycledSize() < before
}

// trim removes log files whose records are all sealed. With force set, or when no batch is
// open and the log is large, it first begins a new file, so that the current one can go too.
func (s *spool) trim(force bool) {
	b := s.buf
	needed := s.log.Next() // read first: records appended from here on have higher numbers
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
		b.opts.Log.Warn("cannot remove log files whose records are all sealed", "error", err)
	}
}

// size is how many bytes the buffer uses on disk, without the reserve.
func (s *spool) size() int64 { return s.log.Size() + s.log.RecycledSize() + s.bytes.Load() }

// close syncs and closes the log, and releases the locks. If nothing is left to deliver, it
// removes the reserve.
func (s *spool) close() error {
	b := s.buf
	b.mu.Lock()
	failed := b.failed
	empty := !s.frozen && s.replayFloor == math.MaxUint64 && len(b.queue.waiting)+len(b.queue.inflight) == 0
	b.mu.Unlock()
	err := s.log.Close()
	if empty && failed == nil && err == nil {
		// The next process finds as much free space as this one did.
		if _, err := s.reserve.shrink(math.MaxInt64); err != nil {
			b.opts.Log.Warn("cannot release the reserved disk space", "error", err)
		}
	}
	if failed != nil {
		err = failed
	}
	return errors.Join(err, s.lock.Close())
}
