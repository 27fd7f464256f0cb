package buffer

import (
	"errors"
	"path/filepath"
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
	// saidFull is set while the log was told that there is no room.
	saidFull atomic.Bool

	// The Buffer's lock guards the rest.

	// frozen: the log is needed by the next process as it is.
	frozen bool
	// durable says that entries were synced.
	durable broadcast
	// delivered batches wait for their coverage to be written down.
	delivered []*Batch
}

// openSpool opens what is on disk and takes over what a process before left.
func (b *Buffer) openSpool() (err error) {
	o := &b.opts
	fs := o.fs
	s := &spool{buf: b, fileSize: min(wal.DefaultFileSize, max(o.MaxSize/8, 1<<20))}
	if s.lock, err = lock(o.Dir, o.Instance, o.Now()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.lock.Close())
		}
	}()
	if err := fs.MkdirAll(filepath.Join(o.Dir, logDir)); err != nil {
		return err
	}
	if s.dir, err = sealed.Open(fs, filepath.Join(o.Dir, sealedDir), filepath.Join(o.Dir, quarantineDir)); err != nil {
		return err
	}
	batches, err := s.dir.Known()
	if err != nil {
		return err
	}
	heads, damaged, err := s.dir.List()
	if err != nil {
		return err
	}
	for _, name := range damaged {
		b.stats.Quarantined++
		o.Log.Error("a sealed batch is damaged and set aside in quarantine", "file", name, "dir", o.Dir)
	}
	known := sealedOf(heads, batches)
	for _, h := range heads {
		b.queue.put(s.batch(h))
		s.bytes.Add(h.Size)
		b.seq = max(b.seq, h.Meta.Seq)
	}
	var report wal.Report
	s.log, report, err = wal.Open(wal.Options{
		Dir: filepath.Join(o.Dir, logDir), FS: fs, FileSize: s.fileSize, OnLostPositions: o.OnLostPositions, Log: o.Log,
	}, known)
	if err != nil {
		return explainLost(err, report)
	}
	b.seq = max(b.seq, s.log.Seq())
	b.positions = s.log.Positions()
	b.spool = s
	if err := s.reportDamage(report); err != nil {
		return errors.Join(err, s.log.Close())
	}
	if err := s.replay(); err != nil {
		return errors.Join(err, s.log.Close())
	}
	s.trim(true)
	return nil
}

// replay brings what the log holds beyond the sealed batches into open batches again.
func (s *spool) replay() error {
	b := s.buf
	b.spool.frozen = true // until all is in batches again, every log file is needed
	err := s.log.Replay(func(e wal.Records) error {
		l, err := b.lane(e.Service)
		if err != nil {
			return err
		}
		runs := make([]run, 0, len(e.Runs))
		at := 0
		for _, r := range e.Runs {
			k := bucket{e.Class, r.Start, r.Width}
			runs = append(runs, run{bucket: k, from: at, to: at + r.Count})
			at += r.Count
		}
		l.mu.Lock()
		full, err := l.apply(e.Records, runs, e.First)
		l.mu.Unlock()
		for _, o := range full {
			b.finish(o)
		}
		b.stats.Replayed += uint64(len(e.Records))
		s.relieve()
		return err
	})
	b.mu.Lock()
	s.frozen = b.stats.Unsealed > 0
	b.mu.Unlock()
	if n := b.stats.Replayed; n > 0 {
		b.opts.Log.Info("took up records that an earlier process had not sealed", "records", n, "dir", b.opts.Dir)
	}
	return err
}

// relieve seals batches while they take more memory than allowed.
func (s *spool) relieve() {
	b := s.buf
	for {
		b.mu.Lock()
		var victim *openBatch
		if b.memory.used > b.memory.limit {
			victim = b.victim()
		}
		b.mu.Unlock()
		if victim == nil {
			return
		}
		b.seal(victim)
	}
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
func (b *Buffer) write(l *lane, c *Chunk, runs []run, records []record.Record) (first, entry uint64, err error) {
	if b.spool == nil {
		return 0, 0, nil
	}
	floor := b.spool.log.Next()
	b.mu.Lock()
	b.inflight[l] = floor
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
		b.landed(l)
		if b.spool.log.Err() != nil {
			err = b.fail(err)
		}
	}
	return first, entry, err
}

// landed says that what a lane wrote to the log is in its batches.
func (b *Buffer) landed(l *lane) {
	if b.spool == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.inflight, l)
}

