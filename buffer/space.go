package buffer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"syscall"
	"time"

	"logstow/buffer/internal/disk"
	"logstow/buffer/wal"
	"logstow/internal/hint"
	"logstow/segment"
)

const (
	// logFiles is about how many full log files are kept before open batches are sealed to
	// free the oldest.
	logFiles = 3
	// MinDisk is the size in bytes of the smallest file system that Options.Dir may be on.
	MinDisk = 8 << 20
	// smallWrites bounds, roughly, the bytes of each small write that delivery needs: states,
	// coverage, the beginning of a log file.
	smallWrites = 64 << 10
	// fullLogInterval is the least time between log messages that the buffer is full.
	fullLogInterval = time.Minute
)

var (
	// ErrSmallDisk reports that Options.Dir is on a file system smaller than MinDisk.
	ErrSmallDisk = errors.New("the disk is too small for a buffer")
	// ErrTooLarge reports that a chunk would not fit even if the disk were empty.
	ErrTooLarge = errors.New("chunk too large for the buffer's disk")
)

// The size of a sealed batch is bounded, and the reserve is larger than that bound. So
// while the reserve is complete, any open batch can be sealed on a full disk, one after
// the other as batches are delivered; records are only accepted while the reserve is
// complete. Sealing leaves space for what delivery writes: without that space no sealed
// batch could be delivered.

// usableSpace returns how many bytes of the available space a sealed batch may use.
func usableSpace(space int64) int64 { return max(space-smallWrites, space/2) }

// reserveSize returns the size of a complete reserve: what a batch of FlushSize and its
// blocks that are not yet compressed need at most, and no more than a quarter of capacity.
func (s *spool) reserveSize(capacity int64) int64 {
	flush := s.buf.opts.FlushSize
	most := flush + 2*min(segment.DefaultBlockSize, 4*flush)
	return min(most+most/4+2*smallWrites, capacity/4)
}

// capacity returns how many bytes the buffer may use on disk: Options.MaxSize, or, if that is
// less, what it uses and what is free.
func (s *spool) capacity() int64 {
	limit := s.buf.opts.MaxSize
	before := s.allocated()
	if space, err := s.space(); err == nil && space.Total > 0 {
		// Files may be removed meanwhile: too much is better than too little, because the reserve
		// must be large enough for the open batches.
		limit = min(limit, max(before, s.allocated())+space.Free)
	}
	return limit
}

// allocated is how many bytes the buffer's files occupy on disk.
func (s *spool) allocated() int64 { return s.size() + s.log.RecycledRest() + s.reserve.size() }

// space returns the size of the file system.
func (s *spool) space() (disk.Space, error) { return s.buf.opts.fs.Space(s.buf.opts.Dir) }

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

// logFileSize returns the size at which a log file is full; it is small enough for the disk
// to hold several.
func (s *spool) logFileSize() (int64, error) {
	limit := s.buf.opts.MaxSize
	space, err := s.space()
	if space.Total > 0 {
		limit = min(limit, space.Total)
	}
	return min(wal.DefaultFileSize, max(limit/8, 1<<20)), err
}

// batchLimit returns the maximum size in bytes of an open batch, for which there is space
// when it is sealed.
func (b *Buffer) batchLimit() int64 {
	s := b.spool
	if s == nil {
		return math.MaxInt64
	}
	want, held := s.reserveTarget.Load(), s.reserve.size()
	if held < want {
		// Records that an earlier process left on a full disk are sealed in smaller batches.
		if space, err := s.space(); err == nil {
			held += space.Free
		}
	}
	return max(usableSpace(min(want, held)-smallWrites)/5*4, smallWrites/16)
}

// fitsWithoutReserve reports whether a batch of n bytes can be sealed and the reserve be completed besides.
func (s *spool) fitsWithoutReserve(n int64) bool {
	space, err := s.space()
	return err == nil && (space.Total == 0 || space.Free+s.reserve.size() > n+s.reserveTarget.Load()+4*smallWrites)
}

