// Package wal is the write-ahead log of a buffer: the records that are not in a
// sealed batch yet, and the positions of the inputs, committed in one write.
// docs/format/buffer.md describes the bytes.
//
// A log is a directory of append-only files. Each begins with a snapshot of all
// positions and of the coverage that is still needed, so older files are needed only
// for their records, and are removed when those are in sealed batches.
package wal

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"logstow/buffer/internal/disk"
	"logstow/internal/crashpoint"
	"logstow/record"
)

// DefaultFileSize is the size in bytes at which a log file is full.
const DefaultFileSize = 16 << 20

// Options configure a Log.
type Options struct {
	Dir string
	FS  disk.FS
	// FileSize is the size in bytes at which a new file is begun; 0 is DefaultFileSize.
	FileSize int64
	// OnLostPositions is the policy for lost positions.
	OnLostPositions LostPositions
	// Log is the logger; required by Open.
	Log *slog.Logger
}

// LSN is the log sequence number: the number of an entry since Open. It stands for everything that
// was logged up to that entry.
type LSN uint64

// Log is an open log. Its methods are safe for concurrent use. After a failed
// sync the content of the disk is unknown, so that error is final: every later
// call returns it.
type Log struct {
	opts Options
	dir  directory

	// syncing is held during a sync. Lock order: syncing before mu.
	syncing sync.Mutex

	mu       sync.Mutex
	enc      *encoder
	copyEnc  *encoder
	files    []*logFile // in order; the last is written to
	recycled recycledFiles
	file     disk.File
	copy     *copyFile // of file; nil if there is none
	// state is that after the last entry.
	state
	// last is the LSN of the last entry, synced that of the last durable one, durableWritten that of
	// the last one before a WriteDurable.
	last, synced, durableWritten LSN
	// rolls counts the files begun since Open.
	rolls uint64
	// durable is how many bytes of the current file are durable, begun its size when it was begun.
	durable, begun int64
	err            error
}

// newLog returns a Log of the files in a directory, of which nothing is read; with clean set it removes temporary
// files.
func newLog(opts Options, clean bool) (l *Log, err error) {
	l = &Log{
		opts: opts, dir: directory{opts.Dir, opts.FS}, enc: newEncoder(), copyEnc: newEncoder(), state: newState(),
	}
	l.files, err = l.dir.list(clean)
	return l, err
}

// Append writes records and positions as one entry, in one write. It returns the number of
// the first record and the LSN of the entry, which is durable after Sync.
func (l *Log) Append(service, class, parse string, runs []Run, records []record.Record, positions []Position) (first uint64, lsn LSN, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = l.next
	if err := l.enc.encodeRecords(first, service, class, parse, runs, records, positions); err != nil {
		return 0, 0, err
	}
	outline := func(w *encoder) error { return w.encodeOutline(first, service, class, parse, runs, positions) }
	if err := l.write(outline); err != nil {
		return 0, 0, err
	}
	l.last++
	l.next += uint64(len(records))
	if len(records) > 0 {
		l.files[len(l.files)-1].last = l.next - 1
	}
	l.positions.Apply(positions)
	return first, l.last, nil
}

// Cover logs that all records of a key up to a number are in sealed batches, the last of
// which has the given Seq. It returns the entry's LSN. The batch may be removed only
// when the entry is durable.
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

// Done logs that the batch of a Seq, which Cover got before, no longer waits, and returns the
// entry's LSN. When that is durable, the batch's file may be removed without being reported
// as missing. After ErrFull the snapshot of the next log file has that information.
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

// WriteDurable logs that all entries are durable, unless some are not or that is logged
// already. Without it, damage to the last entries looks like a torn write after a crash of
// the machine, and what follows it is not recovered.
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

// write appends the encoder's entry to the current file and to its copy. outline encodes an
// entry of records for the copy; nil copies the entry unchanged. mu is held.
func (l *Log) write(outline func(*encoder) error) error {
	if l.err != nil {
		return l.err
	}
	f := l.files[len(l.files)-1]
	frame, size, err := l.enc.frame(l.durable, f.seed)
	if err != nil {
		return err
	}
	crashpoint.Here("wal.append.before-write")
	if n, err := l.file.WriteAt(frame, f.size); err != nil {
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

// fail makes an error final.
func (l *Log) fail(what, path string, err error) error {
	l.err = fmt.Errorf("cannot %s %s: %w; restart to recover from what is on disk", what, path, err)
	return l.err
}

// Err is the final error, nil if there is none.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Sync makes all entries up to an LSN durable. It does nothing if they are.
func (l *Log) Sync(lsn LSN) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	file, current, last := l.file, l.files[len(l.files)-1], l.last
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

// LSN returns the LSN of the last entry and that of the last durable one.
func (l *Log) LSN() (written, synced LSN) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.synced
}

// Next is the number that the next record gets.
func (l *Log) Next() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// Seq is the highest Seq that Cover got, by earlier processes too.
func (l *Log) Seq() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq
}

