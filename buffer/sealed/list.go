package sealed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// List reads the heads of all batches, in order of Seq, and removes files left by unfinished
// writes and removals. Damaged and unreadable files are quarantined; damaged has their names.
// If ctx ends, the error is its cause.
func (d *Dir) List(ctx context.Context) (heads []Head, damaged []string, err error) {
	files, err := d.fs.List(d.path)
	if err != nil {
		return nil, nil, err
	}
	present := map[int64]bool{}
	var states []int64
	for _, f := range files {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		stem, state := strings.CutSuffix(f.Name, stateSuffix)
		seq, err := strconv.ParseInt(strings.TrimSuffix(stem, suffix), 16, 64)
		switch {
		case strings.HasSuffix(f.Name, tempSuffix):
			if err := d.fs.Remove(filepath.Join(d.path, f.Name)); err != nil {
				return nil, nil, err
			}
			continue
		case err != nil:
			continue // not a file of a batch
		case state:
			states = append(states, seq)
			continue
		}
		h, err := d.head(seq)
		for try := 1; isReadFailure(err) && try < readTries; try++ {
			time.Sleep(readPause)
			h, err = d.head(seq)
		}
		if err != nil && !errors.Is(err, ErrDamaged) && !isReadFailure(err) {
			return nil, nil, fmt.Errorf("cannot read %s: %w", f.Name, err)
		}
		if err == nil && h.offset+h.Size != f.Size {
			err = fmt.Errorf("%w: %d bytes, %d expected", ErrDamaged, f.Size, h.offset+h.Size)
		}
		if err != nil {
			damaged = append(damaged, f.Name)
			if err := d.Quarantine(seq, err.Error()); err != nil {
				return nil, nil, err
			}
			continue
		}
		present[seq] = true
		heads = append(heads, h)
	}
	for _, seq := range states {
		if !present[seq] {
			if err := d.removeFile(seq, stateSuffix); err != nil {
				return nil, nil, err
			}
		}
	}
	return heads, damaged, nil
}

// List retries reading a head on a failing disk.
const (
	readTries = 3
	readPause = 50 * time.Millisecond
)

// isReadFailure reports whether an error means that the disk cannot read a file.
func isReadFailure(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EBADMSG) || errors.Is(err, syscall.ENXIO)
}

// Known returns the Seqs of all batches with a file: those that wait, those in quarantine, and those
// whose names Remove kept. It must be called before List, which removes the kept names.
func (d *Dir) Known() (map[int64]bool, error) {
	known := map[int64]bool{}
	for _, dir := range []string{d.path, d.quarantine} {
		files, err := d.fs.List(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			stem, ours := strings.CutSuffix(strings.TrimSuffix(f.Name, tempSuffix), suffix)
			if seq, err := strconv.ParseInt(stem, 16, 64); ours && err == nil {
				known[seq] = true
			}
		}
	}
	return known, nil
}
