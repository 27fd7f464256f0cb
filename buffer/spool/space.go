package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"logstow/buffer/disk"
	"logstow/buffer/unindexed"
	"logstow/buffer/wal"
	"logstow/internal/hint"
	"logstow/internal/logging"
	"logstow/segment"
)

const (
	// MinDisk is the size in bytes of the smallest file system that a buffer may be on.
	MinDisk = 8 << 20
	// SmallWrites is a rough upper bound of the size in bytes of each small write that delivery needs: states,
	// coverage, the beginning of a log file.
	SmallWrites = 64 << 10
)

var (
	// ErrSmallDisk reports that Options.Dir is on a file system smaller than MinDisk.
	ErrSmallDisk = errors.New("the disk is too small for a buffer")
	// ErrTooLarge reports that a chunk would not fit even if the disk were empty.
	ErrTooLarge = errors.New("chunk too large for the buffer's disk")
)

// The size of a sealed batch is bounded, and a complete reserve is larger than that bound.
// Records are only accepted while the reserve is complete, so every open batch can be sealed
// on a full disk, one after the other as batches are delivered. Sealing leaves space for what
// delivery writes: without that space no sealed batch could be delivered.

// diskSpace tracks the space that a buffer uses on its disk, and the space reserved for sealing and delivery. It is
// safe for concurrent use.
type diskSpace struct {
	opts Options
	// log is nil while it is not open.
	log *wal.Log
	// entities are the index entities of stored batches.
	entities *unindexed.Entities
	// bytes is the total size of the sealed batches' segments.
	bytes atomic.Int64
	// fullLimit limits the log lines that the buffer is full.
	fullLimit logging.Limiter
	reserve   *reserve
	// reserveTarget is the size of a complete reserve, limit how many bytes everything else may use.
	reserveTarget, limit atomic.Int64
	// waiting counts the goroutines that wait for space, to append or to seal.
	waiting atomic.Int64
	// sealMu is held while a batch is sealed on a full disk, so that no two batches use the
	// same released space.
	sealMu sync.Mutex
	// unchecked is how many bytes may be appended before the free space is checked again;
	// checkMu guards it.
	checkMu   sync.Mutex
	unchecked int64
}

// usableSpace returns how many bytes of the available space a sealed batch may use.
func usableSpace(space int64) int64 { return max(space-SmallWrites, space/2) }

// reserveSize returns the size of a complete reserve: the maximum size of a batch of FlushSize
// with its blocks that are not yet compressed, but at most a quarter of capacity.
func (s *diskSpace) reserveSize(capacity int64) int64 {
	flush := s.opts.FlushSize
	most := flush + 2*min(segment.DefaultBlockSize, 4*flush)
	return min(most+most/4+2*SmallWrites, capacity/4)
}

// Capacity returns how many bytes the buffer may use on disk: the lesser of Options.MaxSize and the
// sum of the space that it uses and the free space.
func (s *diskSpace) Capacity() int64 {
	limit := s.opts.MaxSize
	before := s.allocated()
	if space, err := s.space(); err == nil && space.Total > 0 {
		// Files may be removed meanwhile. Rather too much than too little, because the reserve must
		// be large enough for the open batches.
		limit = min(limit, max(before, s.allocated())+space.Free)
	}
	return limit
}

// Size is how many bytes the buffer uses on disk, without the reserve.
func (s *diskSpace) Size() int64 {
	return s.log.Size() + s.log.RecycledSize() + s.bytes.Load() + s.entities.Bytes()
}

// allocated is how many bytes the buffer's files occupy on disk.
func (s *diskSpace) allocated() int64 { return s.Size() + s.log.RecycledRest() + s.reserve.size() }

// space returns the size and the free space of the file system.
func (s *diskSpace) space() (disk.Space, error) { return s.opts.FS.Space(s.opts.Dir) }

// CheckDisk returns [ErrSmallDisk] if Open would fail with it for a directory, which
// need not exist. It changes nothing.
func CheckDisk(dir string) error {
	if err := checkDisk(disk.OS{}, dir); err != nil {
		return fmt.Errorf("cannot open buffer %s: %w", dir, err)
	}
	return nil
}

