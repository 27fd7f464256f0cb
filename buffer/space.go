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
	// logFiles is about how many full log files may stay.
	logFiles = 3
	// MinDisk is the size in bytes of the smallest file system that Options.Dir may be on.
	MinDisk = 8 << 20
	// small is about what any of the small writes takes that delivery needs: states,
	// coverage, the beginning of a log file.
	smallWrites = 64 << 10
	// sayFullEvery is how often it is logged that inputs wait.
	fullLogInterval = time.Minute
)

var (
	// ErrSmallDisk says that Options.Dir is on a file system of less than MinDisk.
	ErrSmallDisk = errors.New("the disk is too small for a buffer")
	// ErrTooLarge says that a chunk could not be buffered even if the disk were empty.
	ErrTooLarge = errors.New("too much at once for the buffer's disk")
)

// What a batch takes on disk once it is sealed is bounded, and the reserve is
// larger than that bound. So with the reserve in place any open batch can be sealed
// on a full disk, one after the other as they are delivered, and records are only
// taken while the reserve is in place. Sealing leaves space for what delivery
// writes, else sealed batches could not become delivered ones.

// takes is how much of the space there is a sealed batch may take.
func usableSpace(space int64) int64 { return max(space-smallWrites, space/2) }

// reserveSize is how large the reserve should be: what a batch of FlushSize and its
// blocks that are not yet compressed need at most, on a small disk a quarter of it.
func (s *spool) reserveSize(capacity int64) int64 {
	flush := s.buf.opts.FlushSize
	most := flush + 2*min(segment.DefaultBlockSize, 4*flush)
	return min(most+most/4+2*smallWrites, capacity/4)
}

// capacity is how many bytes the buffer may take on disk: Options.MaxSize, or what
// it takes already and what is free.
func (s *spool) capacity() int64 {
	limit := s.buf.opts.MaxSize
	if space, err := s.space(); err == nil && space.Total > 0 {
		limit = min(limit, s.size()+s.reserve.size()+space.Free)
	}
	return limit
}

// space is the size of the file system.
func (s *spool) space() (disk.Space, error) { return s.buf.opts.fs.Space(s.buf.opts.Dir) }

// CheckDisk returns the [ErrSmallDisk] with which Open would refuse a directory, which
// need not exist, for the size of its file system. It changes nothing.
func CheckDisk(dir string) error {
	if err := checkDisk(disk.OS{}, dir); err != nil {
		return fmt.Errorf("open buffer %s: %w", dir, err)
	}
	return nil
}

// checkDisk refuses a file system below MinDisk.
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

// logFileSize is the size at which a log file is full: a disk holds several.
func (s *spool) logFileSize() (int64, error) {
	limit := s.buf.opts.MaxSize
	space, err := s.space()
	if space.Total > 0 {
		limit = min(limit, space.Total)
	}
	return min(wal.DefaultFileSize, max(limit/8, 1<<20)), err
}

// batchLimit is the size in bytes above which an open batch may not grow, so that
// the space for it is there when it is sealed.
func (b *Buffer) batchLimit() int64 {
	s := b.spool
	if s == nil {
		return math.MaxInt64
	}
	want, held := s.reserveTarget.Load(), s.reserve.size()
	if held < want {
		// What an earlier process left on a full disk is sealed in pieces as small as need be.
		if space, err := s.space(); err == nil {
			held += space.Free
		}
	}
	return max(usableSpace(min(want, held)-smallWrites)/5*4, smallWrites/16)
}

// ample reports whether a batch of n bytes can be sealed without a thought of the reserve.
func (s *spool) fitsWithoutReserve(n int64) bool {
	space, err := s.space()
	return err == nil && (space.Total == 0 || space.Free+s.reserve.size() > n+s.reserveTarget.Load()+4*smallWrites)
}

// releaseFor gives as much of the reserve back as sealing a batch of n bytes takes.
// What is not there, or is needed for delivery, is ENOSPC. s.sealing is held.
func (s *spool) releaseReserveFor(n int64) error {
	space, err := s.space()
	if err != nil {
		return err
	}
	if space.Total == 0 { // unknown: the write will tell
		s.releaseReserve(n)
		return nil
	}
	if n > usableSpace(space.Free+s.reserve.size()) {
		return fmt.Errorf("cannot seal a batch of %d bytes, %d are free: %w", n, space.Free+s.reserve.size(), syscall.ENOSPC)
	}
	s.releaseReserve(n + smallWrites - space.Free)
	return nil
}

