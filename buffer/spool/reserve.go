package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"logstow/buffer/disk"
)

// reserveFile is the name of the reserve. The file holds no data.
const reserveFile = "reserve"

// reserve is a file that reserves disk space. On a full disk it is shortened by as much as
// sealing and delivery need, so that they can always write. It must be complete again before
// records are accepted.
type reserve struct {
	fs   disk.FS
	path string

	mu    sync.Mutex
	bytes int64
}

// load reads the size of the file that an earlier process left.
func (r *reserve) load() error {
	file, err := r.fs.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	size, err := file.Size()
	r.bytes = size
	return errors.Join(err, file.Close())
}

// size returns the number of reserved bytes.
func (r *reserve) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes
}

// grow grows the reserve to at least want bytes. After an error its size is unchanged.
func (r *reserve) grow(want int64) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes >= want {
		return nil
	}
	file, err := r.fs.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = r.fs.Create(r.path)
	}
	if err != nil {
		return fmt.Errorf("cannot reserve disk space: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Allocate(want); err != nil {
		return errors.Join(fmt.Errorf("cannot reserve disk space: %w", err), file.Truncate(r.bytes))
	}
	r.bytes = want
	return nil
}

// shrink shortens the reserve by n bytes, at most by its size, and returns how many bytes
// it freed.
func (r *reserve) shrink(n int64) (freed int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	freed = min(n, r.bytes)
	if freed <= 0 {
		return 0, nil
	}
	if freed == r.bytes {
		err = r.fs.Remove(r.path)
	} else {
		err = r.truncate(r.bytes - freed)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot release reserved disk space: %w", err)
	}
	r.bytes -= freed
	return freed, nil
}

func (r *reserve) truncate(size int64) error {
	file, err := r.fs.Open(r.path)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(size), file.Close())
}
