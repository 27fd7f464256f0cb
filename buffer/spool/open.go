package spool

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"logstow/buffer/sealed"
	"logstow/buffer/unindexed"
	"logstow/buffer/wal"
	"logstow/internal/logging"
)

// Recovered is what Open found in a directory.
type Recovered struct {
	// Batches are the waiting sealed batches, in order of Seq; Seq is the highest Seq so far.
	Batches []*Batch
	Seq     int64
	// Quarantined is how many batches were quarantined because they are damaged.
	Quarantined int
}

// Open locks and opens a directory, which it makes if it is missing, and recovers positions and
// sealed batches. Replay must be called before records are appended. ctx ends Open, not the
// Spool. The error is [ErrLocked] if another process has the directory open, [ErrSmallDisk] if its
// disk is smaller than [MinDisk], and [wal.ErrLostPositions] if positions are lost and the policy is
// [wal.Stop]. Close ends the Spool.
func Open(ctx context.Context, opts Options) (s *Spool, found Recovered, err error) {
	s = &Spool{
		diskSpace: diskSpace{
			opts:      opts,
			reserve:   &reserve{fs: opts.FS, path: filepath.Join(opts.Dir, reserveFile)},
			fullLimit: logging.Limiter{Every: time.Minute},
		},
		stop: make(chan struct{}),
	}
	if s.lock, err = lockDir(opts.Dir, Holder{Instance: opts.Instance, TakenOverBy: opts.TakenOverBy, Since: opts.Now()}); err != nil {
		return nil, found, err
	}
	if err := errors.Join(checkDisk(opts.FS, opts.Dir), s.reserve.load()); err != nil {
		return nil, found, errors.Join(err, s.lock.Close())
	}
	if found, err = s.recover(ctx); err != nil {
		return nil, found, errors.Join(err, s.lock.Close())
	}
	return s, found, nil
}

// recover opens the sealed batches and the log.
func (s *Spool) recover(ctx context.Context) (found Recovered, err error) {
	o := &s.opts
	var batches wal.Sealed
	err = s.withReserve(func() (err error) {
		found, batches, err = s.openDirs(ctx)
		return err
	})
	if err != nil {
		return found, err
	}
	for _, batch := range found.Batches {
		s.bytes.Add(batch.Size)
	}
	if s.fileSize, err = s.logFileSize(); err != nil {
		return found, err
	}
	var report wal.Report
	err = s.withReserve(func() (err error) {
		s.log, report, err = wal.Open(ctx, wal.Options{
			Dir: s.path(logDir), FS: o.FS, FileSize: s.fileSize, OnLostPositions: o.OnLostPositions, Log: o.Log,
		}, batches)
		return err
	})
	if err != nil {
		return found, wrapLostPositions(err, report)
	}
	found.Seq = max(found.Seq, s.log.Seq())
	err = errors.Join(s.handleDamage(report), s.RestoreReserve())
	if err == nil && s.reserve.size() == 0 { // the disk is full: delivery needs the copy's space
		_, err = s.log.DropCopy()
	}
	if err != nil {
		return found, errors.Join(err, s.log.Close())
	}
	return found, nil
}

// unindexedShare is the share of the limit on disk that index entities may use, as a divisor.
const unindexedShare = 4

// openEntities opens the index entities of stored batches.
func (s *Spool) openEntities(ctx context.Context) (*unindexed.Entities, error) {
	o := &s.opts
	limit := o.MaxSize
	space, err := s.space()
	if err != nil {
		return nil, err
	}
	if space.Total > 0 {
		limit = min(limit, space.Total)
	}
	return unindexed.Open(ctx, unindexed.Options{
		Dir: s.path(unindexedDir), FS: o.FS, Limit: o.MaxUnindexed, MaxBytes: limit / unindexedShare,
		Reserve: s.withReserve, Log: o.Log, Failure: o.Failure,
	})
}

// openDirs makes the directories and reads the heads of the sealed batches there.
func (s *Spool) openDirs(ctx context.Context) (found Recovered, batches wal.Sealed, err error) {
	o := &s.opts
	if err := o.FS.MkdirAll(s.path(logDir)); err != nil {
		return found, batches, err
	}
	if s.dir, err = sealed.Open(o.FS, s.path(sealedDir), s.path(quarantineDir)); err != nil {
		return found, batches, err
	}
	if err := o.FS.MkdirAll(s.path(unindexedDir)); err != nil {
		return found, batches, err
	}
	if s.entities, err = s.openEntities(ctx); err != nil {
		return found, batches, err
	}
	known, err := s.dir.Known()
	if err != nil {
		return found, batches, err
	}
	heads, damaged, err := s.dir.List(ctx)
	if err != nil {
		return found, batches, err
	}
	found.Quarantined = len(damaged)
	for _, name := range damaged {
		o.Log.Error("a sealed batch is damaged or cannot be read, and is quarantined", "file", name, "dir", o.Dir)
	}
	for _, h := range heads {
		found.Batches = append(found.Batches, &Batch{batchFile{Head: h}, s})
		found.Seq = max(found.Seq, h.Meta.Seq)
	}
	return found, sealedForLog(heads, known), nil
}
