package buffer

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"logstow/buffer/internal/disk"
)

// reserveFile holds no data: its space is for sealing when the disk is full.
const reserveFile = "reserve"

// reserve is disk space that a file holds in reserve. What must be written for
// batches to be delivered can always be written: on a full disk the file is cut by
// as much as that takes. It grows again before records are taken.
type reserve struct {
	fs   disk.FS
	path string

	mu    sync.Mutex
	bytes int64
}

// find takes over the file that an earlier process left.
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

// size is the number of reserved bytes.
func (r *reserve) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes
}

// grow makes the reserve at least that large. An error leaves it as it was.
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

// give makes the reserve smaller by n bytes, or as many as there are, and
// returns how many became free.
func (r *reserve) shrink(n int64) (given int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	given = min(n, r.bytes)
	if given <= 0 {
		return 0, nil
	}
	if given == r.bytes {
		err = r.fs.Remove(r.path)
	} else {
		err = r.truncate(r.bytes - given)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot release reserved disk space: %w", err)
	}
	r.bytes -= given
	return given, nil
}

func (r *reserve) truncate(size int64) error {
	file, err := r.fs.Open(r.path)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(size), file.Close())
}
