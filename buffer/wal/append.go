package wal

import (
	"errors"
	"fmt"

	"logstow/buffer/disk"
	"logstow/internal/crashpoint"
)

// Append writes records and positions as one entry; if e has Blocks, it writes those instead of Records. It
// ignores e.First. It returns the number of the first record and the LSN of the entry, which is durable after
// Sync. The error is ErrFull if the disk is full.
func (l *Log) Append(e Records) (first uint64, lsn LSN, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.First = l.next
	if err := l.enc.encodeRecords(&e); err != nil {
		return 0, 0, err
	}
	if err := l.write(func(w *encoder) error { return w.encodeOutline(&e) }); err != nil {
		return 0, 0, err
	}
	l.last++
	if n := count(e.Runs); n > 0 {
		l.next += uint64(n)
		l.current().last = l.next - 1
	}
	l.positions.Apply(e.Positions)
	return e.First, l.last, nil
}

// Cover logs that all records of a key up to number through are in sealed batches, the last
// of which has the given Seq. It returns the entry's LSN. The batch may be removed only after
// the entry is durable. The error is ErrFull if the disk is full.
func (l *Log) Cover(key Key, through uint64, seq int64) (lsn LSN, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.enc.encodeCovered(key, through, seq); err != nil {
		return 0, err
	}
	l.coverage[key] = max(l.coverage[key], through)
	l.seq = max(l.seq, seq)
	l.batches[seq] = true
	if err := l.write(nil); err != nil {
		return 0, err
	}
	l.last++
	return l.last, nil
}

// Done logs that a batch, for which Cover was called, no longer waits, and returns the entry's LSN.
// After the entry is durable, the batch's file may be removed without being reported as missing.
// After ErrFull the snapshot of the next log file has that information.
func (l *Log) Done(seq int64) (lsn LSN, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.enc.encodeDone(seq); err != nil {
		return 0, err
	}
	delete(l.batches, seq)
	if err := l.write(nil); err != nil {
		return 0, err
	}
	l.last++
	return l.last, nil
}

// WriteDurable logs that all entries are durable. It does nothing if some are not durable, or
// if that is logged already. Without that entry, damage to the last entries looks like a torn
// write after a crash of the machine, and what follows the damage is not recovered.
func (l *Log) WriteDurable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.synced < l.last || l.durableWritten == l.last {
		return l.err
	}
	if err := l.enc.encodeDurable(); err != nil {
		return err
	}
	if err := l.write(nil); err != nil {
		return err
	}
	l.durableWritten = l.last
	return nil
}

// write appends the encoder's entry to the current file and to its copy. outline encodes the
// entry for the copy; if it is nil, the copy gets the same entry. mu is held.
func (l *Log) write(outline func(*encoder) error) error {
	if l.err != nil {
		return l.err
	}
	f := l.current()
	size, err := l.enc.endFrame(l.durable, f.seed)
	if err != nil {
		return err
	}
	crashpoint.Here("wal.append.before-write")
	if n, err := l.enc.writeFrame(l.file, f.size); err != nil {
		// A torn frame must not remain: entries appended behind it would be lost.
		if n > 0 || !disk.Full(err) {
			if err := l.file.Truncate(f.size); err != nil {
				return l.fail("truncate a torn write of", f.path, err)
			}
			f.allocated = 0
		}
		if disk.Full(err) {
			return fmt.Errorf("cannot append to %s: %w: %w", f.path, ErrFull, err)
		}
		return l.fail("append to", f.path, err)
	}
	crashpoint.Here("wal.append.after-write")
	if outline == nil {
		outline = func(w *encoder) error {
			w.buf.Write(l.enc.payload())
			return nil
		}
	}
	l.copy.write(f, size, l.durable, outline)
	f.size += size
	return nil
}

// Sync makes all entries up to an LSN durable. It does nothing if they are durable already.
func (l *Log) Sync(lsn LSN) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	file, current, last := l.file, l.current(), l.last
	size := current.size
	done, err := l.synced >= lsn, l.err
	l.mu.Unlock()
	if err != nil || done {
		return err
	}
	crashpoint.Here("wal.sync.before")
	err = file.Sync()
	crashpoint.Here("wal.sync.after")
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return l.fail("sync", current.path, err)
	}
	l.synced, l.durable = max(l.synced, last), size
	return nil
}

// Close syncs and closes the current file. The Log must not be used afterwards.
func (l *Log) Close() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return errors.Join(l.err, l.closeFiles())
	}
	err := l.finishFile(l.current())
	if err == nil && l.last > 0 {
		err = l.writeClosingEntry()
	}
	err = errors.Join(err, l.recycled.remove(l.dir.fs), l.closeFiles())
	l.err = errors.New("the log is closed")
	return err
}

// closeFiles closes the current file and its copy. Both locks are held.
func (l *Log) closeFiles() error {
	l.copy.close()
	l.copy = nil
	return l.file.Close()
}

// writeClosingEntry logs that all entries are durable. Both locks are held.
func (l *Log) writeClosingEntry() error {
	current := l.current()
	l.synced, l.durable = l.last, current.size
	if err := l.enc.encodeDurable(); err != nil {
		return err
	}
	if err := l.write(nil); errors.Is(err, ErrFull) {
		return nil // the entry only helps to distinguish damage from a torn write
	} else if err != nil {
		return err
	}
	return l.finishFile(current)
}
