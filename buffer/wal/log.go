// Package wal is the write-ahead log of a buffer: the records that are not in a
// sealed batch yet, and the positions of the inputs, committed in one entry.
// docs/format/buffer.md describes the bytes.
//
// A log is a directory of append-only files. Each begins with a snapshot of all
// positions and of the coverage that is still needed, so older files are needed only
// for their records, and are removed when those are in sealed batches.
package wal

import (
	"fmt"
	"log/slog"
	"sync"

	"logstow/buffer/disk"
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
	// state is the state after the last entry.
	state
	// last is the LSN of the last entry, synced that of the last durable one, durableWritten that of
	// the last one when WriteDurable last wrote an entry.
	last, synced, durableWritten LSN
	// rolls counts the files begun since Open.
	rolls uint64
	// durable is how many bytes of the current file are durable, begun its size when it was begun.
	durable, begun int64
	err            error
}

// newLog lists the files of a log without reading them. With clean set it removes temporary files.
func newLog(opts Options, clean bool) (l *Log, err error) {
	l = &Log{
		opts: opts, dir: directory{opts.Dir, opts.FS}, enc: newEncoder(), copyEnc: newEncoder(), state: newState(),
	}
	l.files, err = l.dir.list(clean)
	return l, err
}

// current is the file that is written to. mu is held.
func (l *Log) current() *logFile { return l.files[len(l.files)-1] }

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

// LSN returns the LSN of the last entry and that of the last durable one.
func (l *Log) LSN() (written, synced LSN) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.synced
}

// Next returns the number of the next record.
func (l *Log) Next() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// Seq returns the highest Seq passed to Cover, also by earlier processes.
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
	return l.current().size >= l.opts.FileSize
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

// RecycledSize is the total size of the recycled log files in bytes.
func (l *Log) RecycledSize() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recycled.size()
}

// RecycledRest returns how many bytes of the current file, if it is a recycled one, are not
// overwritten yet.
func (l *Log) RecycledRest() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.current()
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
