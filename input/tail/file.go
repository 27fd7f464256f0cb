package tail

import (
	"cmp"
	"compress/gzip"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"logstow/buffer"
	"logstow/input"
)

// turn is how much is read of one file before the others have theirs.
const readQuota = 1 << 20

// file is one that is being read.
type file struct {
	t    *Tailer
	id   fileID
	kind kind
	// path is where the file can be opened: the one that a pattern names or, once
	// the file was renamed, its new name.
	path string
	// home is the absolute path under which the file was found first, real the one
	// that it led to by symbolic links ("" is the same), name the source of its
	// records. They stay when it is renamed.
	firstPath, target, name string
	// service is that of its records; "" is none: it is not read.
	service string
	regular bool
	source  *input.Source
	print   fingerprint
	// begin is what was read of the first [maxPrint] bytes, where that is known.
	head []byte
	// handle is the open file, use its place among those open; nil while it is closed.
	handle *os.File
	use    *list.Element
	// unpacked is what a compressed file holds, from the source's offset on.
	unpacked io.Reader
	// unread says that there is more than was read, or that this is not known.
	hasMore bool
	// moved says that it was found under another name since, order is the order of being found.
	renamed bool
	order   int
	// modified is when the file was last written to, as seen last.
	modified time.Time
	// grew is when bytes were last read from it, gone when it was first seen to
	// have no name any more under which it is to be read; zero while it has one.
	lastRead, goneSince time.Time
	// replaces is another key under which the file is known; zero is none.
	previousID fileID
}

// newFile makes a file of what was found; offset and position are not yet set.
func (t *Tailer) newFile(found found, handle *os.File) (*file, error) {
	info, err := handle.Stat()
	if err != nil {
		return nil, err
	}
	t.created++
	f := &file{
		t: t, id: idOf(found.path, info), path: found.path, name: found.source, firstPath: found.path,
		regular: info.Mode().IsRegular(), modified: info.ModTime(), hasMore: true, order: t.created,
	}
	if target, err := filepath.EvalSymlinks(found.path); err == nil && target != f.firstPath {
		f.target = target
	}
	f.assignService()
	return f, nil
}

// belong finds out whose the file's records are.
func (f *file) assignService() {
	f.service = f.t.opts.Service
	if f.t.opts.ServiceOf == nil {
		return
	}
	service, source, ok := f.t.opts.ServiceOf(f.firstPath)
	if ok {
		f.service, f.name = service, cmp.Or(source, f.name)
	}
}

// place is where the file was when it was found, behind all links.
func (f *file) resolvedPath() string {
	if f.target == "" {
		return f.firstPath
	}
	return f.target
}

// inherit takes over what is known of a file that was found under another name or by its content.
func (f *file) adopt(p position) {
	if p.path != "" && p.path != f.firstPath {
		f.firstPath, f.target, f.name, f.renamed = p.path, p.target, p.source, true
		f.assignService()
	}
}

// restart reads on at an offset, with what was held there.
func (f *file) startAt(offset int64, print fingerprint, state string) {
	f.print, f.head, f.hasMore = print, nil, true
	f.source = f.t.source(f, input.Point{Offset: offset, Held: []byte(state)})
}

// position is what the buffer is to know of the file when it was read up to an offset.
func (f *file) position(offset int64, state string) position {
	if len(state) > maxState {
		state = ""
	}
	return position{
		id: f.id, kind: f.kind, offset: offset, print: f.print, at: f.t.opts.Now().Unix(),
		modified: max(f.modified.UnixNano(), 0), path: f.firstPath, target: f.target, source: f.name, state: state,
	}
}

// now is what the buffer knows of the file, or is to know of it.
func (f *file) current() position {
	at := f.source.Point()
	p := f.position(at.Offset, string(at.Held))
	p.head = string(f.head)
	return p
}

// positions makes the positions that go with records up to a point.
func (f *file) positions(at input.Point) []buffer.Position {
	all := []buffer.Position{f.t.encoded(f.position(at.Offset, string(at.Held)))}
	if f.previousID != (fileID{}) && f.previousID != f.id {
		all = append(all, buffer.Position{Input: f.previousID.input(f.t.prefix)})
		f.t.history.remove(f.previousID)
	}
	f.previousID = fileID{}
	return all
}

// reference is the time before which a time without a year must be.
func (f *file) reference() time.Time {
	if now := f.t.opts.Now(); f.modified.After(now) {
		return now
	}
	return f.modified
}

// errBusy says that as many files are open as may be, all with something to be read.
var errTooManyOpen = errors.New("too many files with something to be read are open")

// errMoved says that another file has the name now.
var errReplaced = fmt.Errorf("%w under its name", fs.ErrNotExist)

