package wal

import (
	"errors"
	"slices"
	"strings"

	"logstow/buffer/disk"
)

// maxRecycled is how many recycled log files are kept.
const maxRecycled = 2

// recycledFiles are log files that are no longer needed. A new log file overwrites one of them:
// its blocks are allocated and its pages cached, which about halves the cost of writing the log.
type recycledFiles struct {
	files []recycledFile
}

type recycledFile struct {
	path string
	size int64
}

// recycleOrRemove recycles a log file, or removes it if there are enough. A file that another
// process made is not recycled: it may be linked into the quarantine.
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

// pop removes a file from the list and returns it.
func (s *recycledFiles) pop() recycledFile {
	f := s.files[len(s.files)-1]
	s.files = s.files[:len(s.files)-1]
	return f
}

// size is their total size in bytes.
func (s *recycledFiles) size() (n int64) {
	for _, f := range s.files {
		n += f.size
	}
	return n
}

// remove removes them all from disk.
func (s *recycledFiles) remove(fs disk.FS) error {
	var errs []error
	s.files = slices.DeleteFunc(s.files, func(f recycledFile) bool {
		err := fs.Remove(f.path)
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}