// checkDisk returns ErrSmallDisk for a file system smaller than MinDisk.
func checkDisk(fsys disk.FS, dir string) error {
	space, err := fsys.Space(dir)
	for above := dir; errors.Is(err, fs.ErrNotExist) && filepath.Dir(above) != above; {
		above = filepath.Dir(above)
		space, err = fsys.Space(above)
	}
	if err != nil || space.Total == 0 || space.Total >= MinDisk {
		return err
	}
	err = fmt.Errorf("%w: %d bytes, the minimum is %d", ErrSmallDisk, space.Total, int64(MinDisk))
	return hint.Wrap(err, "move %s to a larger disk, or use --buffer memory", dir)
}

// logFileSize returns the size at which a log file is full, so that the disk can hold several.
func (s *diskSpace) logFileSize() (int64, error) {
	limit := s.opts.MaxSize
	space, err := s.space()
	if space.Total > 0 {
		limit = min(limit, space.Total)
	}
	return min(wal.DefaultFileSize, max(limit/8, 1<<20)), err
}

// BatchLimit returns the maximum size in bytes of an open batch that can be sealed on a full disk.
func (s *diskSpace) BatchLimit() int64 {
	want, held := s.reserveTarget.Load(), s.reserve.size()
	if held < want {
		// Records that an earlier process left on a full disk are sealed in smaller batches.
		if space, err := s.space(); err == nil {
			held += space.Free
		}
	}
	return max(usableSpace(min(want, held)-SmallWrites)/5*4, SmallWrites/16)
}

// fitsWithoutReserve reports whether the disk has space for a batch of n bytes and a complete reserve.
func (s *diskSpace) fitsWithoutReserve(n int64) bool {
	space, err := s.space()
	return err == nil && (space.Total == 0 || space.Free+s.reserve.size() > n+s.reserveTarget.Load()+4*SmallWrites)
}

// releaseReserveFor releases as much of the reserve as sealing a batch of n bytes needs. The error is
// ENOSPC if the batch would not leave the space that delivery needs. s.sealMu is held.
func (s *diskSpace) releaseReserveFor(n int64) error {
	space, err := s.space()
	if err != nil {
		return err
	}
	if space.Total == 0 { // unknown: a full disk fails the write
		s.ReleaseReserve(n)
		return nil
	}
	if n > usableSpace(space.Free+s.reserve.size()) {
		return fmt.Errorf("cannot seal a batch of %d bytes, %d are free: %w", n, space.Free+s.reserve.size(), syscall.ENOSPC)
	}
	s.ReleaseReserve(n + SmallWrites - space.Free)
	return nil
}

// ChunkSize is the size in bytes of a chunk.
type ChunkSize struct {
	// Total is the size of the chunk's text, Largest that of its largest record.
	Total, Largest int64
}

// HasSpace returns nil if there is space for both a chunk and a complete reserve. The error is
// wal.ErrFull if there is no space now, and ErrTooLarge if there never will be.
func (s *diskSpace) HasSpace(n ChunkSize) error {
	s.checkMu.Lock()
	defer s.checkMu.Unlock()
	opts := &s.opts
	want := max(s.reserveTarget.Load(), n.Largest+n.Largest/4)
	if used, limit := s.Size()+min(want, opts.MaxSize/4), opts.MaxSize; used+min(n.Total, limit/4) > limit {
		return fmt.Errorf("%w: %d bytes of %d are used", wal.ErrFull, used, limit)
	}
	if held := s.reserve.size(); held >= want && n.Total <= s.unchecked {
		s.unchecked -= n.Total
		return nil
	}
	space, err := s.space()
	if err != nil {
		return err
	}
	left := space.Free + s.reserve.size() - want - n.Total - SmallWrites
	switch {
	case space.Total == 0: // unknown: a full disk fails the write
		left = math.MaxInt64
	case want+n.Total+4*SmallWrites > space.Total:
		err := fmt.Errorf("%w: %d bytes, on a disk of %d", ErrTooLarge, n.Total, space.Total)
		return hint.Wrap(err, "move %s to a larger disk, or lower --max-record", opts.Dir)
	case left < 0:
		return fmt.Errorf("%w: %d bytes are free", wal.ErrFull, space.Free)
	}
	if err := s.reserve.grow(want); disk.Full(err) {
		return fmt.Errorf("%w: %w", wal.ErrFull, err)
	} else if err != nil {
		return err
	}
	s.unchecked = left / 8
	return nil
}

