package wal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"logstow/buffer/internal/disk"
)

// Sealed describes the sealed batches when a log is opened.
type Sealed struct {
	// Through is the coverage of the waiting batches, from their heads.
	Through map[Key]uint64
	// Batches are the Seqs of all batches with a file: true if the batch waits, false if it is
	// quarantined or delivered.
	Batches map[int64]bool
}

// Open opens the log in a directory, which must exist, recovers its state and begins a new
// file. Replay must be called before records are appended, and Repair after the damage was
// reported. With [Stop], lost positions are [ErrLostPositions], and the next Open finds
// them lost again. If ctx ends, the error is its cause.
func Open(ctx context.Context, opts Options, sealed Sealed) (*Log, Report, error) {
	if opts.FileSize == 0 {
		opts.FileSize = DefaultFileSize
	}
	l := newLog(opts)
	if err := l.list(true); err != nil {
		return nil, Report{}, fmt.Errorf("cannot open the log: %w", err)
	}
	report, err := l.recover(ctx, sealed, true)
	if err == nil {
		err = l.decideLostPositions(report)
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

func newLog(opts Options) *Log {
	return &Log{
		opts: opts, enc: newEncoder(), copyEnc: newEncoder(), next: 1,
		batches: map[int64]bool{}, positions: Positions{}, coverage: map[Key]uint64{},
	}
}

// list lists the log's files; with clean set it removes temporary files.
func (l *Log) list(clean bool) error {
	infos, err := l.opts.FS.List(l.opts.Dir)
	if err != nil {
		return err
	}
	files := map[uint64]*logFile{}
	for _, info := range infos {
		if strings.HasSuffix(info.Name, tempSuffix) {
			if !clean {
				continue
			}
			if err := l.opts.FS.Remove(filepath.Join(l.opts.Dir, info.Name)); err != nil {
				return err
			}
			continue
		}
		stem, isCopy := strings.CutSuffix(info.Name, copySuffix)
		if !isCopy {
			stem = strings.TrimSuffix(info.Name, suffix)
		}
		n, err := strconv.ParseUint(stem, 16, 64)
		if err != nil || n == 0 {
			continue // not a file of the log
		}
		f := files[n]
		if f == nil {
			f = &logFile{seq: n, seed: seedOf(n), path: filepath.Join(l.opts.Dir, fmt.Sprintf("%016x%s", n, suffix)), missing: true}
			files[n] = f
			l.files = append(l.files, f)
		}
		if isCopy {
			f.copySize = info.Size
		} else {
			f.size, f.missing = info.Size, false
		}
	}
	slices.SortFunc(l.files, func(a, b *logFile) int { return cmp.Compare(a.seq, b.seq) })
	return nil
}

func readAll(file disk.File, size int64) ([]byte, error) {
	data := make([]byte, size)
	n, err := file.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}
