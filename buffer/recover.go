package buffer

import (
	"context"
	"errors"
	"math"
	"path/filepath"

	"logstow/buffer/sealed"
	"logstow/buffer/wal"
)

// openSpool locks and opens the buffer's directory, and recovers positions and sealed batches.
func (b *Buffer) openSpool(ctx context.Context) (err error) {
	o := &b.opts
	s := &spool{buf: b, reserve: &reserve{fs: o.fs, path: filepath.Join(o.Dir, reserveFile)}}
	if s.lock, err = lockDir(o.Dir, o.Instance, o.Now()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.lock.Close())
		}
	}()
	if err := errors.Join(checkDisk(o.fs, o.Dir), s.reserve.load()); err != nil {
		return err
	}
	b.spool = s
	var found wal.Sealed
	err = s.withReserve(func() (err error) {
		found, err = s.openDirs(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if s.fileSize, err = s.logFileSize(); err != nil {
		return err
	}
	var report wal.Report
	err = s.withReserve(func() (err error) {
		s.log, report, err = wal.Open(ctx, wal.Options{
			Dir: filepath.Join(o.Dir, logDir), FS: o.fs, FileSize: s.fileSize, OnLostPositions: o.OnLostPositions, Log: o.Log,
		}, found)
		return err
	})
	if err != nil {
		return wrapLostPositions(err, report)
	}
	b.seq = max(b.seq, s.log.Seq())
	err = errors.Join(s.handleDamage(report), s.restoreReserve())
	if err == nil && s.reserve.size() == 0 { // the disk is full: delivery needs the copy's space
		_, err = s.log.DropCopy()
	}
	if err != nil {
		return errors.Join(err, s.log.Close())
	}
	return nil
}

// openDirs makes the directories and queues the sealed batches found there.
func (s *spool) openDirs(ctx context.Context) (found wal.Sealed, err error) {
	b, o := s.buf, &s.buf.opts
	if err := o.fs.MkdirAll(filepath.Join(o.Dir, logDir)); err != nil {
		return found, err
	}
	if s.dir, err = sealed.Open(o.fs, filepath.Join(o.Dir, sealedDir), filepath.Join(o.Dir, quarantineDir)); err != nil {
		return found, err
	}
	known, err := s.dir.Known()
	if err != nil {
		return found, err
	}
	heads, damaged, err := s.dir.List(ctx)
	if err != nil {
		return found, err
	}
	for _, name := range damaged {
		b.stats.Quarantined++
		o.Log.Error("a sealed batch is damaged or cannot be read, and is quarantined", "file", name, "dir", o.Dir)
	}
	for _, h := range heads {
		b.queue.put(s.batch(h))
		s.bytes.Add(h.Size)
		b.seq = max(b.seq, h.Meta.Seq)
	}
	return sealedForLog(heads, known), nil
}

// errQuit ends the replay when the buffer closes.
var errQuit = errors.New("the buffer is closed")

// replay appends the log's unsealed records to open batches. On a full disk it waits as
// batches are sealed and delivered.
func (s *spool) replay() {
	b := s.buf
	defer close(b.replayed)
	err := s.log.Replay(s.replayOne)
	b.mu.Lock()
	if err == nil {
		s.replayFloor = math.MaxUint64
	} else {
		b.stats.Unsealed++
	}
	n := b.stats.Replayed
	b.mu.Unlock()
	if n > 0 {
		b.opts.Log.Info("recovered records that an earlier process had not sealed", "records", n, "dir", b.opts.Dir)
	}
	if err == nil {
		s.trim(true)
	} else if !errors.Is(err, errQuit) {
		b.opts.Log.Error("cannot replay the buffer's log", "error", b.fail(err))
	}
}

// replayOne appends the records of a log entry to open batches.
func (s *spool) replayOne(e wal.Records) error {
	b := s.buf
	select {
	case <-b.quit:
		return errQuit
	default:
	}
	b.mu.Lock()
	s.replayFloor = e.First
	p := b.partition(e.Service)
	err := b.failed
	b.mu.Unlock()
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
	p.mu.Lock()
	full, err := p.apply(e.Records, runs, e.First)
	p.mu.Unlock()
	for _, o := range full {
		b.sealDetached(context.Background(), o) // stopWaiting ends the wait
	}
	b.mu.Lock()
	b.stats.Replayed += uint64(len(e.Records))
	b.mu.Unlock()
	s.sealToLimit()
	return err
}

// sealToLimit seals open batches while the buffer exceeds its memory limit.
func (s *spool) sealToLimit() {
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
		b.seal(context.Background(), victim) // stopWaiting ends the wait
	}
}
