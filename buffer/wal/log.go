// Package wal is the write-ahead log of a buffer: the records that are not in a
// sealed batch yet, together with how far each input was read, committed in one
// write. docs/format/buffer.md describes the bytes.
//
// A log is a directory of files that are only appended to. Each begins with a
// snapshot of all positions and of the coverage still needed, so older files are
// needed for their records alone, and go once those are in sealed batches.
package wal

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"logstow/buffer/internal/disk"
	"logstow/internal/crashpoint"
	"logstow/record"
)

// magic begins every log file.
const magic = "LSTOWWAL"

const suffix = ".log"

// endMark stands behind the last entry of the file that is written to: what
// follows it in a file that is used again is of no meaning.
const endMarker = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// DefaultFileSize is the size in bytes at which a log file is full.
const DefaultFileSize = 16 << 20

// ErrFull says that there was no room; what was not written left no trace, and
// the same call may succeed later.
var ErrFull = errors.New("no room on disk")

// Options configure a Log.
type Options struct {
	Dir string
	FS  disk.FS
	// FileSize is the size in bytes at which a new file is begun; 0 is DefaultFileSize.
	FileSize int64
	// OnLostPositions is what is done where positions are lost.
	OnLostPositions LostPositions
	// Log gets what an operator should know.
	Log *slog.Logger
}

// Log is an open log. Its methods are safe for concurrent use. After a failed
// sync nothing is known of what is on disk, so that error is final: every later
// call returns it.
type Log struct {
	opts Options

	// syncing is held during a sync, before mu where both are.
	syncing sync.Mutex

	mu        sync.Mutex
	enc       *encoder
	copyEnc   *encoder
	files     []*logFile // in order; the last is written to
	recycled  recycledFiles
	file      disk.File
	copy      *copyFile      // of file; nil where there is none
	next      uint64         // number of the next record
	seq       int64          // highest Seq of a batch that covers any
	batches   map[int64]bool // the Seqs of those that wait
	positions map[string][]byte
	coverage  map[Key]uint64
	// entries counts entries since Open, synced those that are durable, marked those
	// of which Mark said it, rolls the files begun.
	entries, synced, durableWritten, rolls uint64
	// durable is the size of what is durable of the current file, begun that with
	// which it began.
	durable, begun int64
	err            error
}

type logFile struct {
	seq  uint64
	seed seed
	path string
	// size and copySize are the sizes of the file and of its copy.
	size, copySize int64
	// own says that this process made the file: nobody else holds it.
	own bool
	// missing says that there is only the copy; repair that Repair has something to do.
	missing, repair bool
	// last is the highest number of its records, 0 where it has none.
	last uint64
}

// Append writes an entry of records and positions in one write, and returns the
// first record's number and the entry's, for Sync. The entry is durable after a sync.
func (l *Log) Append(service, class string, runs []Run, records []record.Record, positions []Position) (first, entry uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = l.next
	if err := l.enc.encodeRecords(first, service, class, runs, records, positions); err != nil {
		return 0, 0, err
	}
	outline := func(w *encoder) error { return w.encodeOutline(first, service, class, runs, positions) }
	if err := l.write(outline); err != nil {
		return 0, 0, err
	}
	l.entries++
	l.next += uint64(len(records))
	if len(records) > 0 {
		l.files[len(l.files)-1].last = l.next - 1
	}
	apply(l.positions, positions)
	return first, l.entries, nil
}

// Cover writes down that all records of a key up to a number are in sealed
// batches, the last of which has the given Seq, and returns the entry's number.
// That batch may be removed once the entry is durable.
func (l *Log) Cover(key Key, through uint64, seq int64) (entry uint64, err error) {
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
	l.entries++
	return l.entries, nil
}

// Done writes down that the batch of a Seq, of which Cover was told, does not wait any
// more, and returns the entry's number. Once that is durable, the batch's file may go
// without being reported as missing. With ErrFull the next log file says it.
func (l *Log) Done(seq int64) (entry uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.enc.encodeDone(seq); err != nil {
		return 0, err
	}
	delete(l.batches, seq)
	if err := l.write(nil); err != nil {
		return 0, err
	}
	l.entries++
	return l.entries, nil
}

// Mark writes down that all is durable, where that is so and no entry says it.
// Without it, damage to what was written last looks like a write that a crash
// of the machine tore, and what follows it is not taken up.
func (l *Log) WriteDurable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.synced < l.entries || l.durableWritten == l.entries {
		return l.err
	}
	if err := l.enc.encodeDurable(); err != nil {
		return err
	}
	if err := l.write(nil); err != nil {
		return err
	}
	l.durableWritten = l.entries
	return nil
}

