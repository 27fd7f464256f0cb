package buffer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"logstow/buffer/internal/disk"
	"logstow/buffer/sealed"
	"logstow/buffer/wal"
)

// Status is what waits in a buffer's directory.
type Status struct {
	// Instance is the shipper that the directory belongs to, Services whose records wait.
	Instance string
	Services []string
	// Holder says which process has it open; "" is none.
	Holder string
	// LogBytes is the size of the log, which holds what is not sealed and may
	// hold what was; Positions the number of inputs in it.
	LogBytes  int64
	Positions int
	// Sealed batches wait; Unindexed of them are in storage already.
	Sealed, Unindexed int
	SealedBytes       int64
	// Quarantined is the number of files in quarantine.
	Quarantined int
	// Damage is what is wrong with the files, a line each; it is not looked for while a
	// process has the directory open.
	Damage []string
	// LostPositions is [ErrLostPositions], with the files that had them, where Open with
	// [StopLost] would return it; it is not looked for either while a process has it open.
	LostPositions error
	// Oldest is when the oldest record in a sealed batch was taken; zero where there is none.
	Oldest time.Time
}

// Inspect reads what waits in a buffer's directory and changes nothing; it may be
// called while a process has the directory open, and then sees one moment or
// another. What is no buffer's directory is fs.ErrNotExist.
func Inspect(ctx context.Context, dir string) (s Status, err error) {
	if s, err = inspect(ctx, dir); err != nil {
		return s, fmt.Errorf("read buffer %s: %w", dir, err)
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
	}
	known, err := sealed.Known(disk.OS{}, filepath.Join(dir, sealedDir), filepath.Join(dir, quarantineDir))
	if err != nil {
		return s, err
	}
	heads, states, damaged, err := sealed.Peek(disk.OS{}, filepath.Join(dir, sealedDir))
	if err != nil {
		return s, err
	}
	services := map[string]bool{}
	for i, h := range heads {
		services[h.Key.Service] = true
		s.Sealed++
		s.SealedBytes += h.Size
		if states[i].Stored {
			s.Unindexed++
		}
		if s.Oldest.IsZero() || h.First.Before(s.Oldest) {
			s.Oldest = h.First
		}
	}
	summary, err := wal.Peek(ctx, disk.OS{}, filepath.Join(dir, logDir), sealedForLog(heads, known))
	if err != nil {
		return s, err
	}
	if !held {
		s.Damage = damageLines(summary.Report, filepath.Join(dir, sealedDir), damaged)
		if summary.Report.LostPositions {
			s.LostPositions = wrapLostPositions(ErrLostPositions, summary.Report)
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
