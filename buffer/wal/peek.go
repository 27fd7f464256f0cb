package wal

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"logstow/buffer/internal/disk"
)

// Summary is what a log holds.
type Summary struct {
	// Bytes is the size of its files, Positions the number of inputs, Services
	// those of records that no batch covers.
	Bytes     int64
	Positions int
	Services  []string
	// Report is what is wrong with it; it counts only where nobody writes the log.
	Report Report
}

// Peek reads a log and changes nothing; a process may be writing it. The error is ctx's if
// it ends meanwhile.
func Peek(ctx context.Context, fsys disk.FS, dir string, sealed Sealed) (s Summary, err error) {
	l := newLog(Options{Dir: dir, FS: fsys})
	if err := l.list(false); err != nil {
		return s, err
	}
	if s.Report, err = l.recover(ctx, sealed, false); err != nil {
		return s, fmt.Errorf("read the log: %w", err)
	}
	s.Bytes, s.Positions = l.Size(), len(l.positions)
	services := map[string]bool{}
	for _, f := range l.files {
		err := l.replay(f, func(r Records) error {
			services[r.Service] = true
			return nil
		})
		if err != nil {
			return s, fmt.Errorf("read the log: %w", err)
		}
	}
	s.Services = slices.Sorted(maps.Keys(services))
	return s, nil
}
