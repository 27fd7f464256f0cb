package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"logstow/buffer/disk"
)

// directory is the directory of a log.
type directory struct {
	path string
	fs   disk.FS
}

const (
	suffix     = ".log"
	copySuffix = ".copy"
	// tempSuffix is the suffix of temporary files, which Open removes.
	tempSuffix = ".tmp"
)

// magic is the beginning of every log file.
const magic = "LSTOWWAL"

// ErrFull reports that the disk is full. Nothing was written, and the same call may
// succeed later.
var ErrFull = errors.New("no space on disk")

// wrapFull adds ErrFull to the error of a full disk.
func wrapFull(err error) error {
	if disk.Full(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// logFile is a file of the log, with its copy.
type logFile struct {
	seq  uint64
	seed seed
	path string
	// size and copySize are the sizes of the file and of its copy.
	size, copySize int64
	// allocated is the size on disk of a recycled file that is overwritten, otherwise 0.
	allocated int64
	// own is set if this process made the file, so that no other name links to it.
	own bool
	// missing is set if only the copy exists, repair if Repair has to rewrite the file.
	missing, repair bool
	// last is the highest number of its records, 0 if it has none.
	last uint64
}

// list lists the log's files; with clean set it removes temporary files.
func (d directory) list(clean bool) (all []*logFile, err error) {
	infos, err := d.fs.List(d.path)
	if err != nil {
		return nil, err
	}
	files := map[uint64]*logFile{}
	for _, info := range infos {
		if strings.HasSuffix(info.Name, tempSuffix) {
			if !clean {
				continue
			}
			if err := d.fs.Remove(filepath.Join(d.path, info.Name)); err != nil {
				return nil, err
			}
			continue
		}
		stem, isCopy := strings.CutSuffix(info.Name, copySuffix)
		if !isCopy {
			stem = strings.TrimSuffix(info.Name, suffix)
		}
		n, err := strconv.ParseUint(stem, 16, 64)
		path := d.logPath(n)
		if isCopy {
			path = d.copyPath(n)
		}
		if err != nil || n == 0 || info.Name != filepath.Base(path) {
			continue // not a file of the log
		}
		f := files[n]
		if f == nil {
			f = &logFile{seq: n, seed: seedOf(n), path: d.logPath(n), missing: true}
			files[n] = f
			all = append(all, f)
		}
		if isCopy {
			f.copySize = info.Size
		} else {
			f.size, f.missing = info.Size, false
		}
	}
	slices.SortFunc(all, func(a, b *logFile) int { return cmp.Compare(a.seq, b.seq) })
	return all, nil
}

func (d directory) logPath(seq uint64) string {
	return filepath.Join(d.path, fmt.Sprintf("%016x%s", seq, suffix))
}

func (d directory) copyPath(seq uint64) string {
	return filepath.Join(d.path, fmt.Sprintf("%016x%s", seq, copySuffix))
}

// readFile reads a file of the log; nil if it does not exist.
func (d directory) readFile(path string) ([]byte, error) {
	data, err := disk.ReadFile(d.fs, path, math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// removeFile removes a file, if it exists.
func (d directory) removeFile(path string) error {
	if err := d.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sync makes the names in the directory durable.
func (d directory) sync() error { return d.fs.SyncDir(d.path) }
