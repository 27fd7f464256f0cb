package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"logstow/buffer/internal/wait"
	"logstow/internal/fsutil"
	"logstow/internal/limited"
)

// Names in a buffer's directory.
const (
	logDir        = "wal"
	sealedDir     = "sealed"
	quarantineDir = "quarantine"
	unindexedDir  = "unindexed"
	lockFile      = "lock"
)

// maxHolder is the maximum size of the lock file in bytes.
const maxHolder = 4 << 10

// ErrLocked reports that another process has the directory open.
var ErrLocked = errors.New("in use by another process")

// Holder describes the process that has a buffer's directory open, or was the last to have it open.
type Holder struct {
	PID int `json:"pid"`
	// Instance is the instance that the directory belongs to. TakenOverBy is the instance of the process if it drains
	// the directory of another instance; otherwise "".
	Instance    string    `json:"instance"`
	TakenOverBy string    `json:"taken_over_by,omitempty"`
	Since       time.Time `json:"since"`
}

// dirLock is the lock of a buffer's directory. It locks the directory itself, so that removing
// a file does not yield a second lock, and a file in it, for file systems that cannot lock
// directories.
type dirLock struct {
	path string

	mu        sync.Mutex // guards the files after lockDir returned
	dir, file *os.File
}

// lockDir locks a directory, which it makes if it is missing, and writes the holder to the lock file with the PID of
// this process.
func lockDir(path string, holder Holder) (*dirLock, error) {
	for {
		l, err := tryLock(path)
		if err != nil {
			return nil, err
		}
		if l.check() == nil {
			l.writeHolder(holder)
			return l, nil
		}
		if err := l.Close(); err != nil { // removed by the previous holder
			return nil, err
		}
	}
}

func tryLock(path string) (l *dirLock, err error) {
	l = &dirLock{path: path}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	for l.file == nil {
		if l.dir != nil { // removed just now
			if err := l.Close(); err != nil {
				return l, err
			}
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			return l, err
		}
		if l.dir, err = os.Open(path); err == nil {
			err = flockDir(l.dir, fsutil.LockExclusive)
		}
		if err == nil {
			l.file, err = os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
		}
		if err != nil && (!errors.Is(err, fs.ErrNotExist) || l.dir != nil && isSameFile(l.dir, path)) {
			return l, addHolder(path, err) // not removed meanwhile: the lock file may be a symbolic link to nothing
		}
	}
	if err := flock(l.file, fsutil.LockExclusive); err != nil {
		return l, addHolder(path, err)
	}
	return l, nil
}

// addHolder turns the error that another process holds the lock into ErrLocked with that process.
func addHolder(path string, err error) error {
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return err
	}
	if h, herr := ReadHolder(path); herr == nil {
		return fmt.Errorf("%w: process %d, instance %s, since %s",
			ErrLocked, h.PID, h.Instance, h.Since.Format(time.RFC3339))
	}
	return ErrLocked
}

// writeHolder writes the holder to the lock file, best effort: the lock does not depend on it.
func (l *dirLock) writeHolder(h Holder) {
	h.PID, h.Since = os.Getpid(), h.Since.UTC().Truncate(time.Second)
	line, err := json.Marshal(h)
	if err == nil {
		err = l.file.Truncate(0)
	}
	if err == nil {
		_, err = l.file.WriteAt(append(line, '\n'), 0)
	}
	if err != nil {
		_ = l.file.Truncate(0)
	}
}

// check returns an error if the directory or the file was replaced since they were locked;
// after Close it returns wait.ErrClosed.
func (l *dirLock) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.file == nil:
		return wait.ErrClosed
	case !isSameFile(l.dir, l.path):
		return fmt.Errorf("the buffer directory %s was removed or replaced while it was in use", l.path)
	case !isSameFile(l.file, filepath.Join(l.path, lockFile)):
		return fmt.Errorf("the lock file of the buffer %s was removed or replaced while it was in use", l.path)
	}
	return nil
}

// Close releases the lock.
func (l *dirLock) Close() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range []*os.File{l.file, l.dir} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	l.file, l.dir = nil, nil
	return err
}

// inspectWait is the maximum time to wait for shared locks. Inspect holds one for an instant, or longer if its process
// is stopped meanwhile.
const inspectWait = 30 * time.Second

// flock locks an open file without waiting for an exclusive lock. An exclusive lock waits for shared locks, which
// processes hold while they inspect the buffer.
func flock(f *os.File, how fsutil.LockMode) error {
	const pause = 20 * time.Millisecond
	for tries, began := 1, time.Now(); ; tries++ {
		err := fsutil.TryLock(f, how)
		if !errors.Is(err, syscall.EWOULDBLOCK) || how == fsutil.LockShared {
			return err
		}
		shared := fsutil.TryLock(f, fsutil.LockShared)
		if shared == nil {
			shared = fsutil.TryLock(f, fsutil.LockNone)
		}
		if shared != nil && tries >= 5 || time.Since(began) > inspectWait {
			return err
		}
		time.Sleep(pause)
	}
}

// flockDir is flock of a directory. It ignores errors of file systems that cannot lock
// directories, for example network file systems.
func flockDir(f *os.File, how fsutil.LockMode) error {
	err := flock(f, how)
	for _, unsupported := range []error{syscall.EBADF, syscall.EINVAL, syscall.ENOTSUP, syscall.ENOSYS, syscall.EISDIR, syscall.ENOLCK} {
		if errors.Is(err, unsupported) {
			return nil
		}
	}
	return err
}

// isLocked reports whether some process holds a directory's lock.
func isLocked(path string) (bool, error) {
	for _, name := range []string{"", lockFile} {
		f, err := fsutil.Open(filepath.Join(path, name))
		if err != nil {
			return false, err
		}
		lock := flock
		if name == "" {
			lock = flockDir
		}
		err = lock(f, fsutil.LockShared)
		closeErr := f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return true, nil
		}
		if err = errors.Join(err, closeErr); err != nil {
			return false, err
		}
	}
	return false, nil
}

// isSameFile reports whether the file at a path is still the open file f.
func isSameFile(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // other errors do not prove that it was replaced
	}
	return os.SameFile(opened, current)
}

// ReadHolder reads the holder from a directory's lock file.
func ReadHolder(dir string) (h Holder, err error) {
	data, err := limited.Regular(filepath.Join(dir, lockFile), maxHolder)
	if err != nil {
		return h, err
	}
	return h, json.Unmarshal(data, &h)
}