// needs is what taking a chunk takes.
type chunkSize struct {
	// size is the size of the chunk's text, largest that of its largest record.
	total, largest int64
}

// hasSpace reports whether a chunk can be taken with the reserve in place. Its
// error is wal.ErrFull where it cannot be taken now, ErrTooLarge where it never can.
func (s *spool) hasSpace(n chunkSize) error {
	s.checkMu.Lock()
	defer s.checkMu.Unlock()
	opts := &s.buf.opts
	want := max(s.reserveTarget.Load(), n.largest+n.largest/4)
	if used, limit := s.size()+min(want, opts.MaxSize/4), opts.MaxSize; used+min(n.total, limit/4) > limit {
		return fmt.Errorf("%w: %d bytes of %d are taken", wal.ErrFull, used, limit)
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
	case space.Total == 0: // unknown: a write will fail
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

// forget has the next chunk looked at closely.
func (s *spool) forceSpaceCheck() {
	s.checkMu.Lock()
	defer s.checkMu.Unlock()
	s.unchecked = 0
}

// waitForSpace waits until a chunk can be taken. failed is the error of a write
// that found the disk full all the same, nil before the first try.
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

// makeSpace frees space by what can be done here, and reports whether something
// was: the rest is delivery's. With force set it seals even a short log.
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

// waitRetry waits for space, but not for long: another program may have freed it.
// done ends it.
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

// compactLog keeps the log short while much is appended: what a few records of a
// quiet bucket hold back is freed by sealing them.
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

// oldestOpen is the open batch with the oldest record in the log; nil where none is open. b.mu is held.
func (b *Buffer) oldestOpen() (oldest *openBatch) {
	for o := range b.open {
		if oldest == nil || o.from < oldest.from {
			oldest = o
		}
	}
	return oldest
}

// withReserve calls a function that writes little, again with some of the reserve
// if the disk is full. What must be written for batches to be delivered, and so
// for space to become free, is written with it.
func (s *spool) withReserve(write func() error) error {
	err := write()
	if disk.Full(err) && s.dropRecycled() {
		err = write()
	}
	if !disk.Full(err) {
		return err
	}
	s.sealMu.Lock() // no batch is sealed into that space
	defer s.sealMu.Unlock()
	if err = write(); disk.Full(err) && s.releaseReserve(smallWrites) {
		err = write()
	}
	return err
}

// release gives n bytes of the reserve back to the disk, and reports whether there were
// any. When the reserve is used up, the space of the current log file's copy is next.
func (s *spool) releaseReserve(n int64) bool {
	given, err := s.reserve.shrink(n)
	if err != nil {
		s.buf.opts.Log.Warn("the reserved disk space cannot be used", "error", err)
	}
	if given > 0 || s.log == nil {
		return given > 0
	}
	dropped, err := s.log.DropCopy()
	if err != nil {
		s.buf.opts.Log.Warn("the copy of a log file cannot be removed", "error", err)
	}
	return dropped
}

// restore makes the reserve whole again where there is space that is not needed.
func (s *spool) restoreReserve() error {
	capacity := s.capacity()
	want := s.reserveSize(capacity)
	s.reserveTarget.Store(want)
	s.limit.Store(capacity - want)
	err := s.reserve.grow(want)
	if !disk.Full(err) {
		return err
	}
	// Records are not taken before; what there is, is kept from other programs.
	if space, err := s.space(); err == nil && space.Free > smallWrites {
		if err := s.reserve.grow(s.reserve.size() + space.Free - smallWrites); !disk.Full(err) {
			return err
		}
	}
	return nil
}

// stopped is why waiting for space ends, nil while it goes on.
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

// dropOldest gives up the oldest sealed batch that is not being sent.
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

// sayFull logs that there is no space, once in a while.
func (s *spool) logFull(err error) {
	now := time.Now().UnixNano()
	last := s.fullLogged.Load()
	if now-last < int64(fullLogInterval) || !s.fullLogged.CompareAndSwap(last, now) {
		return
	}
	s.buf.opts.Log.Warn("the buffer is full; inputs wait until storage takes what is in it", "dir", s.buf.opts.Dir, "error", err)
}
