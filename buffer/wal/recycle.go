package wal

import (
	"errors"
	"slices"
	"strings"

	"logstow/buffer/internal/disk"
)

const (
	// tempSuffix ends the names of files that hold nothing: opening removes them.
	tempSuffix = ".tmp"
	// maxSpare is how many files are kept for use again.
	maxRecycled = 2
)

// spare holds files that are not needed any more and are written over instead
// of new ones: the system has their blocks and pages at hand, which about halves
// what writing the log costs.
type recycledFiles struct {
	files []recycledFile
}

type recycledFile struct {
	path string
	size int64
}

// take removes a log file, or keeps it. A file that another process made is not
// kept: it may have a second name in quarantine.
func (s *recycledFiles) recycleOrRemove(fs disk.FS, f *logFile) error {
	if !f.own || len(s.files) == maxRecycled {
		return fs.Remove(f.path)
	}
	path := strings.TrimSuffix(f.path, suffix) + ".spare" + tempSuffix
	if err := fs.Rename(f.path, path); err != nil {
		return err
	}
	s.files = append(s.files, recycledFile{path, f.size})
	return nil
}

// pop gives one away.
func (s *recycledFiles) pop() string {
	f := s.files[len(s.files)-1]
	s.files = s.files[:len(s.files)-1]
	return f.path
}

// size is what they take on disk.
func (s *recycledFiles) size() (n int64) {
	for _, f := range s.files {
		n += f.size
	}
	return n
}

// remove removes them all.
func (s *recycledFiles) remove(fs disk.FS) error {
	var errs []error
	s.files = slices.DeleteFunc(s.files, func(f recycledFile) bool {
		err := fs.Remove(f.path)
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}

// Spare is the size in bytes of files that are kept to be used again.
func (l *Log) RecycledSize() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recycled.size()
}

// DropSpare removes the files that are kept to be used again.
func (l *Log) DropRecycled() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recycled.remove(l.opts.FS)
}

// Rolls counts the files begun since Open.
func (l *Log) Rolls() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rolls
}
