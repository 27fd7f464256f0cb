// Package limited reads from sources that may have more than is wanted.
package limited

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"logstow/internal/fsutil"
)

// Reader reads at most Left bytes from From, and then returns Err. Left may be set again between reads.
type Reader struct {
	From io.Reader
	Left int
	Err  error
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	if r.Left <= 0 {
		return 0, r.Err
	}
	n, err := r.From.Read(p[:min(len(p), r.Left)])
	r.Left -= n
	return n, err
}

// All reads all, at most limit bytes; it returns an error if there are more.
func All(from io.Reader, limit int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, int64(limit)+1))
	if err == nil && len(text) > limit {
		return nil, fmt.Errorf("larger than %d bytes", limit)
	}
	return text, err
}

// File reads a file that has at most limit bytes; it returns an error if there are more. Errors name the file.
func File(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return closed(f, limit)
}

// Regular is File for a file that programs write: another kind of file, such as a named pipe, is [fsutil.ErrNotRegular].
func Regular(path string, limit int) ([]byte, error) {
	f, _, err := fsutil.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	return closed(f, limit)
}

// closed reads all of a file, and closes it.
func closed(f *os.File, limit int) ([]byte, error) {
	defer func() { _ = f.Close() }() // it was only read
	text, err := All(f, limit)
	var named *fs.PathError
	if err != nil && !errors.As(err, &named) {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: err}
	}
	return text, err
}
