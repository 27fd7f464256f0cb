package buffer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
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

// lock takes a directory's lock and writes down who has it. It makes the
// directory where it is missing.
func lock(dir, instance string, now time.Time) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // removed just now
		return lock(dir, instance, now)
	}
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		err = fmt.Errorf("%w: %w", ErrLocked, err)
		if h, herr := ReadHolder(dir); herr == nil {
			err = fmt.Errorf("%w: process %d, instance %s, since %s",
				ErrLocked, h.PID, h.Instance, h.Since.Format(time.RFC3339))
		}
		return nil, errors.Join(err, f.Close())
	}
	if !isAt(f, path) { // removed by who had it
		if err := f.Close(); err != nil {
			return nil, err
		}
		return lock(dir, instance, now)
	}
	line, err := json.Marshal(Holder{PID: os.Getpid(), Instance: instance, Since: now.UTC().Truncate(time.Second)})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(line, '\n'), 0)
	}
	if err != nil {
		// Who holds it is a courtesy; a full disk is no reason to stop.
		_ = f.Truncate(0)
	}
	return f, nil
}

// flock takes the lock of an open file. One who only looks at a buffer holds it
// for a moment, which is waited for.
func flock(f *os.File) error {
	const tries, pause = 5, 20 * time.Millisecond
	for try := 1; ; try++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || try == tries {
			return err
		}
		time.Sleep(pause)
	}
}

// isAt reports whether a path still leads to an open file.
func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// Remove removes a buffer's directory if nobody has it open and nothing waits
// or is in quarantine there: its positions are all that goes. [ErrLocked] says that
// somebody has it open, ErrNotEmpty that it holds something. It is safe against a
// process that opens the buffer meanwhile.
func Remove(dir string) (err error) {
	holder, _ := ReadHolder(dir) // whose it was stays in it if it stays
	f, err := lock(dir, holder.Instance, time.Now())
	if err != nil {
		return fmt.Errorf("remove buffer %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s, err := inspect(dir)
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
