// Package reread keeps what a file says up to date: secrets and grants are files
// that others replace while the program runs.
package reread

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// maxSize bounds what is read of a file, in bytes.
const maxSize = 4 << 20

// A File is the parsed content of a file. Safe for concurrent use.
type File[T any] struct {
	path  string
	parse func([]byte) (T, error)

	mu   sync.Mutex
	seen os.FileInfo
	read time.Time
	good T
	any  bool // good holds something
}

// New is the file at path, of which parse reads the content. Nothing is read yet.
// The error of parse should not quote what it parses.
func New[T any](path string, parse func([]byte) (T, error)) *File[T] {
	return &File[T]{path: path, parse: parse}
}

// Path is the file's path.
func (f *File[T]) Path() string { return f.path }

// Get is what the file says. It is read again when it was replaced or changed, and
// when the last reading is older than maxAge (0 is no limit). Where that fails, what
// was last read stays valid: a file may be seen half written. The error is that
// there never was anything to read.
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
		return value, fmt.Errorf("read %s: %w", f.path, err)
	}
}

func (f *File[T]) load() (T, error) {
	var none T
	file, err := os.Open(f.path)
	if err != nil {
		return none, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return none, err
	}
	if len(content) > maxSize {
		return none, fmt.Errorf("larger than %d bytes", maxSize)
	}
	return f.parse(content)
}
