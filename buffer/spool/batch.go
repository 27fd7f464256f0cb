package spool

import (
	"errors"
	"fmt"
	"syscall"

	"logstow/buffer/disk"
	"logstow/buffer/sealed"
)

// Batch is a sealed batch on disk. Its methods are for one goroutine at a time.
type Batch struct {
	batchFile

	spool *Spool
}

const (
	// headSize is about the size of a sealed batch's head.
	headSize = 1 << 10
	// diskBlock is the unit in which most file systems allocate space.
	diskBlock = 4 << 10
)

// Seal writes a batch durably. The segment is given in parts with a total of size bytes. If the disk has
// no space for both the batch and a complete reserve, the error is that of a full disk ([disk.Full]):
// the caller may free space and call SealFromReserve. Other errors are final.
func (s *Spool) Seal(head sealed.Head, segment [][]byte, size int64) (*Batch, error) {
	if err := s.checkLock(); err != nil {
		return nil, err
	}
	if !s.fitsWithoutReserve(onDisk(size)) {
		return nil, fmt.Errorf("cannot seal a batch of %d bytes: %w", size, syscall.ENOSPC)
	}
	return s.write(head, segment, size)
}

// SealFromReserve is Seal, but it releases as much of the reserve as the batch needs.
func (s *Spool) SealFromReserve(head sealed.Head, segment [][]byte, size int64) (*Batch, error) {
	s.sealMu.Lock()
	defer s.sealMu.Unlock()
	s.DropRecycled()
	if err := s.releaseReserveFor(onDisk(size)); err != nil {
		return nil, s.finalUnlessFull(err)
	}
	return s.write(head, segment, size)
}

// onDisk returns how many bytes the file of a segment of the given size needs on disk.
func onDisk(size int64) int64 { return (size + headSize + diskBlock - 1) / diskBlock * diskBlock }

// finalUnlessFull makes an error final, unless it is that of a full disk.
func (s *Spool) finalUnlessFull(err error) error {
	if disk.Full(err) {
		return err
	}
	return s.opts.Failure.Set(err)
}

// write writes a batch durably, and its coverage to the log.
func (s *Spool) write(head sealed.Head, segment [][]byte, size int64) (*Batch, error) {
	// The log must be durable before the batch: positions and record numbers must not fall behind it.
	written, _ := s.log.LSN()
	if err := s.log.Sync(written); err != nil {
		return nil, s.finalUnlessFull(err)
	}
	s.bytes.Add(size) // added first: the batch occupies space while it is written
	head, err := s.dir.Write(head, segment)
	if err != nil {
		s.bytes.Add(-size)
		return nil, s.finalUnlessFull(err)
	}
	batch := &Batch{batchFile{Head: head}, s}
	if lsn, err := s.log.Cover(head.Key, head.Through, head.Meta.Seq); err == nil {
		batch.covered = lsn
	} else if s.log.Err() != nil {
		_ = s.opts.Failure.Set(err) // the batch itself is durable
	}
	return batch, nil
}

// State reads the state of the batch's delivery. Damage of it is logged and counted.
func (b *Batch) State() (sealed.State, error) {
	state, err := b.spool.dir.State(b.Meta.Seq)
	if sealed.Corrupt(err) {
		b.logStateDamage(state, err)
		err = nil
	}
	return state, err
}

// SetState writes the state of the batch's delivery, durably. If the disk is full, it logs
// that and returns nil, because delivery frees space. The state is then not on disk: if this process
// ends, the next one may store a second copy, which readers drop. If must is set, it returns the error of the full disk instead. Other errors
// are final.
func (b *Batch) SetState(state sealed.State, must bool) error {
	s := b.spool
	err := s.withReserve(func() error { return s.dir.SetState(b.Meta.Seq, state) })
	if disk.Full(err) && must {
		return err
	}
	if disk.Full(err) {
		s.opts.Log.Warn("cannot write the state of a batch: the disk is full", "name", state.Name, "error", err)
	} else if err != nil {
		return s.opts.Failure.Set(err)
	}
	return nil
}

// Read reads n bytes of the segment at offset off.
func (b *Batch) Read(off, n int64) ([]byte, error) { return b.spool.dir.Read(&b.Head, off, n) }

// Remove removes a delivered batch after making its coverage durable. If the disk has no
// space for the coverage, Maintain tries again. An error is final.
func (b *Batch) Remove() error { return b.spool.remove(&b.batchFile) }

// Quarantine moves a batch to the quarantine and returns the name of its file there. Errors are
// final, except that of a full disk.
func (b *Batch) Quarantine(reason string) (file string, err error) {
	s := b.spool
	err = s.cover(&b.batchFile)
	if err == nil {
		_, err = s.writeDone(b.Meta.Seq)
	}
	if err == nil {
		err = s.withReserve(func() error { return s.dir.Quarantine(b.Meta.Seq, reason) })
	}
	if err != nil {
		return "", s.finalUnlessFull(err)
	}
	s.bytes.Add(-b.Size)
	return sealed.FileName(b.Meta.Seq), nil
}

// logStateDamage logs and counts that the state of a batch is damaged, or logs that it ends in a
// torn write.
func (b *Batch) logStateDamage(state sealed.State, err error) {
	const text = ": its last blob name may be unknown; if it is stored already, it is stored again, and queries drop the second copy"
	s := b.spool
	report, what := s.opts.Log.Error, "the state of a sealed batch is damaged"
	if errors.Is(err, sealed.ErrTorn) {
		report, what = s.opts.Log.Warn, "the state of a sealed batch ends in a torn write"
	} else {
		s.mu.Lock()
		s.losses.Damaged++
		s.mu.Unlock()
	}
	report(what+text, "file", s.path(sealedDir, sealed.StateName(b.Meta.Seq)), "name", state.Name, "error", err)
}
