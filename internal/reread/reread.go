// Package reread reloads files that change: secrets and grants are files that other programs
// replace during the run.
package reread

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"logstow/internal/limited"
)

// maxSize bounds how much of a file is read, in bytes.
const maxSize = 4 << 20

// A File is the parsed content of a file. Safe for concurrent use.
type File[T any] struct {
	path  string
	parse func([]byte) (T, error)

	mu   sync.Mutex
	seen os.FileInfo
	read time.Time
	good T
	any  bool // good contains a value
}

// New makes a File for the file at path, whose content parse parses. It reads nothing yet. Errors of parse should not quote
// the content.
func New[T any](path string, parse func([]byte) (T, error)) *File[T] {
	return &File[T]{path: path, parse: parse}
}

// Path is the file's path.
func (f *File[T]) Path() string { return f.path }

// Get is the content of the file. It is read again if the file was replaced or changed, and if the
// last reading is older than maxAge (0 is no limit). If that fails, the last value stays valid,
// since a file may be read half written. The error is that there never was a valid value.
func (f *File[T]) Get(maxAge time.Duration) (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	fresh := err == nil && f.any && f.seen != nil && os.SameFile(info, f.seen) &&
		info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() &&
		(maxAge == 0 || time.Since(f.read) < maxAge)
	if fresh {
		return f.good, nil
	}
	var value T
	if err == nil {
		value, err = f.load()
	}
	switch {
	case err == nil:
		f.good, f.any, f.seen, f.read = value, true, info, time.Now()
		return value, nil
	case f.any:
		return f.good, nil
	default:
		var pathErr *fs.PathError // has the path too
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return value, fmt.Errorf("cannot read %s: %w", f.path, err)
	}
}

func (f *File[T]) load() (T, error) {
	var none T
	content, err := limited.File(f.path, maxSize)
	if err != nil {
		return none, err
	}
	return f.parse(content)
}
