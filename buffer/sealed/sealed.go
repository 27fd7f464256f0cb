// Package sealed keeps sealed batches on disk until they are delivered. Each has a file
// <seq>.seg, which is written once, and a file <seq>.state with the state of its
// delivery. docs/format/buffer.md describes the bytes.
package sealed

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"logstow/buffer/disk"
	"logstow/internal/crashpoint"
)

const (
	suffix      = ".seg"
	stateSuffix = ".state"
	// tempSuffix is appended to the names of unfinished files and of files whose names Remove kept;
	// List removes them.
	tempSuffix = ".tmp"
	// writeSize is the size in bytes of each write of a batch: large aligned writes use fewer and larger pages of the
	// page cache.
	writeSize = 256 << 10
)

// Dir is a directory of sealed batches. Its methods are safe for concurrent use
// on different batches.
type Dir struct {
	fs         disk.FS
	path       string
	quarantine string
}

// At returns a directory without reading or making it.
func At(fsys disk.FS, path, quarantine string) *Dir {
	return &Dir{fs: fsys, path: path, quarantine: quarantine}
}

// Open returns a directory and makes it and its quarantine if they are missing.
func Open(fsys disk.FS, path, quarantine string) (*Dir, error) {
	d := At(fsys, path, quarantine)
	for _, dir := range []string{path, quarantine} {
		if err := fsys.MkdirAll(dir); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Write writes a batch durably. The segment is given in parts. It returns the head with its Size.
// After an error there is no file of the batch, unless syncing the directory failed.
func (d *Dir) Write(h Head, segment [][]byte) (Head, error) {
	h.Size = 0
	for _, part := range segment {
		h.Size += int64(len(part))
	}
	head, err := encodeHead(&h)
	if err != nil {
		return h, err
	}
	h.offset = int64(len(head))
	path := d.file(h.Meta.Seq, suffix)
	temp := path + tempSuffix
	crashpoint.Here("seal.before-write")
	file, err := d.fs.Create(temp)
	if errors.Is(err, fs.ErrExist) { // left by a failed attempt
		if err = d.fs.Remove(temp); err == nil {
			file, err = d.fs.Create(temp)
		}
	}
	if err != nil {
		return h, err
	}
	out := bufio.NewWriterSize(io.NewOffsetWriter(file, 0), int(min(writeSize, h.offset+h.Size)))
	for _, part := range append([][]byte{head}, segment...) {
		_, _ = out.Write(part) // Flush returns the error
	}
	err = out.Flush()
	crashpoint.Here("seal.before-sync")
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	crashpoint.Here("seal.before-rename")
	if err == nil {
		err = d.fs.Rename(temp, path)
	}
	if err != nil {
		return h, errors.Join(err, d.fs.Remove(temp))
	}
	crashpoint.Here("seal.after-rename")
	err = d.fs.SyncDir(d.path)
	crashpoint.Here("seal.after-sync-dir")
	return h, err
}

// head reads the head of a batch's file.
func (d *Dir) head(seq int64) (h Head, err error) {
	file, err := d.fs.Open(d.file(seq, suffix))
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data := make([]byte, 4<<10)
	for {
		n, err := file.ReadAt(data, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return h, err
		}
		h, err := decodeHead(data[:n])
		if err == nil && h.Meta.Seq != seq {
			err = fmt.Errorf("%w: the file name has Seq %016x, the head %016x", ErrDamaged, seq, h.Meta.Seq)
		}
		if err == nil || n < len(data) || len(data) >= maxHead {
			return h, err
		}
		data = make([]byte, maxHead)
	}
}

// Read reads exactly n bytes of a batch's segment at offset off.
func (d *Dir) Read(h *Head, off, n int64) (b []byte, err error) {
	if off < 0 || n < 0 || off > h.Size-n {
		return nil, fmt.Errorf("%w: bytes %d to %d are out of range", ErrDamaged, off, off+n)
	}
	file, err := d.fs.Open(d.file(h.Meta.Seq, suffix))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	b = make([]byte, n)
	got, err := file.ReadAt(b, h.offset+off)
	switch {
	case int64(got) == n:
		return b, nil
	case err == nil, errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: it ends after %d bytes", ErrDamaged, h.offset+off+int64(got))
	}
	return nil, err // the file itself may be intact
}

// State reads the state of a batch; a missing file is the zero State. With ErrDamaged or
// ErrTorn it returns the last state before the damage.
func (d *Dir) State(seq int64) (s State, err error) {
	data, err := disk.ReadFile(d.fs, d.file(seq, stateSuffix), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	return decodeState(data)
}

// SetState writes the state of a batch, durably.
func (d *Dir) SetState(seq int64, s State) (err error) {
	path := d.file(seq, stateSuffix)
	crashpoint.Here("state.before-write")
	file, err := d.fs.Open(path)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		file, err = d.fs.Create(path)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	frame := encodeState(s)
	size, err := file.Size()
	if err != nil {
		return err
	}
	// A torn write at the end is overwritten.
	end := stateEnd(file, size)
	if end == 0 {
		frame = append([]byte(stateMagic), frame...)
	}
	if _, err := file.WriteAt(frame, end); err != nil {
		return err
	}
	if err := file.Truncate(end + int64(len(frame))); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	crashpoint.Here("state.after-sync")
	if made {
		return d.fs.SyncDir(d.path)
	}
	return nil
}

// Remove removes a delivered batch. With keepName set an empty file remains until the next List,
// so that Known still returns the batch.
func (d *Dir) Remove(seq int64, keepName bool) (err error) {
	crashpoint.Here("sealed.before-remove")
	if keepName {
		err = d.keepName(seq)
	} else {
		err = d.removeFile(seq, suffix)
	}
	if err != nil {
		return err
	}
	crashpoint.Here("sealed.after-remove")
	return d.removeFile(seq, stateSuffix)
}

// keepName replaces a batch's file by an empty temporary one, which needs no space on the disk.
func (d *Dir) keepName(seq int64) (err error) {
	temp := d.file(seq, suffix) + tempSuffix
	err = d.fs.Rename(d.file(seq, suffix), temp)
	if err == nil {
		err = d.fs.SyncDir(d.path) // an empty file under its own name would be a damaged batch
	}
	if err != nil {
		return err
	}
	file, err := d.fs.Open(temp)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(0), file.Close())
}

func (d *Dir) removeFile(seq int64, suffix string) error {
	if err := d.fs.Remove(d.file(seq, suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// FileName is the name of a batch's file.
func FileName(seq int64) string { return fmt.Sprintf("%016x%s", seq, suffix) }

// StateName is the name of the file with a batch's state.
func StateName(seq int64) string { return fmt.Sprintf("%016x%s", seq, stateSuffix) }

func (d *Dir) file(seq int64, suffix string) string {
	return filepath.Join(d.path, fmt.Sprintf("%016x%s", seq, suffix))
}