// seal makes a batch durable. ok says that the older batches of its lane are.
// While the disk is full it waits, unless the buffer is about to end: the log has the records.
func (s *spool) seal(o *openBatch, batch *Batch, ok bool) error {
	if !ok {
		return errUnsealed
	}
	if err := s.locked(); err != nil {
		return err
	}
	b := s.buf
	head := sealed.Head{Key: o.key(), Through: o.through, First: o.first, Meta: batch.Meta}
	for tries := 1; ; tries++ {
		// Positions and numbers must not be lost behind the batch.
		written, _ := s.log.Entries()
		err := s.log.Sync(written)
		if err == nil {
			head, err = s.dir.Write(head, o.body.parts)
		}
		if err == nil {
			break
		}
		if !disk.Full(err) {
			return b.fail(err)
		}
		if s.dropSpare() {
			continue
		}
		s.sayFull(err)
		b.mu.Lock()
		ending := b.draining && tries > 3 || b.closed || b.failed != nil
		b.mu.Unlock()
		if ending {
			return err
		}
		timer := time.NewTimer(b.opts.fullWait)
		select {
		case <-b.stop:
		case <-timer.C:
		}
		timer.Stop()
	}
	batch.head = head
	s.bytes.Add(head.Size)
	if entry, err := s.log.Cover(head.Key, head.Through, head.Meta.Seq); err == nil {
		batch.covered = entry
	} else if s.log.Err() != nil {
		_ = b.fail(err) // the batch is durable all the same
	}
	return nil
}

// remove removes a delivered batch, once its coverage is durable.
func (s *spool) remove(batch *Batch) (err error) {
	if batch.covered == 0 {
		batch.covered, err = s.log.Cover(batch.head.Key, batch.head.Through, batch.Meta.Seq)
	}
	if err == nil {
		err = s.log.Sync(batch.covered)
	}
	keep := false
	if err == nil {
		keep, err = s.done(batch.Meta.Seq)
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

// quarantine sets a batch aside.
func (s *spool) quarantine(batch *Batch, reason string) error {
	var err error
	if batch.covered == 0 {
		batch.covered, err = s.log.Cover(batch.head.Key, batch.head.Through, batch.Meta.Seq)
	}
	if err == nil {
		err = s.log.Sync(batch.covered)
	}
	if err == nil {
		_, err = s.done(batch.Meta.Seq)
	}
	if err == nil {
		err = s.dir.Quarantine(batch.Meta.Seq, reason)
	}
	if err != nil {
		return s.buf.fail(err)
	}
	s.bytes.Add(-batch.Size)
	return nil
}

// keep syncs the log at the interval, and tries again what found no room, until the buffer closes.
func (s *spool) keep() {
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
		} else if quiet += interval; quiet > spareTime {
			s.dropSpare()
		}
		if b.opts.Sync != SyncNever {
			written, synced := s.log.Entries()
			err := s.log.Sync(written)
			if err == nil && synced == written { // nothing came since the last tick
				err = s.log.Mark()
			}
			if err != nil && !errors.Is(err, wal.ErrFull) {
				b.opts.Log.Error("the buffer's log can not be made durable", "error", b.fail(err))
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
	}
}

// spareTime is how long log files are kept to be used again while none is begun.
const spareTime = 10 * time.Second

// dropSpare gives the room of spare log files back and reports whether there was any.
func (s *spool) dropSpare() bool {
	before := s.log.Spare()
	if err := s.log.DropSpare(); err != nil {
		s.buf.opts.Log.Warn("the buffer's log keeps files that it does not need", "error", err)
	}
	return s.log.Spare() < before
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
	for o := range b.ending {
		needed = min(needed, o.from)
	}
	for _, floor := range b.inflight {
		needed = min(needed, floor)
	}
	idle := len(b.open)+len(b.ending)+len(b.inflight) == 0
	frozen := s.frozen || b.failed != nil
	b.mu.Unlock()
	if frozen || s.locked() != nil {
		return
	}
	const small = 1 << 20
	err := s.log.Trim(needed, force || idle && s.log.Size() > small)
	if err != nil && s.log.Err() != nil {
		_ = b.fail(err)
	} else if err != nil {
		b.opts.Log.Warn("the buffer's log keeps files that it does not need", "error", err)
	}
}

// size is what the buffer takes on disk, in bytes.
func (s *spool) size() int64 { return s.log.Size() + s.log.Spare() + s.bytes.Load() }

// close ends the log: synced, and as small as what is left allows.
func (s *spool) close() error {
	b := s.buf
	b.mu.Lock()
	failed := b.failed
	b.mu.Unlock()
	err := s.log.Close()
	if failed != nil {
		err = failed
	}
	return errors.Join(err, s.lock.Close())
}
