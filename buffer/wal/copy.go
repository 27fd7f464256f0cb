package wal

import (
	"errors"
	"fmt"

	"logstow/buffer/internal/disk"
)

// Each log file has a copy: the same entries in the same order, each with its offset in the
// log file, but without the records. If one of the two files is damaged, the other has
// positions, coverage and record numbers, and the copy tells which records were in a
// damaged part of the log file.
//
// A copy is written after its log file. It is synced when it is begun and when the log file
// is full, so after a crash it may lack the last entries. It is best effort: an entry that
// cannot be written to it is left out, and the log continues.
const copyMagic = "LSTOWCPY"

// copyFile is the copy of the current log file.
type copyFile struct {
	file disk.File
	path string
	size int64
	// failed: an entry could not be written, which was logged.
	failed bool
}

// createCopy makes the copy of a new log file under a temporary name. It begins with the same
// snapshot. If that fails, it logs the error and returns nil.
func (l *Log) createCopy(f *logFile) *copyFile {
	c := &copyFile{path: l.dir.copyPath(f.seq)}
	temp := c.path + tempSuffix
	err := l.dir.removeFile(temp) // left by a failed attempt
	if err == nil {
		c.file, err = l.dir.fs.Create(temp)
	}
	if err != nil {
		l.logCopyFailed(c.path, err)
		return nil
	}
	l.copyEnc.encodeCopied(int64(len(magic)), f.size-int64(len(magic)))
	l.copyEnc.buf.Write(l.enc.payload())
	frame, size, err := l.copyEnc.frame(f.size, f.seed)
	if err == nil {
		frame = append([]byte(copyMagic), frame[:size]...)
		c.size = int64(len(frame))
		_, err = c.file.WriteAt(frame, 0)
	}
	if err == nil {
		err = c.file.Sync()
	}
	if err != nil {
		l.logCopyFailed(c.path, errors.Join(err, c.file.Close(), l.dir.fs.Remove(temp)))
		return nil
	}
	return c
}

// writeCopy appends the encoder's entry, whose frame has the given size and is at the end of
// f, to the copy of f. outline encodes an entry of records without them; nil copies the
// entry unchanged.
func (l *Log) writeCopy(f *logFile, size int64, outline func(*encoder) error) {
	if l.copy == nil {
		return
	}
	l.copyEnc.encodeCopied(f.size, size)
	var err error
	if outline != nil {
		err = outline(l.copyEnc)
	} else {
		l.copyEnc.buf.Write(l.enc.payload())
	}
	var frame []byte
	var n int64
	if err == nil {
		frame, n, err = l.copyEnc.frame(l.durable, f.seed)
	}
	if err == nil {
		// This overwrites the rest of a failed write.
		_, err = l.copy.file.WriteAt(frame[:n], l.copy.size)
	}
	if err != nil {
		if !l.copy.failed {
			l.copy.failed = true
			l.logCopyFailed(l.copy.path, err)
		}
		return
	}
	l.copy.size += n
	f.copySize = l.copy.size
}

// renameCopy renames a copy into place; nil if that fails.
func (l *Log) renameCopy(c *copyFile) *copyFile {
	if c == nil {
		return nil
	}
	if err := l.dir.fs.Rename(c.path+tempSuffix, c.path); err != nil {
		l.logCopyFailed(c.path, errors.Join(err, c.file.Close(), l.dir.fs.Remove(c.path+tempSuffix)))
		return nil
	}
	return c
}

// closeCopy syncs and closes a copy.
func (l *Log) closeCopy(c *copyFile) {
	if c == nil {
		return
	}
	err := c.file.Truncate(c.size)
	if err == nil {
		err = c.file.Sync()
	}
	if err = errors.Join(err, c.file.Close()); err != nil && !c.failed {
		l.logCopyFailed(c.path, err)
	}
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
	l.copy, l.files[len(l.files)-1].copySize = nil, 0
	return true, errors.Join(c.file.Close(), l.dir.removeFile(c.path))
}

func (l *Log) logCopyFailed(path string, err error) {
	l.opts.Log.Warn("cannot write the copy of a log file: until the next log file, damage can lose positions", "file", path, "error", err)
}

// readCopy reads the intact entries of a log file's copy, in order, and the number of bytes
// of the log file that were durable according to them. A missing copy has no entries.
func (l *Log) readCopy(f *logFile) (all []copied, durable int64, err error) {
	data, err := l.dir.readFile(l.dir.copyPath(f.seq))
	if err != nil || data == nil {
		return nil, 0, err
	}
	found, durable := frames(data, copyMagic, f.seed)
	end := int64(0)
	for _, next := range found {
		d, err := decode(next.payload)
		if err != nil {
			return nil, 0, fmt.Errorf("cannot decode %s at %d: %w", l.dir.copyPath(f.seq), next.at, err)
		}
		if c := d.copied; c != nil && c.at >= end && c.size > 0 {
			all = append(all, *c)
			end = c.end()
		}
	}
	return all, durable, nil
}