// Position returns the position of an input. The bytes must not be changed.
func (l *Log) Position(input string) (value []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	value, ok = l.positions[input]
	return value, ok
}

// Positions returns the positions of all inputs whose names start with prefix, in order of name.
// The values must not be changed.
func (l *Log) Positions(prefix string) []Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.positions.WithPrefix(prefix)
}

// LostPositions returns the policy that was applied when positions were lost; Undecided also if
// none are lost.
func (l *Log) LostPositions() LostPositions {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.positions.lost()
}

// Size is the total size of log files and copies in bytes, without recycled files.
func (l *Log) Size() (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		n += f.size + f.copySize
	}
	return n
}

// Full reports whether the current file is full, so that Trim begins a new one.
func (l *Log) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.files[len(l.files)-1].size >= l.opts.FileSize
}

// Oldest is the highest record number in the oldest file, 0 if that is the current one.
func (l *Log) Oldest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.files) == 1 {
		return 0
	}
	return l.files[0].last
}

// Trim begins a new file if the current one is full, or if force is set and it holds
// records, and removes the oldest files whose records all have numbers below needed. With
// force set, a current file without records is replaced by its snapshot if that frees much.
func (l *Log) Trim(needed uint64, force bool) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	current := l.files[len(l.files)-1]
	size := l.opts.FileSize
	switch {
	case current.size >= size || force && current.last > 0:
		if err := l.roll(); err != nil {
			return err
		}
	case force && current.size > l.begun+muchCoverage:
		if err := l.replace(); err != nil {
			return err
		}
	}
	return l.drop(needed)
}

// roll ends the current file and begins the next. Both locks are held.
func (l *Log) roll() error {
	current := l.files[len(l.files)-1]
	crashpoint.Here("wal.roll.before-sync")
	if err := l.finishFile(current); err != nil {
		return err
	}
	l.synced, l.durable = l.last, current.size
	l.rolls++
	copied := l.copy
	file, next, err := l.create(current.seq+1, true)
	if err != nil {
		return err
	}
	copied.close()
	l.durable, l.begun = next.size, next.size
	old := l.file
	l.file, l.files = file, append(l.files, next)
	if err := old.Close(); err != nil {
		return l.fail("close", current.path, err)
	}
	return nil
}

// muchCoverage is how many bytes may follow the snapshot of a file without records before Trim
// replaces it.
const muchCoverage = 3 << 10

// replace replaces the current file, which has no records, by a snapshot of the same content.
// The copy is removed first: after a crash it would belong to another file, and on a full
// disk its space is needed. Both locks are held.
func (l *Log) replace() error {
	last := len(l.files) - 1
	copied, err := l.dropCopy()
	if err != nil {
		return err
	}
	file, f, err := l.create(l.files[last].seq, copied)
	if err != nil {
		return err
	}
	l.synced, l.durable, l.begun = l.last, f.size, f.size
	old := l.file
	l.file, l.files[last] = file, f
	if err := old.Close(); err != nil {
		return l.fail("close", f.path, err)
	}
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
	err := l.finishFile(l.files[len(l.files)-1])
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
	current := l.files[len(l.files)-1]
	l.synced, l.durable = l.last, current.size
	if err := l.enc.encodeDurable(); err != nil {
		return err
	}
	if err := l.write(nil); errors.Is(err, ErrFull) {
		return nil // the entry only helps to tell damage from a torn write
	} else if err != nil {
		return err
	}
	return l.finishFile(current)
}

// RecycledSize is the total size of the recycled log files in bytes.
func (l *Log) RecycledSize() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recycled.size()
}

// RecycledRest is how many bytes of the current file are those of a recycled one that are not
// overwritten yet.
func (l *Log) RecycledRest() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.files[len(l.files)-1]
	return max(0, f.allocated-f.size)
}

// DropRecycled removes the recycled log files.
func (l *Log) DropRecycled() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recycled.remove(l.dir.fs)
}

// Rolls is the number of log files begun since Open.
func (l *Log) Rolls() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rolls
}
