package wal

import (
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

// Damage is a log file of which a part can not be read. What is whole in it is replayed.
type Damage struct {
	Path string
	// Offset is where the first unreadable byte is, Lost how many bytes are unreadable.
	Offset, Lost int64
	// Torn is damage at the very end of the log, as a crash leaves it: never
	// acknowledged, cut off.
	Torn bool
}

// Open opens the log in a directory, which must exist, and begins a new file
// behind what is there. sealed is the coverage that sealed batches claim. Replay
// must be called before records are appended. The error is ctx's if it ends meanwhile.
func Open(ctx context.Context, opts Options, sealed map[Key]uint64) (*Log, []Damage, error) {
	if opts.FileSize == 0 {
		opts.FileSize = DefaultFileSize
	}
	l := &Log{opts: opts, enc: newEncoder(), next: 1, positions: map[string][]byte{}, coverage: map[Key]uint64{}}
	files, err := opts.FS.List(opts.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	seq := uint64(0)
	for _, info := range files {
		path := filepath.Join(opts.Dir, info.Name)
		if strings.HasSuffix(info.Name, tempSuffix) { // never begun
			if err := opts.FS.Remove(path); err != nil {
				return nil, nil, fmt.Errorf("open the log: %w", err)
			}
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(info.Name, suffix), 16, 64)
		if err != nil || n == 0 {
			continue // not ours
		}
		seq = n
		l.files = append(l.files, &logFile{seq: n, seed: seedOf(n), path: path, size: info.Size})
	}
	var damage []Damage
	for i, f := range l.files {
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("open the log: %w", context.Cause(ctx))
		}
		found, err := l.scan(f, i == len(l.files)-1)
		if err != nil {
			return nil, nil, fmt.Errorf("open the log: %w", err)
		}
		damage = append(damage, found...)
	}
	for key, through := range sealed {
		l.coverage[key] = max(l.coverage[key], through)
		l.next = max(l.next, through+1)
	}
	file, f, err := l.create(seq + 1)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	l.file, l.files, l.durable, l.begun = file, append(l.files, f), f.size, f.size
	return l, damage, nil
}

// scan takes positions, coverage and numbers from a file.
func (l *Log) scan(f *logFile, last bool) ([]Damage, error) {
	return l.read(f, last, func(d decoded) error {
		l.take(f, d)
		return nil
	})
}

// take takes positions, coverage and numbers from an entry.
func (l *Log) take(f *logFile, d decoded) {
	switch {
	case d.snapshot != nil:
		l.next, l.seq = max(l.next, d.snapshot.next), max(l.seq, d.snapshot.seq)
		l.positions = d.snapshot.positions
		for key, through := range d.snapshot.coverage {
			l.coverage[key] = max(l.coverage[key], through)
		}
	case d.records != nil:
		if n := uint64(len(d.records.Records)); n > 0 {
			f.last = d.records.First + n - 1
			l.next = max(l.next, f.last+1)
		}
		apply(l.positions, d.records.Positions)
	case d.covered != nil:
		l.coverage[d.covered.key] = max(l.coverage[d.covered.key], d.covered.through)
		l.seq = max(l.seq, d.covered.seq)
	}
}

// Replay hands over the records that are in no sealed batch, in the order in
// which they were appended; those that are covered have a run's Count of
// records cut out. The messages are valid during the call only.
func (l *Log) Replay(take func(Records) error) error {
	l.mu.Lock()
	files := slices.Clone(l.files[:len(l.files)-1]) // Trim may be called meanwhile
	l.mu.Unlock()
	for _, f := range files {
		_, err := l.read(f, false, func(d decoded) error {
			if d.records == nil {
				return nil
			}
			l.mu.Lock()
			parts := uncovered(d.records, l.coverage)
			l.mu.Unlock()
			for _, part := range parts {
				if err := take(part); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("replay the log: %w", err)
		}
	}
	return nil
}

// uncovered cuts an entry into the stretches whose records no sealed batch holds.
// Numbers stay right: each part has a First of its own.
func uncovered(e *Records, coverage map[Key]uint64) (parts []Records) {
	at, number := 0, e.First
	for _, run := range e.Runs {
		through := coverage[Key{e.Service, e.Class, run.Start, run.Width}]
		skip := 0
		if through >= number {
			skip = int(min(uint64(run.Count), through-number+1))
		}
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

// read decodes a file's entries. Damage is passed over to the next whole entry.
// In the last file, damage behind what is known to have been durable is a write
// that a crash tore or lost: it and what follows was never acknowledged, will be
// read again, and is cut off.
func (l *Log) read(f *logFile, last bool, take func(decoded) error) (damage []Damage, err error) {
	file, err := l.opts.FS.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if last && err == nil {
			// What is read now and sealed later must not be lost behind it.
			err = file.Sync()
		}
		err = errors.Join(err, file.Close())
	}()
	data, err := readAll(file, f.size)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.path, err)
	}
	found, durable := frames(data, f.seed)
	at := int64(min(len(magic), len(data)))
	if string(data[:at]) != magic && len(data) > 0 {
		damage = append(damage, Damage{Path: f.path, Lost: at})
	}
	for _, next := range found {
		if next.at > at {
			if last && at >= durable {
				break
			}
			damage = append(damage, Damage{Path: f.path, Offset: at, Lost: next.at - at})
		}
		d, err := decode(next.payload)
		if err != nil {
			return damage, fmt.Errorf("%s at %d: %w", f.path, next.at, err)
		}
		if err := take(d); err != nil {
			return damage, err
		}
		at = next.at + int64(next.size())
	}
	rest := data[at:]
	if len(rest) == 0 {
		return damage, nil
	}
	if !last {
		return append(damage, Damage{Path: f.path, Offset: at, Lost: int64(len(rest))}), nil
	}
	if !ended(rest) || len(found) > 0 && found[len(found)-1].at > at {
		damage = append(damage, Damage{Path: f.path, Offset: at, Lost: int64(len(rest)), Torn: true})
	}
	if err := file.Truncate(at); err != nil {
		return damage, fmt.Errorf("cut off what is behind the end of %s: %w", f.path, err)
	}
	f.size = at
	return damage, nil
}

// placed is a frame and where it stands in its file.
type placed struct {
	frame
	at int64
}

// frames are all whole frames of a file that hold entries, and the size of what
// the file itself says was durable.
func frames(data []byte, s seed) (found []placed, durable int64) {
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
		found = append(found, placed{next, int64(at)})
		durable = max(durable, next.durable)
		at += next.size()
	}
	return found, durable
}

// resync is the offset of the next whole frame that holds an entry, or the end.
func resync(b []byte, s seed) int {
	for i := 0; i+frameHead < len(b); i++ {
		// A frame's payload is an array of 1, 3, 6 or 11 elements; looking first saves most checksums.
		if c := b[i+frameHead]; c != 0x91 && c != 0x93 && c != 0x96 && c != 0x9b {
			continue
		}
		if _, err := nextFrame(b[i:], s); err == nil {
			return i
		}
	}
	return len(b)
}

// ended reports whether b, which is behind the last entry, begins with the end mark.
func ended(b []byte) bool { return len(b) >= len(endMark) && string(b[:len(endMark)]) == endMark }

func readAll(file disk.File, size int64) ([]byte, error) {
	data := make([]byte, size)
	n, err := file.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}
