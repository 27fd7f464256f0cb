package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"logstow/buffer/disk"
	"logstow/buffer/sealed"
)

// Quarantined is a file in a buffer's quarantine.
type Quarantined struct {
	// File is its name in the quarantine.
	File string `json:"file"`
	// Batch is the batch's id; "" if the file is a damaged batch or a damaged log file. Problem
	// then describes the damage, and Service, Bucket, Records, Store and Name are zero.
	Batch   string    `json:"batch,omitempty"`
	Service string    `json:"service,omitempty"`
	Bucket  time.Time `json:"bucket,omitzero"`
	Records uint64    `json:"records"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
	// Store and Name are the store and the blob name of the batch's last create; "" if there was none.
	Store string `json:"store,omitempty"`
	Name  string `json:"blob,omitempty"`
	// Since is when it was quarantined, Reason why; "" if unknown.
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason,omitempty"`
	Problem string    `json:"problem,omitempty"`
}

// ListQuarantine lists a buffer's quarantine in order of File and changes nothing. It may be
// called while a process has the directory open. The error is fs.ErrNotExist if dir is not a
// buffer's directory.
func ListQuarantine(dir string) ([]Quarantined, error) {
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
		return nil, fmt.Errorf("cannot read buffer %s: %w", dir, err)
	}
	names, err := quarantineFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the quarantine: %w", err)
	}
	var all []Quarantined
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(dir, quarantineDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the quarantine: %w", err)
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

// quarantineFiles returns the names of the files in a buffer's quarantine, without their
// companions (reasons and states).
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

// sealedDirAt returns a buffer's directory of sealed batches, without reading or making it.
func sealedDirAt(dir string) *sealed.Dir {
	return sealed.At(disk.OS{}, filepath.Join(dir, sealedDir), filepath.Join(dir, quarantineDir))
}

// Requeue brings batches back from a buffer's quarantine: the next process that opens
// the buffer delivers them with their ids, so that none is stored twice. A damaged batch stays
// in quarantine ([sealed.ErrDamaged]); the error joins those of all batches that stay. If a
// process has the buffer open, the error is [ErrLocked] and nothing is changed.
func Requeue(ctx context.Context, dir string, batches []Quarantined) (err error) {
	holder, _ := ReadHolder(dir) // the directory keeps its instance
	lock, err := lockDir(dir, Holder{Instance: holder.Instance, Since: time.Now()})
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

// Resend makes the batches of a buffer that are bound to a relay, whose disk is lost, go to another one: the next process that opens the
// buffer sends them anew. Records that the lost relay had stored before are then stored twice. relay is the ID of its buffer. It returns
// the number of batches. If a process has the buffer open, the error is [ErrLocked] and nothing is changed.
func Resend(dir, relay string) (batches int, err error) {
	holder, _ := ReadHolder(dir) // the directory keeps its instance
	lock, err := lockDir(dir, Holder{Instance: holder.Instance, Since: time.Now()})
	if err != nil {
		return 0, fmt.Errorf("cannot resend: buffer %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	d := sealedDirAt(dir)
	heads, _, err := d.Peek()
	if err != nil {
		return 0, fmt.Errorf("cannot resend: buffer %s: %w", dir, err)
	}
	for _, h := range heads {
		state, err := d.State(h.Meta.Seq)
		if err == nil && strings.HasPrefix(state.Name, relay+"/") {
			err = d.SetState(h.Meta.Seq, sealed.State{Store: state.Store})
			batches++
		}
		if err != nil {
			return batches, fmt.Errorf("cannot resend %s: %w", sealed.FileName(h.Meta.Seq), err)
		}
	}
	return batches, nil
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

// InQuarantine is the number of files in the quarantine at present.
func (s *Spool) InQuarantine() int {
	names, err := quarantineFiles(s.opts.Dir)
	if err != nil {
		return 0 // a failing disk is reported by other calls
	}
	return len(names)
}
