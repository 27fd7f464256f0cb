// Package spool is a buffer's directory. It holds the write-ahead log with the unsealed records and the
// positions of the inputs, and the sealed batches until they are delivered. It reserves space for sealing
// and delivery, and reports a full disk to its caller.
package spool

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"sync"
	"time"

	"logstow/buffer/internal/wait"
	"logstow/buffer/sealed"
	"logstow/buffer/unindexed"
	"logstow/buffer/wal"
	"logstow/internal/event"
	"logstow/internal/hint"
)

// Spool is a buffer's directory: the write-ahead log of unsealed records, which also has the
// positions of the inputs, and the sealed batches. It is safe for concurrent use.
//
// A full disk is [wal.ErrFull], or an error of the operating system ([disk.Full]); the caller
// decides what to seal and what to wait for.
type Spool struct {
	diskSpace

	dir  *sealed.Dir
	lock *dirLock
	// fileSize is the size at which a log file is full.
	fileSize int64
	// durable is notified when entries were synced.
	durable event.Event
	// stop is closed by Stop.
	stop     chan struct{}
	stopOnce sync.Once
	// rolls is how many log files were begun at the last call of Maintain, idle for how long no other was begun.
	rolls uint64
	idle  time.Duration

	mu sync.Mutex
	// delivered are the delivered batches that are not removed yet, because the disk had no space
	// for their coverage.
	delivered []*batchFile
	losses    Losses
}

// batchFile is the file of a sealed batch.
type batchFile struct {
	sealed.Head

	// covered is the LSN of the batch's coverage, which must be durable before the file may be removed;
	// 0 if it is not in the log yet.
	covered wal.LSN
}

// Losses counts the damage of a spool's files since Open.
type Losses struct {
	// Damaged is how many files were damaged or missing, not counting quarantined batches.
	Damaged uint64
	// Records is how many records are known to be lost, Missing how many sealed batches have no
	// file, Unknown how many damaged parts of the log had unknown content.
	Records, Missing, Unknown uint64
	// Positions reports that positions were lost.
	Positions bool
}

// Append writes records and positions as one entry of the log. It returns the number of the first
// record and the LSN of the entry. After [wal.ErrFull] nothing was written.
func (s *Spool) Append(e wal.Records) (first uint64, lsn wal.LSN, err error) {
	first, lsn, err = s.log.Append(e)
	if err != nil && s.log.Err() != nil {
		err = s.opts.Failure.Set(err)
	}
	return first, lsn, err
}

// Entities are the index entities of stored batches.
func (s *Spool) Entities() *unindexed.Entities { return s.entities }

// Dir is the directory.
func (s *Spool) Dir() string { return s.opts.Dir }

// Next returns the number of the next record.
func (s *Spool) Next() uint64 { return s.log.Next() }

// Position returns the last position of an input. The bytes must not be changed.
func (s *Spool) Position(input string) (value []byte, ok bool) { return s.log.Position(input) }

// Positions returns the last positions of all inputs whose names start with prefix, in order of
// name. The values must not be changed.
func (s *Spool) Positions(prefix string) []wal.Position { return s.log.Positions(prefix) }

// LostPositions returns the policy that was applied when positions were lost, until
// [wal.RestoredPosition] is appended, across restarts; wal.Undecided if no positions are lost.
func (s *Spool) LostPositions() wal.LostPositions { return s.log.LostPositions() }

// Replay calls take with the records that are in no sealed batch, in the order in which they were
// appended. It must be called before records are appended.
func (s *Spool) Replay(take func(wal.Records) error) error { return s.log.Replay(take) }

// Sync makes all entries up to an LSN durable.
func (s *Spool) Sync(lsn wal.LSN) error { return s.opts.Failure.Set(s.log.Sync(lsn)) }

// groupCommitDelay is how long a call of Synced waits for others to share its sync with.
const groupCommitDelay = 10 * time.Millisecond

// Synced waits until all entries up to an LSN are durable. It does not wait for the next Maintain, but syncs after a
// short delay, so that concurrent calls share one sync. After Stop the error is [wait.ErrClosed].
func (s *Spool) Synced(ctx context.Context, lsn wal.LSN) error {
	for {
		durable := s.durable.Next()
		if _, synced := s.log.LSN(); synced >= lsn {
			return nil
		}
		if err := s.opts.Failure.Err(); err != nil {
			return err
		}
		select {
		case <-s.stop:
			return wait.ErrClosed
		default:
		}
		timer := time.NewTimer(groupCommitDelay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-s.stop:
			timer.Stop()
		case <-s.opts.Failure.Failed():
			timer.Stop()
		case <-durable:
			timer.Stop()
		case <-timer.C:
			if err := s.Sync(lsn); err != nil {
				return err
			}
			s.durable.Notify()
		}
	}
}

