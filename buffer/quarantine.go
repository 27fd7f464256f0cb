package buffer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"logstow/buffer/internal/disk"
	"logstow/buffer/sealed"
)

// Quarantined is a file in a buffer's quarantine.
type Quarantined struct {
	// File is its name in the quarantine, Bytes its size.
	File  string
	Bytes int64
	// Since is when it was quarantined, Reason why; "" if that is not known.
	Since  time.Time
	Reason string
	// Batch is a batch's id; "" where the file is none that can be read: a damaged
	// one, or a copy of a damaged log file. Problem then says what it is, and the
	// fields below are zero.
	Batch   string
	Problem string
	Service string
	Bucket  time.Time
	Records uint64
	// Store and Name are where the batch was last tried to be stored; "" is nowhere yet.
	Store, Name string
}

// ListQuarantine reads what is in a buffer's quarantine, in order of File, and
// changes nothing; it may be called while a process has the directory open. What is
// no buffer's directory is fs.ErrNotExist.
func ListQuarantine(dir string) ([]Quarantined, error) {
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
		return nil, fmt.Errorf("read buffer %s: %w", dir, err)
	}
	names, err := quarantineFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("read the quarantine: %w", err)
	}
	var all []Quarantined
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(dir, quarantineDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed just now
		}
		if err != nil {
			return nil, fmt.Errorf("read the quarantine: %w", err)
		}
		all = append(all, describe(sealedDirAt(dir).Quarantined(name), info))
	}
	return all, nil
}

func describe(found sealed.Quarantined, info fs.FileInfo) Quarantined {
	q := Quarantined{File: found.File, Bytes: info.Size(), Since: info.ModTime().UTC(), Reason: found.Reason}
	if found.Err != nil {
		q.Problem = found.Err.Error()
		return q
	}
	h := &found.Head
	q.Batch, q.Service, q.Bucket, q.Records = h.Meta.Batch.String(), h.Key.Service, time.Unix(0, h.Key.Start).UTC(), h.Meta.Records
	q.Store, q.Name = found.State.Store, found.State.Name
	return q
}

// quarantined are the names of the files in a buffer's quarantine, without what
// belongs to others there.
func quarantineFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, quarantineDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if !sealed.IsCompanion(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// sealedIn is the directory of sealed batches of a buffer, as it is.
func sealedDirAt(dir string) *sealed.Dir {
	return sealed.At(disk.OS{}, filepath.Join(dir, sealedDir), filepath.Join(dir, quarantineDir))
}

// Requeue brings batches back from a buffer's quarantine: the next process that opens
// the buffer sends them under their ids, so that none is stored twice. One of which a
// byte is damaged stays where it is ([sealed.ErrDamaged]); the error joins one for each that
// stays. [ErrLocked] says that a process has the buffer open; nothing is changed then.
func Requeue(ctx context.Context, dir string, batches []Quarantined) (err error) {
	holder, _ := ReadHolder(dir) // whose it is stays in it
	lock, err := lockDir(dir, holder.Instance, time.Now())
	if err != nil {
		return fmt.Errorf("cannot requeue: buffer %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	var errs []error
	for _, q := range batches {
		if err := sealedDirAt(dir).Requeue(ctx, q.File); err != nil {
			errs = append(errs, fmt.Errorf("cannot requeue %s: %w", q.File, err))
		}
	}
	return errors.Join(errs...)
}

// Discard removes files from a buffer's quarantine for good. It may be called while a
// process has the directory open.
func Discard(dir string, files []Quarantined) error {
	var errs []error
	for _, q := range files {
		if err := sealedDirAt(dir).Discard(q.File); err != nil {
			errs = append(errs, fmt.Errorf("cannot discard %s: %w", q.File, err))
		}
	}
	return errors.Join(errs...)
}

// InQuarantine is the number of files in the quarantine at present; 0 in memory mode.
func (b *Buffer) InQuarantine() int {
	if b.spool == nil {
		return 0
	}
	names, err := quarantineFiles(b.opts.Dir)
	if err != nil {
		return 0 // the buffer's disk fails, which shows elsewhere
	}
	return len(names)
}
