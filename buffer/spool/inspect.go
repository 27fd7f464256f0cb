package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"logstow/buffer/disk"
	"logstow/buffer/unindexed"
	"logstow/buffer/wal"
)

// Status describes the content of a buffer's directory.
type Status struct {
	// Instance is the instance that the directory belongs to, Services are the services with unstored records.
	Instance string
	Services []string
	// Holder describes the process that has the directory open; "" if there is none.
	Holder string
	// TakenOverBy is the instance of the Holder if it drains the directory of another instance; otherwise "".
	TakenOverBy string
	// LogBytes is the size of the log, which holds all unsealed records and may also hold
	// sealed ones; Positions is the number of inputs in it.
	LogBytes  int64
	Positions int
	// Sealed is the number of waiting batches; Unindexed of stored ones whose index entity waits.
	Sealed, Unindexed int
	SealedBytes       int64
	// Quarantined is the number of files in quarantine.
	Quarantined int
	// Damage describes each damaged or missing file in a line; it is empty while a process has
	// the directory open.
	Damage []string
	// LostPositions is the [wal.ErrLostPositions] that Open with [wal.Stop] would return; it is nil
	// while a process has the directory open.
	LostPositions error
	// Oldest is when the oldest record in a sealed batch was appended; zero if there is none.
	Oldest time.Time
}

// Inspect reads a buffer's directory and changes nothing. It may be called while a process
// has the directory open; then what it returns may mix several moments. The error is
// fs.ErrNotExist if dir is not a buffer's directory.
func Inspect(ctx context.Context, dir string) (s Status, err error) {
	if s, err = inspect(ctx, dir); err != nil {
		return s, fmt.Errorf("cannot read buffer %s: %w", dir, err)
	}
	return s, nil
}

func inspect(ctx context.Context, dir string) (s Status, err error) {
	holder, err := ReadHolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s.Instance = holder.Instance
	held, err := isLocked(dir)
	if err != nil {
		return s, err
	}
	if held {
		s.Holder = fmt.Sprintf("process %d since %s", holder.PID, holder.Since.Format(time.RFC3339))
		s.TakenOverBy = holder.TakenOverBy
	}
	batches := sealedDirAt(dir)
	known, err := batches.Known()
	if err != nil {
		return s, err
	}
	heads, damaged, err := batches.Peek()
	if err != nil {
		return s, err
	}
	services := map[string]bool{}
	for _, h := range heads {
		services[h.Key.Service] = true
		s.Sealed++
		s.SealedBytes += h.Size
		if s.Oldest.IsZero() || h.First.Before(s.Oldest) {
			s.Oldest = h.First
		}
	}
	if s.Unindexed, err = unindexed.Count(disk.OS{}, filepath.Join(dir, unindexedDir)); err != nil {
		return s, err
	}
	summary, err := wal.Peek(ctx, disk.OS{}, filepath.Join(dir, logDir), sealedForLog(heads, known))
	if err != nil {
		return s, err
	}
	if !held {
		s.Damage = damageLines(summary.Report, filepath.Join(dir, sealedDir), damaged)
		if summary.Report.LostPositions {
			s.LostPositions = wrapLostPositions(wal.ErrLostPositions, summary.Report)
		}
	}
	s.LogBytes, s.Positions = summary.Bytes, summary.Positions
	for _, name := range summary.Services {
		services[name] = true
	}
	for name := range services {
		s.Services = append(s.Services, name)
	}
	slices.Sort(s.Services)
	files, err := quarantineFiles(dir)
	s.Quarantined = len(files)
	return s, err
}
