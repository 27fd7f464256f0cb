package wal

import (
	"context"
	"fmt"
)

// Open opens the log in a directory, which must exist, recovers its state and begins a new
// file. Replay must be called before records are appended, and Repair after the damage was
// reported. With [Stop], lost positions are [ErrLostPositions], and the next Open finds
// them lost again. If ctx ends, the error is its cause.
func Open(ctx context.Context, opts Options, sealed Sealed) (*Log, Report, error) {
	if opts.FileSize == 0 {
		opts.FileSize = DefaultFileSize
	}
	l, err := newLog(opts, true)
	if err != nil {
		return nil, Report{}, fmt.Errorf("cannot open the log: %w", err)
	}
	report, err := l.recover(ctx, sealed, true)
	if err == nil && report.LostPositions {
		err = l.positions.applyLost(opts.OnLostPositions)
	}
	if err != nil {
		return nil, report, fmt.Errorf("cannot open the log: %w", err)
	}
	seq := uint64(0)
	if n := len(l.files); n > 0 {
		seq = l.files[n-1].seq
	}
	file, f, err := l.create(seq+1, true)
	if err != nil {
		return nil, report, fmt.Errorf("cannot open the log: %w", err)
	}
	l.file, l.files, l.durable, l.begun = file, append(l.files, f), f.size, f.size
	return l, report, nil
}
