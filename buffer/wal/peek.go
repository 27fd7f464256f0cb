package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"logstow/buffer/internal/disk"
)

// Summary is what a log holds.
type Summary struct {
	// Bytes is the size of its files, Positions the number of inputs, Services
	// those of records that no batch covers.
	Bytes     int64
	Positions int
	Services  []string
}

// Peek reads a log and changes nothing; somebody may be writing it.
func Peek(fsys disk.FS, dir string) (s Summary, err error) {
	files, err := fsys.List(dir)
	if err != nil {
		return s, err
	}
	l := &Log{opts: Options{Dir: dir, FS: fsys}, positions: map[string][]byte{}, coverage: map[Key]uint64{}}
	type part struct {
		key     Key
		through uint64
	}
	var parts []part
	for _, info := range files {
		if !strings.HasSuffix(info.Name, suffix) {
			continue
		}
		seq, err := strconv.ParseUint(strings.TrimSuffix(info.Name, suffix), 16, 64)
		if err != nil {
			continue
		}
		f := &logFile{seed: seedOf(seq), path: filepath.Join(dir, info.Name), size: info.Size}
		s.Bytes += info.Size
		_, err = l.read(f, false, func(d decoded) error {
			l.take(f, d)
			if d.records == nil {
				return nil
			}
			number := d.records.First
			for _, run := range d.records.Runs {
				number += uint64(run.Count)
				parts = append(parts, part{Key{d.records.Service, d.records.Class, run.Start, run.Width}, number - 1})
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("read the log: %w", err)
		}
	}
	s.Positions = len(l.positions)
	services := map[string]bool{}
	for _, p := range parts {
		if p.through > l.coverage[p.key] {
			services[p.key.Service] = true
		}
	}
	s.Services = slices.Sorted(maps.Keys(services))
	return s, nil
}