// releaseReserveFor releases as much of the reserve as sealing a batch of n bytes needs. The
// error is ENOSPC if there is too little space without that which delivery needs. s.sealMu is held.
func (s *spool) releaseReserveFor(n int64) error {
	space, err := s.space()
	if err != nil {
		return err
	}
	if space.Total == 0 { // unknown: a full disk fails the write
		s.releaseReserve(n)
		return nil
	}
	if n > usableSpace(space.Free+s.reserve.size()) {
		return fmt.Errorf("cannot seal a batch of %d bytes, %d are free: %w", n, space.Free+s.reserve.size(), syscall.ENOSPC)
	}
	s.releaseReserve(n + smallWrites - space.Free)
	return nil
}

// chunkSize is the size in bytes of a chunk.
type chunkSize struct {
	// total is the size of the chunk's text, largest that of its largest record.
	total, largest int64
}

// hasSpace returns nil if a chunk fits besides a complete reserve. The error is wal.ErrFull
// if it does not fit now, and ErrTooLarge if it never will.
func (s *spool) hasSpace(n chunkSize) error {
	s.checkMu.Lock()
	defer s.checkMu.Unlock()
	opts := &s.buf.opts
	want := max(s.reserveTarget.Load(), n.largest+n.largest/4)
	if used, limit := s.size()+min(want, opts.MaxSize/4), opts.MaxSize; used+min(n.total, limit/4) > limit {
		return fmt.Errorf("%w: %d bytes of %d are used", wal.ErrFull, used, limit)
	}
	if held := s.reserve.size(); held >= want && n.total <= s.unchecked {
		s.unchecked -= n.total
		return nil
	}
	space, err := s.space()
	if err != nil {
		return err
	}
	left := space.Free + s.reserve.size() - want - n.total - smallWrites
	switch {
	case space.Total == 0: // unknown: a full disk fails the write
		left = math.MaxInt64
	case want+n.total+4*smallWrites > space.Total:
		err := fmt.Errorf("%w: %d bytes, on a disk of %d", ErrTooLarge, n.total, space.Total)
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

// forceSpaceCheck makes hasSpace check the free space for the next chunk.
func (s *spool) forceSpaceCheck() {
	s.checkMu.Lock()
	defer s.checkMu.Unlock()
	s.unchecked = 0
}

// waitForSpace waits until a chunk fits. failed is the error of a write that failed on a
// full disk although there seemed to be space; nil before the first attempt.
func (b *Buffer) waitForSpace(ctx context.Context, n chunkSize, failed error) error {
	s := b.spool
	if s == nil {
		return nil
	}
	s.compactLog(ctx)
	for {
		if err := b.waitError(ctx); err != nil {
			return err
		}
		full := failed
		if full == nil {
			full = s.hasSpace(n)
		} else {
			s.forceSpaceCheck()
		}
		if full == nil {
			return nil
		}
		if !errors.Is(full, wal.ErrFull) {
			if errors.Is(full, ErrTooLarge) {
				return full
			}
			return b.fail(full)
		}
		b.mu.Lock()
		space := b.space.wait()
		b.mu.Unlock()
		freed, err := s.makeSpace(ctx, failed != nil)
		if err != nil {
			return err
		}
		if freed {
			failed = nil
			continue
		}
		s.logFull(full)
		b.waitRetry(ctx.Done(), space)
		failed = nil
	}
}

// makeSpace frees space without waiting for deliveries, and reports whether it freed any.
// With force set it seals a batch even if the log is short.
func (s *spool) makeSpace(ctx context.Context, force bool) (bool, error) {
	b := s.buf
	if s.dropRecycled() {
		return true, nil
	}
	b.mu.Lock()
	waiting, sending, ending := len(b.queue.waiting), len(b.queue.inflight), len(b.sealing)
	oldest := b.oldestOpen()
	b.mu.Unlock()
	size := s.log.Size()
	// The log is as large as the records; sealed they are a fraction of it.
	if oldest != nil && (force || size > s.capacity()/4 || waiting+sending+ending == 0) {
		b.seal(ctx, oldest)
		s.trim(true)
		return true, nil
	}
	if b.opts.OnFull == DropOldest && waiting > 0 {
		return true, s.dropOldest()
	}
	if oldest == nil && size > smallWrites {
		s.trim(true)
	}
	return s.log.Size() < size, nil
}

// waitRetry waits until space is notified or the retry interval is over, as other programs
// free space without a notification. done ends the wait.
func (b *Buffer) waitRetry(done, space <-chan struct{}) {
	b.spool.waiting.Add(1)
	defer b.spool.waiting.Add(-1)
	timer := time.NewTimer(b.opts.fullRetryInterval)
	defer timer.Stop()
	select {
	case <-done:
	case <-b.quit:
	case <-space:
	case <-timer.C:
	}
}

// compactLog keeps the log short while much is appended: it seals the open batches whose
// few records keep the oldest log file from being removed.
func (s *spool) compactLog(ctx context.Context) {
	if !s.log.Full() {
		return
	}
	s.trim(false)
	for s.log.Size() > logFiles*s.fileSize && ctx.Err() == nil {
		s.buf.mu.Lock()
		oldest := s.buf.oldestOpen()
		frozen := s.frozen
		s.buf.mu.Unlock()
		if frozen || oldest == nil || oldest.from > s.log.Oldest() {
			return
		}
		s.buf.seal(ctx, oldest)
	}
}

// oldestOpen returns the open batch with the oldest record in the log; nil if none is open. b.mu is held.
func (b *Buffer) oldestOpen() (oldest *openBatch) {
	for o := range b.open {
		if oldest == nil || o.from < oldest.from {
			oldest = o
		}
	}
	return oldest
}

// withReserve calls a function that writes at most smallWrites bytes; on a full disk it
// releases some of the reserve and calls it again. All writes that delivery depends on go
// through it, because delivery is what frees space.
func (s *spool) withReserve(write func() error) error {
	err := write()
	if disk.Full(err) && s.dropRecycled() {
		err = write()
	}
	if !disk.Full(err) {
		return err
	}
	s.sealMu.Lock() // so that no batch is sealed into the released space
	defer s.sealMu.Unlock()
	if err = write(); disk.Full(err) && s.releaseReserve(smallWrites) {
		err = write()
	}
	return err
}

// releaseReserve releases n bytes of the reserve, or all there are, and reports whether it
// released any. When the reserve is used up, it removes the current log file's copy instead.
func (s *spool) releaseReserve(n int64) bool {
	freed, err := s.reserve.shrink(n)
	if err != nil {
		s.buf.opts.Log.Warn("cannot release the reserved disk space", "error", err)
	}
	if freed > 0 || s.log == nil {
		return freed > 0
	}
	dropped, err := s.log.DropCopy()
	if err != nil {
		s.buf.opts.Log.Warn("cannot remove the copy of a log file", "error", err)
	}
	return dropped
}

// restoreReserve completes the reserve, or grows it as far as free space allows.
func (s *spool) restoreReserve() error {
	capacity := s.capacity()
	want := s.reserveSize(capacity)
	s.reserveTarget.Store(want)
	s.limit.Store(capacity - want)
	err := s.reserve.grow(want)
	if !disk.Full(err) {
		return err
	}
	// Records are not accepted until it is complete; until then what is free is kept from other programs.
	if space, err := s.space(); err == nil && space.Free > smallWrites {
		if err := s.reserve.grow(s.reserve.size() + space.Free - smallWrites); !disk.Full(err) {
			return err
		}
	}
	return nil
}

// waitError returns why waiting for space has to end, nil if it does not.
func (b *Buffer) waitError(ctx context.Context) error {
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

// dropOldest drops the oldest sealed batch that is not in flight.
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

// logFull logs that the buffer is full, rate-limited.
func (s *spool) logFull(err error) {
	now := time.Now().UnixNano()
	last := s.fullLogged.Load()
	if now-last < int64(fullLogInterval) || !s.fullLogged.CompareAndSwap(last, now) {
		return
	}
	s.buf.opts.Log.Warn("the buffer is full; inputs wait until batches are delivered", "dir", s.buf.opts.Dir, "error", err)
}
