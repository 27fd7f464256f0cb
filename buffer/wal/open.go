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

// Replay calls take with the records that are in no sealed batch, in the order in
// which they were appended; covered records are left out of their runs. The messages
// are valid only during the call.
func (l *Log) Replay(take func(Records) error) error {
	l.mu.Lock()
	files := slices.Clone(l.files[:len(l.files)-1]) // Trim may be called meanwhile
	l.mu.Unlock()
	for _, f := range files {
		if err := l.replay(f, take); err != nil {
			return fmt.Errorf("cannot replay the log: %w", err)
		}
	}
	return nil
}

func (l *Log) replay(f *logFile, take func(Records) error) error {
	data, err := l.readFile(f.path)
	if err != nil {
		return err
	}
	found, _ := frames(data, magic, f.seed)
	for _, next := range found {
		d, err := decode(next.payload)
		if err != nil {
			return fmt.Errorf("cannot decode %s at %d: %w", f.path, next.at, err)
		}
		if d.records == nil {
			continue
		}
		l.mu.Lock()
		parts := uncovered(d.records, l.coverage)
		l.mu.Unlock()
		for _, part := range parts {
			if err := take(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// uncovered splits an entry into parts whose records are in no sealed batch. Each part has
// its own First, so the record numbers stay the same.
func uncovered(e *Records, coverage map[Key]uint64) (parts []Records) {
	at, number := 0, e.First
	for _, run := range e.Runs {
		skip := run.skip(coverage[e.key(run)], number)
		if skip < run.Count {
			parts = append(parts, Records{
				First: number + uint64(skip), Service: e.Service, Class: e.Class, Parse: e.Parse,
				Runs:    []Run{{run.Start, run.Width, run.Count - skip}},
				Records: e.Records[at+skip : at+run.Count],
			})
		}
		at += run.Count
		number += uint64(run.Count)
	}
	return parts
}

// key returns the key of a run of the entry.
func (e *Records) key(run Run) Key { return Key{e.Service, e.Class, e.Parse, run.Start, run.Width} }

// skip returns how many records of a run that begins with number first are covered up to number through.
func (r Run) skip(through, first uint64) int {
	if through < first {
		return 0
	}
	return int(min(uint64(r.Count), through-first+1))
}

// placedFrame is a frame and its offset in its file.
type placedFrame struct {
	frame
	at int64
}

// end is the offset behind the frame.
func (p placedFrame) end() int64 { return p.at + int64(p.size()) }

// frames returns all intact frames of a file that hold entries, and the number of bytes that
// were durable according to them.
func frames(data []byte, magic string, s seed) (found []placedFrame, durable int64) {
	at := 0
	if len(data) >= len(magic) && string(data[:len(magic)]) == magic {
		at = len(magic)
	}
	for at < len(data) {
		next, err := nextFrame(data[at:], s)
		if err != nil {
			at += 1 + resync(data[at+1:], s)
			continue
		}
		found = append(found, placedFrame{next, int64(at)})
		durable = max(durable, next.durable)
		at += next.size()
	}
	return found, durable
}

// resync returns the offset of the next intact frame that holds an entry, or the end.
func resync(b []byte, s seed) int {
	for i := 0; i+frameHead < len(b); i++ {
		// A frame's payload is an array of 1 to 11 elements; checking that first saves most checksums.
		if c := b[i+frameHead]; c < 0x91 || c > 0x9b {
			continue
		}
		if _, err := nextFrame(b[i:], s); err == nil {
			return i
		}
	}
	return len(b)
}

// hasEndMarker reports whether b, the bytes behind the last entry, begins with the end marker.
func hasEndMarker(b []byte) bool {
	return len(b) >= len(endMarker) && string(b[:len(endMarker)]) == endMarker
}

func readAll(file disk.File, size int64) ([]byte, error) {
	data := make([]byte, size)
	n, err := file.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}
