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

// lock takes a directory's lock and writes down who has it.
func lock(dir, instance string, now time.Time) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = fmt.Errorf("%w: %w", ErrLocked, err)
		if h, herr := ReadHolder(dir); herr == nil {
			err = fmt.Errorf("%w: process %d, instance %s, since %s; give this one a --buffer-dir or an --instance of its own",
				ErrLocked, h.PID, h.Instance, h.Since.Format(time.RFC3339))
		}
		return nil, errors.Join(err, f.Close())
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

// ReadHolder reads who has, or had last, a directory open.
func ReadHolder(dir string) (h Holder, err error) {
	data, err := os.ReadFile(filepath.Join(dir, lockFile))
	if err != nil {
		return h, err
	}
	return h, json.Unmarshal(data, &h)
}
