package wal

import (
	"errors"
	"fmt"
	"log/slog"

	"logstow/buffer/disk"
)

// Each log file has a copy: the same entries in the same order, each with its offset in the
// log file, but without the records. If one of the two files is damaged, the other has
// positions, coverage and record numbers, and the copy identifies the records of a
// damaged part of the log file.
//
// A copy is written after its log file. It is synced when it is begun and when the log file
// is full, so the last entries may be missing after a crash. It is best effort: an entry that
// cannot be written to it is left out, and the log continues.
const copyMagic = "LSTOWCPY"

// copyFile is the copy of the current log file. A nil *copyFile means that there is no copy; writing to it does nothing.
type copyFile struct {
	dir directory
	log *slog.Logger
	enc *encoder

	file disk.File
	path string
	size int64
	// failed is set after an entry could not be written and that was logged.
	failed bool
}

// createCopy makes the copy of a new log file under a temporary name. The copy begins with the same
// snapshot, whose payload is given. After an error it logs the error and returns nil.
func createCopy(dir directory, log *slog.Logger, enc *encoder, f *logFile, snapshot []byte) *copyFile {
	c := &copyFile{dir: dir, log: log, enc: enc, path: dir.copyPath(f.seq)}
	temp := c.path + tempSuffix
	err := dir.removeFile(temp) // left by a failed attempt
	if err == nil {
		c.file, err = dir.fs.Create(temp)
	}
	if err != nil {
		c.logFailed(err)
		return nil
	}
	enc.encodeCopied(int64(len(magic)), f.size-int64(len(magic)))
	enc.buf.Write(snapshot)
	frame, size, err := enc.frame(f.size, f.seed)
	if err == nil {
		frame = append([]byte(copyMagic), frame[:size]...)
		c.size = int64(len(frame))
		_, err = c.file.WriteAt(frame, 0)
	}
	if err == nil {
		err = c.file.Sync()
	}
	if err != nil {
		c.logFailed(errors.Join(err, c.discard()))
		return nil
	}
	return c
}

// discard closes and removes a copy that was not renamed into place.
func (c *copyFile) discard() error {
	return errors.Join(c.file.Close(), c.dir.fs.Remove(c.path+tempSuffix))
}

// rename renames a copy into place. After an error it logs the error and returns nil.
func (c *copyFile) rename() *copyFile {
	if c == nil {
		return nil
	}
	if err := c.dir.fs.Rename(c.path+tempSuffix, c.path); err != nil {
		c.logFailed(errors.Join(err, c.discard()))
		return nil
	}
	return c
}

// write appends the copy of an entry, whose frame has the given size and is at the end of f.
// durable is how many bytes of f are durable.
func (c *copyFile) write(f *logFile, size, durable int64, encode func(*encoder) error) {
	if c == nil {
		return
	}
	c.enc.encodeCopied(f.size, size)
	err := encode(c.enc)
	var frame []byte
	var n int64
	if err == nil {
		frame, n, err = c.enc.frame(durable, f.seed)
	}
	if err == nil {
		// This overwrites the rest of a failed write.
		_, err = c.file.WriteAt(frame[:n], c.size)
	}
	if err != nil {
		if !c.failed {
			c.failed = true
			c.logFailed(err)
		}
		return
	}
	c.size += n
	f.copySize = c.size
}

// close syncs and closes a copy.
func (c *copyFile) close() {
	if c == nil {
		return
	}
	err := c.file.Truncate(c.size)
	if err == nil {
		err = c.file.Sync()
	}
	if err = errors.Join(err, c.file.Close()); err != nil && !c.failed {
		c.logFailed(err)
	}
}

// remove closes and removes a copy.
func (c *copyFile) remove() error { return errors.Join(c.file.Close(), c.dir.removeFile(c.path)) }

func (c *copyFile) logFailed(err error) {
	c.log.Warn("cannot write the copy of a log file: until the next log file, damage can lose positions", "file", c.path, "error", err)
}

// readCopy reads the intact entries of a log file's copy, in order, and the number of bytes
// of the log file that were durable according to them. The entries are nil only if there is no copy.
func (d directory) readCopy(f *logFile) (all []copyEntry, durable int64, err error) {
	data, err := d.readFile(d.copyPath(f.seq))
	if err != nil || data == nil {
		return nil, 0, err
	}
	found, durable := frames(data, copyMagic, f.seed)
	all = []copyEntry{}
	end := int64(0)
	for _, next := range found {
		entry, err := decode(next.payload)
		if err != nil {
			return nil, 0, fmt.Errorf("cannot decode %s at %d: %w", d.copyPath(f.seq), next.at, err)
		}
		if c := entry.copied; c != nil && c.at >= end && c.size > 0 {
			all = append(all, *c)
			end = c.end()
		}
	}
	return all, durable, nil
}
