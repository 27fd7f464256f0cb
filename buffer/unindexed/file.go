package unindexed

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"logstow/buffer/disk"
	"logstow/buffer/wal"
	"logstow/internal/crashpoint"
)

const (
	suffix = ".ent"
	// maxFile is the maximum size of a file in bytes that is read.
	maxFile = 64 << 20
)

func fileName(number uint64) string { return fmt.Sprintf("%016x%s", number, suffix) }

// appendFile appends b to a file at an offset, durably, and makes the file if the offset is 0. After an error the file
// may have a torn write at that offset, which the next call overwrites.
func appendFile(fsys disk.FS, path string, b []byte, offset int64) (err error) {
	crashpoint.Here("entity.before-write")
	file, err := fsys.Open(path)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		file, err = fsys.Create(path)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteAt(b, offset); err != nil {
		return err
	}
	if err := file.Truncate(offset + int64(len(b))); err != nil {
		return err
	}
	crashpoint.Here("entity.before-sync")
	if err := file.Sync(); err != nil {
		return err
	}
	if made || offset == 0 {
		err = fsys.SyncDir(filepath.Dir(path))
	}
	crashpoint.Here("entity.after-sync")
	return err
}

// parsed is the intact part of a file: size bytes with the payloads of entities of a store.
type parsed struct {
	store    string
	payloads [][]byte
	size     int64
	// damaged is set if what follows is not the torn write of a crash, whose batch is still in the buffer.
	damaged bool
}

// parse reads a file up to the first frame that is not intact.
func parse(data []byte) (f parsed) {
	store, rest, err := decodeHead(data)
	if err != nil {
		f.damaged = len(data) > len(magic) && !wal.MaybeTorn(data[len(magic):])
		return f
	}
	f.store = store
	for len(rest) > 0 {
		payload, after, err := wal.NextFrame(rest)
		if err != nil {
			f.damaged = !wal.MaybeTorn(rest)
			break
		}
		f.payloads, rest = append(f.payloads, payload), after
	}
	f.size = int64(len(data) - len(rest))
	return f
}

// repair removes what follows the intact part of a file of the given size, and a file without entities.
func repair(fsys disk.FS, path string, f parsed, size int64) (err error) {
	if len(f.payloads) == 0 {
		return fsys.Remove(path)
	}
	if f.size == size {
		return nil
	}
	file, err := fsys.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(f.size), file.Sync(), file.Close())
}

// list returns the numbers and sizes of the files in a directory, in order of number.
func list(fsys disk.FS, dir string) (numbers []uint64, sizes []int64, err error) {
	files, err := fsys.List(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		stem, ok := strings.CutSuffix(f.Name, suffix)
		if number, err := strconv.ParseUint(stem, 16, 64); ok && err == nil {
			numbers, sizes = append(numbers, number), append(sizes, f.Size)
		}
	}
	return numbers, sizes, nil
}

// Count returns the number of entities in a directory and changes nothing.
func Count(fsys disk.FS, dir string) (n int, err error) {
	numbers, _, err := list(fsys, dir)
	if err != nil {
		return 0, err
	}
	for _, number := range numbers {
		data, err := disk.ReadFile(fsys, filepath.Join(dir, fileName(number)), maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return 0, err
		}
		n += len(parse(data).payloads)
	}
	return n, nil
}
