package buffer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"logstow/internal/hint"
)

// What a buffer's directory holds.
const (
	logDir        = "wal"
	sealedDir     = "sealed"
	quarantineDir = "quarantine"
	lockFile      = "lock"
)

// ErrLocked says that another process has the directory open.
var ErrLocked = errors.New("in use by another process")

var errExist = fs.ErrExist

// Holder is who has, or had last, a buffer's directory open.
type Holder struct {
	PID      int       `json:"pid"`
	Instance string    `json:"instance"`
	Since    time.Time `json:"since"`
}

// dirLock is the lock of a buffer's directory: of the directory itself, so that nobody
// gets another by removing a file, and of the file in it, for file systems that cannot
// lock directories.
type dirLock struct {
	path string

	mu        sync.Mutex // guards the files once the lock is taken
	dir, file *os.File
}

// lock takes a directory's lock and writes down who has it. It makes the
// directory where it is missing.
func lockDir(path, instance string, now time.Time) (*dirLock, error) {
	for {
		l, err := tryLock(path)
		if err != nil {
			return nil, err
		}
		if l.check() == nil {
			l.writeHolder(instance, now)
			return l, nil
		}
		if err := l.Close(); err != nil { // removed by who had it
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
			err = flockDir(l.dir, syscall.LOCK_EX)
		}
		if err == nil {
			l.file, err = os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return l, addHolder(path, err)
		}
	}
	if err := flock(l.file, syscall.LOCK_EX); err != nil {
		return l, addHolder(path, err)
	}
	return l, nil
}

// held adds to an error of a lock who has it.
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

// sign writes down who has the lock. It is a courtesy; a full disk is no reason to stop.
func (l *dirLock) writeHolder(instance string, now time.Time) {
	line, err := json.Marshal(Holder{PID: os.Getpid(), Instance: instance, Since: now.UTC().Truncate(time.Second)})
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

// check reports whether the directory and the file are still those that are locked;
// after Close it is ErrClosed.
func (l *dirLock) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.file == nil:
		return ErrClosed
	case !isSameFile(l.dir, l.path):
		return fmt.Errorf("the buffer directory %s was removed or replaced while it was in use", l.path)
	case !isSameFile(l.file, filepath.Join(l.path, lockFile)):
		return fmt.Errorf("the lock file of the buffer %s was removed or replaced while it was in use", l.path)
	}
	return nil
}

// Close gives the lock up.
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

// flock takes the lock of an open file. One who only looks at a buffer holds it
// for a moment, which is waited for.
func flock(f *os.File, how int) error {
	const pause = 20 * time.Millisecond
	tries := 5
	if how == syscall.LOCK_SH {
		tries = 1
	}
	for try := 1; ; try++ {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || try == tries {
			return err
		}
		time.Sleep(pause)
	}
}

// flockDir is flock of a directory, where the file system can lock one: network file
// systems often cannot.
func flockDir(f *os.File, how int) error {
	err := flock(f, how)
	for _, cannot := range []error{syscall.EBADF, syscall.EINVAL, syscall.ENOTSUP, syscall.ENOSYS, syscall.EISDIR, syscall.ENOLCK} {
		if errors.Is(err, cannot) {
			return nil
		}
	}
	return err
}

// isLocked reports whether some process holds a directory's lock.
func isLocked(path string) (bool, error) {
	for _, name := range []string{"", lockFile} {
		f, err := os.Open(filepath.Join(path, name))
		if err != nil {
			return false, err
		}
		take := flock
		if name == "" {
			take = flockDir
		}
		err = take(f, syscall.LOCK_SH)
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

// isAt reports whether a path still leads to an open file.
func isSameFile(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // not known, and no proof
	}
	return os.SameFile(mine, there)
}

// checkEvery is how often it is checked that the lock is still what keeps others away.
const lockCheckInterval = time.Second

// watchLock ends the buffer when its directory or lock was replaced, until it closes.
func (s *spool) watchLock() {
	ticker := time.NewTicker(lockCheckInterval)
	defer ticker.Stop()
	for s.checkLock() == nil {
		select {
		case <-s.buf.stop:
			return
		case <-ticker.C:
		}
	}
}

// locked makes it an error of the buffer when its directory or lock was replaced:
// another process may be using it, or a directory of the same name.
func (s *spool) checkLock() error {
	err := s.lock.check()
	if err == nil || errors.Is(err, ErrClosed) {
		return err
	}
	err = hint.Wrap(err, "start it again, and leave the files in the buffer directory alone while it runs")
	return s.buf.fail(err)
}

// Remove removes a buffer's directory if nobody has it open and nothing waits
// or is in quarantine there: its positions are all that goes. [ErrLocked] says that
// somebody has it open, ErrNotEmpty that it holds something. It is safe against a
// process that opens the buffer meanwhile.
func Remove(ctx context.Context, dir string) (err error) {
	holder, _ := ReadHolder(dir) // whose it was stays in it if it stays
	f, err := lockDir(dir, holder.Instance, time.Now())
	if err != nil {
		return fmt.Errorf("remove buffer %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s, err := inspect(ctx, dir)
	if err != nil {
		return fmt.Errorf("remove buffer %s: %w", dir, err)
	}
	if s.Sealed+s.Quarantined+len(s.Services) > 0 {
		return fmt.Errorf("remove buffer %s: %w", dir, ErrNotEmpty)
	}
	// Under another name first: who waits for the lock then finds no such file.
	gone := dir + ".removed"
	if err := os.Rename(dir, gone); err != nil { //nolint:forbidigo // nothing in it is needed
		return fmt.Errorf("remove buffer: %w", err)
	}
	return os.RemoveAll(gone)
}

// ErrNotEmpty says that a buffer still holds what is not in storage.
var ErrNotEmpty = errors.New("something waits in it")

// ReadHolder reads who has, or had last, a directory open.
func ReadHolder(dir string) (h Holder, err error) {
	data, err := os.ReadFile(filepath.Join(dir, lockFile))
	if err != nil {
		return h, err
	}
	return h, json.Unmarshal(data, &h)
}