// look says what the file is like now, without opening it.
func (f *file) look() (fs.FileInfo, error) {
	if f.handle != nil {
		return f.handle.Stat()
	}
	info, err := os.Stat(f.path)
	if err == nil && idOf(f.path, info) != f.id {
		return nil, errReplaced
	}
	return info, err
}

// open opens the file where it is closed. Errors that are fs.ErrNotExist say
// that it is not there any more.
func (f *file) open() error {
	if f.handle != nil {
		f.t.open.touch(f)
		return nil
	}
	handle, err := openFile(f.path)
	if err != nil {
		return err
	}
	info, err := handle.Stat()
	if err == nil && idOf(f.path, info) != f.id {
		err = errReplaced
	}
	if err == nil && !f.t.open.add(f, handle) {
		err = errTooManyOpen
	}
	if err != nil {
		_ = handle.Close()
	}
	return err
}

// openFile opens a file for reading, without waiting for the writer of a pipe.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
}

// gzipMagic begins compressed files.
const gzipMagic = "\x1f\x8b\x08"

// isPacked reports whether r is a compressed file.
func isCompressed(r io.ReaderAt) bool {
	var b [len(gzipMagic)]byte
	n, _ := r.ReadAt(b[:], 0) // what can not be read is not compressed
	return string(b[:n]) == gzipMagic
}

// unpack starts reading what is compressed in a file.
func unpack(r io.ReaderAt) (io.Reader, error) {
	return gzip.NewReader(io.NewSectionReader(r, 0, 1<<62))
}

// beginning returns the first bytes of what a file holds, at most [maxPrint].
func readHead(handle io.ReaderAt, kind kind) ([]byte, error) {
	var r io.Reader = io.NewSectionReader(handle, 0, maxFingerprint)
	if kind == compressed {
		var err error
		if r, err = unpack(handle); err != nil {
			return nil, err
		}
	}
	b := make([]byte, maxFingerprint)
	n, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return b[:n], err
}

// beginsLike reports whether a file began like b, as far as both go.
func (p position) startsLike(b []byte) bool {
	n := int(p.print.length)
	if n > len(b) { // it went on after it was copied
		return len(b) > 0 && strings.HasPrefix(p.head, string(b))
	}
	return n > 0 && fingerprintOf(b[:n]) == p.print
}

// whole reports whether a compressed file is complete, by reading it.
func isComplete(handle io.ReaderAt) bool {
	r, err := unpack(handle)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	return err == nil
}

// read hands over the lines of r, a part of the file.
func (f *file) read(ctx context.Context, r io.Reader) (fileErr, err error) {
	tracked := &errorReader{r: r}
	if err := f.t.feed.Read(ctx, f.source, tracked, f.reference()); err != nil {
		if tracked.err != nil {
			return fmt.Errorf("read %s: %w", f.path, tracked.err), nil
		}
		return nil, err
	}
	return nil, nil
}

// readPacked hands over at most limit bytes of what is compressed in the file,
// from the source's offset on, and reports whether there may be more.
func (f *file) readCompressed(ctx context.Context, limit int64) (more bool, fileErr, err error) {
	if f.unpacked == nil {
		r, err := unpack(f.handle)
		if err == nil {
			_, err = io.CopyN(io.Discard, r, f.source.Offset())
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read %s: %w", f.path, err), nil
		}
		f.unpacked = r
	}
	before := f.source.Offset()
	fileErr, err = f.read(ctx, io.LimitReader(f.unpacked, limit))
	if err != nil || fileErr != nil {
		f.unpacked = nil
	}
	return f.source.Offset()-before == limit, fileErr, err
}

// notingReader remembers the error of reading, so that it is told from one of handing over.
type errorReader struct {
	r   io.Reader
	err error
}

// Read implements [io.Reader].
func (n *errorReader) Read(p []byte) (int, error) {
	got, err := n.r.Read(p)
	if err != io.EOF { //nolint:errorlint // io.Reader requires io.EOF itself
		n.err = err
	}
	return got, err
}

// section reads a part of a file that is read as it is. It takes the fingerprint
// of what it reads, and ends where the file begins to be another one.
type section struct {
	f       *file
	at, end int64
}

// Read implements [io.Reader].
func (s *section) Read(p []byte) (int, error) {
	if s.at >= s.end || !s.f.sameHead() {
		return 0, io.EOF
	}
	n, err := s.f.handle.ReadAt(p[:min(int64(len(p)), s.end-s.at)], s.at)
	s.f.print = s.f.print.extend(s.at, p[:n])
	if known := len(s.f.head); s.at == int64(known) && known < maxFingerprint {
		s.f.head = append(s.f.head, p[:min(n, maxFingerprint-known)]...)
	}
	s.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// same reports whether the file at the handle begins as it did.
func (f *file) sameHead() bool {
	now, err := readFingerprint(f.handle, int64(f.print.length))
	return err == nil && now == f.print
}
