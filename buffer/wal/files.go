package wal

import (
	"errors"
	"fmt"

	"logstow/buffer/disk"
	"logstow/internal/crashpoint"
)

// create makes a log file that begins with a snapshot and, with withCopy set, its copy, and
// syncs them. A failure leaves at most temporary files.
func (l *Log) create(seq uint64, withCopy bool) (file disk.File, f *logFile, err error) {
	if err := l.enc.encodeSnapshot(&l.state); err != nil {
		return nil, nil, err
	}
	s := seedOf(seq)
	frame, size, err := l.enc.frame(0, s)
	if err != nil {
		return nil, nil, err
	}
	f = &logFile{
		seq: seq, seed: s, own: true, size: int64(len(magic)) + size,
		path: l.dir.logPath(seq),
	}
	file, temp, allocated, err := l.newOrRecycledFile(f.path)
	f.allocated = allocated
	if err != nil {
		return nil, nil, fmt.Errorf("cannot begin a log file: %w", wrapFull(err))
	}
	_, err = file.WriteAt(append([]byte(magic), frame...), 0)
	if err == nil {
		err = file.Sync()
	}
	var newCopy *copyFile
	if err == nil && withCopy {
		newCopy = createCopy(l.dir, l.opts.Log, l.copyEnc, f, l.enc.payload())
	}
	crashpoint.Here("wal.roll.before-rename")
	if err == nil {
		err = l.dir.fs.Rename(temp, f.path)
	}
	if err != nil {
		if newCopy != nil {
			err = errors.Join(err, newCopy.discard())
		}
		return nil, nil, errors.Join(fmt.Errorf("cannot begin a log file: %w", wrapFull(err)), file.Close(), l.dir.fs.Remove(temp))
	}
	// The copy is renamed last: a copy without a log file means that the log file is missing.
	if newCopy = newCopy.rename(); newCopy != nil {
		f.copySize = newCopy.size
	}
	crashpoint.Here("wal.roll.after-rename")
	if err := l.dir.sync(); err != nil {
		err = errors.Join(l.fail("sync", l.dir.path, err), file.Close())
		if newCopy != nil {
			err = errors.Join(err, newCopy.file.Close())
		}
		return nil, nil, err
	}
	l.copy = newCopy
	return file, f, nil
}

// DropCopy removes the copy of the current log file, to free space for delivery on a full
// disk, and reports whether there was one. The next log file has a copy again.
func (l *Log) DropCopy() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropCopy()
}

// dropCopy is DropCopy. mu is held.
func (l *Log) dropCopy() (bool, error) {
	c := l.copy
	if c == nil {
		return false, nil
	}
	l.copy, l.current().copySize = nil, 0
	return true, c.remove()
}

// finishFile truncates the current file behind its last entry and syncs it.
func (l *Log) finishFile(current *logFile) error {
	err := l.file.Truncate(current.size)
	if err == nil {
		current.allocated = 0
		err = l.file.Sync()
	}
	if err != nil {
		return l.fail("finish", current.path, err)
	}
	return nil
}

// newOrRecycledFile opens a recycled file, or makes a new one, under a temporary name. allocated is
// the size of a recycled one.
func (l *Log) newOrRecycledFile(path string) (file disk.File, temp string, allocated int64, err error) {
	for len(l.recycled.files) > 0 {
		f := l.recycled.pop()
		if file, err := l.dir.fs.Open(f.path); err == nil {
			return file, f.path, f.size, nil
		}
	}
	temp = path + tempSuffix
	file, err = l.dir.fs.Create(temp)
	return file, temp, 0, err
}
