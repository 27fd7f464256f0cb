package wal

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"logstow/buffer/disk"
)

// Summary describes the content of a log.
type Summary struct {
	// Bytes is the size of its files, Positions the number of inputs, Services are the
	// services of records that are in no sealed batch.
	Bytes     int64
	Positions int
	Services  []string
	// Report is the damage; it is only meaningful while no process writes the log.
	Report Report
}

// Peek reads a log and changes nothing; a process may be writing it. If ctx ends, the error
// is its cause.
func Peek(ctx context.Context, fsys disk.FS, dir string, sealed Sealed) (s Summary, err error) {
	l, err := newLog(Options{Dir: dir, FS: fsys}, false)
	if err != nil {
		return s, err
	}
	if s.Report, err = l.recover(ctx, sealed, false); err != nil {
		return s, fmt.Errorf("cannot read the log: %w", err)
	}
	delete(l.positions, lostInput)
	s.Bytes, s.Positions = l.Size(), len(l.positions)
	if keys := len(l.positions.WithPrefix(KeyPrefix)); keys > 0 {
		s.Positions -= keys - 1 // all keys count as one input
	}
	services := map[string]bool{}
	for _, f := range l.files {
		err := l.unsealed(f, func(e *Records) error {
			services[e.Service] = true
			return nil
		})
		if err != nil {
			return s, fmt.Errorf("cannot read the log: %w", err)
		}
	}
	s.Services = slices.Sorted(maps.Keys(services))
	return s, nil
}