// ForceSpaceCheck makes HasSpace check the free space for the next chunk.
func (s *diskSpace) ForceSpaceCheck() {
	s.checkMu.Lock()
	defer s.checkMu.Unlock()
	s.unchecked = 0
}

// DropRecycled removes the recycled log files and reports whether that freed space.
func (s *diskSpace) DropRecycled() bool {
	if s.log == nil {
		return false
	}
	before := s.log.RecycledSize()
	if err := s.log.DropRecycled(); err != nil {
		s.opts.Log.Warn("cannot remove recycled log files", "error", err)
	}
	return s.log.RecycledSize() < before
}

// withReserve calls a function that writes at most SmallWrites bytes. On a full disk it
// releases a part of the reserve and calls the function again. All writes that delivery
// depends on use it, because only delivery frees space.
func (s *diskSpace) withReserve(write func() error) error {
	err := write()
	if disk.Full(err) && s.DropRecycled() {
		err = write()
	}
	if !disk.Full(err) {
		return err
	}
	s.sealMu.Lock() // so that no batch uses the released space
	defer s.sealMu.Unlock()
	if err = write(); disk.Full(err) && s.ReleaseReserve(SmallWrites) {
		err = write()
	}
	return err
}

// ReleaseReserve releases up to n bytes of the reserve and reports whether it freed any space. If
// the reserve is empty, it removes the copy of the current log file instead.
func (s *diskSpace) ReleaseReserve(n int64) bool {
	freed, err := s.reserve.shrink(n)
	if err != nil {
		s.opts.Log.Warn("cannot release the reserved disk space", "error", err)
	}
	if freed > 0 || s.log == nil {
		return freed > 0
	}
	dropped, err := s.log.DropCopy()
	if err != nil {
		s.opts.Log.Warn("cannot remove the copy of a log file", "error", err)
	}
	return dropped
}

// RestoreReserve completes the reserve, or grows it as far as the free space allows. A full disk is
// no error.
func (s *diskSpace) RestoreReserve() error {
	capacity := s.Capacity()
	want := s.reserveSize(capacity)
	s.reserveTarget.Store(want)
	s.limit.Store(capacity - want)
	err := s.reserve.grow(want)
	if !disk.Full(err) {
		return err
	}
	// Records are not accepted until it is complete. Until then it keeps other programs from using the free space.
	if space, err := s.space(); err == nil && space.Free > SmallWrites {
		if err := s.reserve.grow(s.reserve.size() + space.Free - SmallWrites); !disk.Full(err) {
			return err
		}
	}
	return nil
}

// Wait waits until space is closed, or until the retry interval is over, because other programs free
// space without a notification. done, quit and a final error end the wait.
func (s *diskSpace) Wait(done, quit, space <-chan struct{}) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	timer := time.NewTimer(s.opts.RetryInterval)
	defer timer.Stop()
	select {
	case <-done:
	case <-quit:
	case <-s.opts.Failure.Failed():
	case <-space:
	case <-timer.C:
	}
}

// Waiting reports whether a goroutine waits for space on disk.
func (s *diskSpace) Waiting() bool { return s.waiting.Load() > 0 }

// Reserve returns how many bytes are reserved, and the size of a complete reserve.
func (s *diskSpace) Reserve() (held, want int64) { return s.reserve.size(), s.reserveTarget.Load() }

// Limit is how many bytes the buffer may use on disk, without the reserve.
func (s *diskSpace) Limit() int64 { return s.limit.Load() }

// WarnFull logs that the buffer is full, rate-limited.
func (s *diskSpace) WarnFull(err error) {
	if !s.fullLimit.Allow() {
		return
	}
	s.opts.Log.Warn("the buffer is full; inputs wait until batches are delivered", "dir", s.opts.Dir, "error", err)
}