// write appends the encoder's entry to the current file, and to its copy, for which
// outline encodes an entry of records; nil is as it is. mu is held.
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
		// A part of a frame must not stay: what is appended later would be lost behind it.
		if n > 0 || !disk.Full(err) {
			if err := l.file.Truncate(f.size); err != nil {
				return l.fail("take back a torn write of", f.path, err)
			}
		}
		if disk.Full(err) {
			return fmt.Errorf("append to %s: %w: %w", f.path, ErrFull, err)
		}
		return l.fail("append to", f.path, err)
	}
	crashpoint.Here("wal.append.after-write")
	l.writeCopy(f, size, outline)
	f.size += size
	return nil
}

// fail makes an error final.
func (l *Log) fail(what, path string, err error) error {
	l.err = fmt.Errorf("%s %s: %w; restart to recover from what is on disk", what, path, err)
	return l.err
}

// Err is the final error, if there was one.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Sync makes the entries up to one durable; those that are already cost nothing.
func (l *Log) Sync(entry uint64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	file, current, entries := l.file, l.files[len(l.files)-1], l.entries
	size := current.size
	done, err := l.synced >= entry, l.err
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
	l.synced, l.durable = max(l.synced, entries), size
	return nil
}

// Entries is the number of the last entry, Synced that of the last durable one.
func (l *Log) Entries() (written, synced uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries, l.synced
}

// Next is the number that the next record gets.
func (l *Log) Next() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// Seq is the highest Seq that Cover was told, by earlier processes too.
func (l *Log) Seq() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq
}

// Position is the last position of an input.
func (l *Log) Position(input string) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.positions[input]
	return v, ok
}

// Positions is a copy of all positions; the values must not be changed.
func (l *Log) Positions() map[string][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.positions)
}

// Size is the size of all files in bytes.
func (l *Log) Size() (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		n += f.size + f.copySize
	}
	return n
}

// Full reports whether the current file is full, so that Trim begins another.
func (l *Log) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.files[len(l.files)-1].size >= l.opts.FileSize
}

// Oldest is the highest number of a record in the oldest file, 0 where that is the current one.
func (l *Log) Oldest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.files) == 1 {
		return 0
	}
	return l.files[0].last
}

// Trim begins a new file where the current one is full, or where force is set
// and it holds records, and removes the files without records from number needed
// on. With force set, a current file without records is replaced by its own
// snapshot if that saves much.
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
	l.synced, l.durable = l.entries, current.size
	l.rolls++
	copied := l.copy
	file, next, err := l.create(current.seq+1, true)
	if err != nil {
		return err
	}
	l.closeCopy(copied)
	l.durable, l.begun = next.size, next.size
	old := l.file
	l.file, l.files = file, append(l.files, next)
	if err := old.Close(); err != nil {
		return l.fail("close", current.path, err)
	}
	return nil
}

// muchCoverage is how many bytes of coverage may follow a snapshot on a full disk.
const muchCoverage = 3 << 10

// replace puts a snapshot in the place of the current file, which has no records:
// the snapshot says all that the file said. The copy goes first: it would be of another
// file after a crash, and on a full disk its space is needed. Both locks are held.
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
	l.synced, l.durable, l.begun = l.entries, f.size, f.size
	old := l.file
	l.file, l.files[last] = file, f
	if err := old.Close(); err != nil {
		return l.fail("close", f.path, err)
	}
	return nil
}

// Close closes the current file, synced. The Log must not be used after it.
func (l *Log) Close() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		l.closeCopy(l.copy)
		return errors.Join(l.err, l.file.Close())
	}
	err := l.finishFile(l.files[len(l.files)-1])
	if err == nil && l.entries > 0 {
		err = l.writeClosingEntry()
	}
	l.closeCopy(l.copy)
	err = errors.Join(err, l.recycled.remove(l.opts.FS), l.file.Close())
	l.err = errors.New("the log is closed")
	return err
}

// closing writes down that all is durable. Both locks are held.
func (l *Log) writeClosingEntry() error {
	current := l.files[len(l.files)-1]
	l.synced, l.durable = l.entries, current.size
	if err := l.enc.encodeDurable(); err != nil {
		return err
	}
	if err := l.write(nil); errors.Is(err, ErrFull) {
		return nil // it only helps to tell damage apart
	} else if err != nil {
		return err
	}
	return l.finishFile(current)
}

// apply makes positions the last ones.
func apply(all map[string][]byte, positions []Position) {
	for _, p := range positions {
		if len(p.Value) == 0 {
			delete(all, p.Input)
		} else {
			all[p.Input] = slices.Clone(p.Value)
		}
	}
}
