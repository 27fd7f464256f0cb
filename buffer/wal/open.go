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

// Sealed is what is known of sealed batches when a log is opened.
type Sealed struct {
	// Through is the coverage that those which wait claim.
	Through map[Key]uint64
	// Batches are the Seqs of those whose file is there: true where it waits, false
	// where it was set aside or is delivered.
	Batches map[int64]bool
}

// Open opens the log in a directory, which must exist, and begins a new file
// behind what is there. sealed is the coverage that sealed batches claim. Replay
// must be called before records are appended, and Repair when the damaged files
// were looked at. Lost positions with [Stop] are [ErrLostPositions]; then nothing was
// changed that says so. The error is ctx's if it ends meanwhile.
func Open(ctx context.Context, opts Options, sealed Sealed) (*Log, Report, error) {
	if opts.FileSize == 0 {
		opts.FileSize = DefaultFileSize
	}
	l := newLog(opts)
	if err := l.list(true); err != nil {
		return nil, Report{}, fmt.Errorf("open the log: %w", err)
	}
	report, err := l.recover(ctx, sealed, true)
	if err == nil {
		err = l.decideLostPositions(report)
	}
	if err != nil {
		return nil, report, fmt.Errorf("open the log: %w", err)
	}
	seq := uint64(0)
	if n := len(l.files); n > 0 {
		seq = l.files[n-1].seq
	}
	file, f, err := l.create(seq+1, true)
	if err != nil {
		return nil, report, fmt.Errorf("open the log: %w", err)
	}
	l.file, l.files, l.durable, l.begun = file, append(l.files, f), f.size, f.size
	return l, report, nil
}

func newLog(opts Options) *Log {
	return &Log{
		opts: opts, enc: newEncoder(), copyEnc: newEncoder(), next: 1,
		batches: map[int64]bool{}, positions: map[string][]byte{}, coverage: map[Key]uint64{},
	}
}

// list finds the log's files; with clean set it removes those that were never begun.
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
			continue // not ours
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

// Replay hands over the records that are in no sealed batch, in the order in
// which they were appended; those that are covered have a run's Count of
// records cut out. The messages are valid during the call only.
func (l *Log) Replay(take func(Records) error) error {
	l.mu.Lock()
	files := slices.Clone(l.files[:len(l.files)-1]) // Trim may be called meanwhile
	l.mu.Unlock()
	for _, f := range files {
		if err := l.replay(f, take); err != nil {
			return fmt.Errorf("replay the log: %w", err)
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
			return fmt.Errorf("%s at %d: %w", f.path, next.at, err)
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

// uncovered cuts an entry into the stretches whose records no sealed batch holds.
// Numbers stay right: each part has a First of its own.
func uncovered(e *Records, coverage map[Key]uint64) (parts []Records) {
	at, number := 0, e.First
	for _, run := range e.Runs {
		skip := run.skip(coverage[e.key(run)], number)
		if skip < run.Count {
			parts = append(parts, Records{
				First: number + uint64(skip), Service: e.Service, Class: e.Class,
				Runs:    []Run{{run.Start, run.Width, run.Count - skip}},
				Records: e.Records[at+skip : at+run.Count],
			})
		}
		at += run.Count
		number += uint64(run.Count)
	}
	return parts
}

// key is that of an entry's run.
func (e *Records) key(run Run) Key { return Key{e.Service, e.Class, run.Start, run.Width} }

// skip is how many of a run's records, of which the first has a number, are covered through another.
func (r Run) skip(through, first uint64) int {
	if through < first {
		return 0
	}
	return int(min(uint64(r.Count), through-first+1))
}

// placed is a frame and where it stands in its file.
type placedFrame struct {
	frame
	at int64
}

// end is the offset behind it.
func (p placedFrame) end() int64 { return p.at + int64(p.size()) }

// frames are all whole frames of a file that hold entries, and the size of what
// the file itself says was durable.
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

// resync is the offset of the next whole frame that holds an entry, or the end.
func resync(b []byte, s seed) int {
	for i := 0; i+frameHead < len(b); i++ {
		// A frame's payload is an array of 1 to 11 elements; looking first saves most checksums.
		if c := b[i+frameHead]; c < 0x91 || c > 0x9b {
			continue
		}
		if _, err := nextFrame(b[i:], s); err == nil {
			return i
		}
	}
	return len(b)
}

// ended reports whether b, which is behind the last entry, begins with the end mark.
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
