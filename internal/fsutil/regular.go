package fsutil

import (
	"errors"
	"io/fs"
	"os"
)

// ErrNotRegular is the error for a directory, a pipe or a device where a file is expected.
var ErrNotRegular = errors.New("not a regular file") //nolint:gochecknoglobals // a sentinel

// OpenRegular opens a regular file to read it, see [Open]; [ErrNotRegular] if something else is at the path. Errors name the path.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		_ = f.Close() // it was only opened
		return nil, nil, err
	}
	return f, info, nil
}