// Maintain must be called at the given interval, by one goroutine. It removes recycled log files that
// are not needed, syncs the log if sync is set, and removes delivered batches whose removal failed on
// a full disk. An error is final.
func (s *Spool) Maintain(interval time.Duration, sync bool) error {
	if n := s.log.Rolls(); n != s.rolls {
		s.rolls, s.idle = n, 0
	} else if s.idle += interval; s.idle > recycledMaxIdle {
		s.DropRecycled()
	}
	if sync {
		if err := s.syncAll(); err != nil {
			s.opts.Log.Error("cannot sync the buffer's log", "error", s.opts.Failure.Set(err))
			return err
		}
	}
	s.durable.Notify()
	s.mu.Lock()
	delivered := s.delivered
	s.delivered = nil
	s.mu.Unlock()
	for _, f := range delivered {
		if err := s.remove(f); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the file of a delivered batch after making its coverage durable. If the disk has no
// space for the coverage, Maintain tries again. An error is final.
func (s *Spool) remove(f *batchFile) error {
	err := s.cover(f)
	keep := false
	if err == nil {
		keep, err = s.writeDone(f.Meta.Seq)
	}
	if errors.Is(err, wal.ErrFull) {
		s.mu.Lock()
		s.delivered = append(s.delivered, f)
		s.mu.Unlock()
		return nil
	}
	if err == nil {
		err = s.dir.Remove(f.Meta.Seq, keep)
	}
	if err != nil {
		return s.opts.Failure.Set(err)
	}
	s.bytes.Add(-f.Size)
	return nil
}

// cover makes the coverage of a batch durable; only then may its file be removed.
func (s *Spool) cover(f *batchFile) error {
	return s.withReserve(func() (err error) {
		if f.covered == 0 {
			f.covered, err = s.log.Cover(f.Key, f.Through, f.Meta.Seq)
		}
		if err == nil {
			err = s.log.Sync(f.covered)
		}
		return err
	})
}

// writeDone writes to the log, durably, that a batch no longer waits. If the disk has no space
// for that, keepName is true: the name of the batch must be kept until the next Open.
func (s *Spool) writeDone(seq int64) (keepName bool, err error) {
	var lsn wal.LSN
	err = s.withReserve(func() (err error) {
		lsn, err = s.log.Done(seq)
		return err
	})
	if errors.Is(err, wal.ErrFull) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, s.log.Sync(lsn)
}

// syncAll syncs the log. If nothing was appended since the last sync, it writes an entry that all others
// are durable. A full disk is no error.
func (s *Spool) syncAll() error {
	written, synced := s.log.LSN()
	err := s.log.Sync(written)
	if err == nil && synced == written {
		err = s.log.WriteDurable()
	}
	if errors.Is(err, wal.ErrFull) {
		return nil
	}
	return err
}

// recycledMaxIdle is how long recycled log files are kept while no log file is begun.
const recycledMaxIdle = 10 * time.Second

// Trim removes log files whose records all have numbers below needed. It first begins a new file if
// force is set, or if idle is set (no batch is open) and the log is large: then the current file can be
// removed too.
func (s *Spool) Trim(needed uint64, force, idle bool) {
	if s.opts.Failure.Err() != nil || s.checkLock() != nil {
		return
	}
	const large = 1 << 20
	err := s.withReserve(func() error { return s.log.Trim(needed, force || idle && s.log.Size() > large) })
	if err != nil && s.log.Err() != nil {
		_ = s.opts.Failure.Set(err)
	} else if err != nil {
		s.opts.Log.Warn("cannot remove log files whose records are all sealed", "error", err)
	}
}

// logFiles is about how many full log files are kept before open batches are sealed to free the
// oldest.
const logFiles = 3

// LogFileFull reports whether the current log file is full, so that Trim begins a new one.
func (s *Spool) LogFileFull() bool { return s.log.Full() }

// LongLog reports whether the log is longer than a few full files, and its oldest file cannot be removed
// as long as the record with the given number is needed.
func (s *Spool) LongLog(number uint64) bool {
	return s.log.Size() > logFiles*s.fileSize && number <= s.log.Oldest()
}

// LogSize is the size of the log in bytes.
func (s *Spool) LogSize() int64 { return s.log.Size() }

// lockCheckInterval is the time between checks whether directory or lock file were replaced.
const lockCheckInterval = time.Second

// WatchLock checks the lock until Stop is called or the buffer fails.
func (s *Spool) WatchLock() {
	ticker := time.NewTicker(lockCheckInterval)
	defer ticker.Stop()
	for s.checkLock() == nil {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
	}
}

// checkLock makes the buffer fail if its directory or lock file was replaced, because another process
// may then use the directory.
func (s *Spool) checkLock() error {
	err := s.lock.check()
	if err == nil || errors.Is(err, wait.ErrClosed) {
		return err
	}
	err = hint.Wrap(err, "start it again, and leave the files in the buffer directory alone while it runs")
	return s.opts.Failure.Set(err)
}

// Losses returns the damage found so far.
func (s *Spool) Losses() Losses {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.losses
}

// Stop ends Synced and WatchLock.
func (s *Spool) Stop() { s.stopOnce.Do(func() { close(s.stop) }) }

// Close syncs and closes the log, and releases the lock. With empty set (nothing is left to deliver)
// it removes the reserve. The error is the final error if there is one.
func (s *Spool) Close(empty bool) error {
	err := s.log.Close()
	failed := s.opts.Failure.Err()
	if empty && failed == nil && err == nil {
		// The next process finds as much free space as this one did.
		if _, err := s.reserve.shrink(math.MaxInt64); err != nil {
			s.opts.Log.Warn("cannot release the reserved disk space", "error", err)
		}
	}
	if failed != nil {
		err = failed
	}
	return errors.Join(err, s.lock.Close())
}

// path returns the path of a file in the buffer's directory.
func (s *Spool) path(names ...string) string {
	return filepath.Join(append([]string{s.opts.Dir}, names...)...)
}
