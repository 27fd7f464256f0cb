package tail

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"logstow/buffer"
	"logstow/input"
)

// readQuota is the number of bytes read from one file before the next file is read.
const readQuota = 1 << 20

// file is a file that is being read.
type file struct {
	t    *Tailer
	id   fileID
	kind kind
	// path is where the file can be opened: the path that a pattern matched or, after a
	// rename, its new path.
	path string
	// firstPath is the absolute path at which the file was first found, target the path
	// behind its symbolic links ("" is the same), name the source of its records. They
	// do not change when the file is renamed.
	firstPath, target, name string
	// service is the service of its records; if "", the file is not read.
	service string
	regular bool
	source  *input.Source
	print   fingerprint
	// head is what was read of the first [maxFingerprint] bytes, if known.
	head []byte
	// handle is the open file, use its element in [handles]; nil while it is closed.
	handle *os.File
	use    *list.Element
	// unpacked is the decompressed content, from the source's offset on.
	unpacked io.Reader
	// hasMore reports that there is or may be unread data.
	hasMore bool
	// renamed reports that it was found at another path since, order is the order of discovery.
	renamed bool
	order   int
	// size and modified are as of the last poll.
	size     int64
	modified time.Time
	// lastRead is when bytes were last read, goneSince when the file was first seen to
	// be at no path that a pattern matches; zero while it is at one.
	lastRead, goneSince time.Time
	// due reports that it is to be read next, active that it is to be polled, displaced that
	// another file has or may get its path.
	due, active, displaced bool
	// previousID is the identity of a stored position that this file continues; zero is none.
	previousID fileID
}

// newFile returns a file without an offset; startAt sets it.
func (t *Tailer) newFile(c *candidate, kind kind) *file {
	t.created++
	f := &file{
		t: t, id: c.id, kind: kind, path: c.path, name: c.source, firstPath: c.path, regular: !c.pipe,
		size: c.size, modified: time.Unix(0, c.modified), hasMore: true, order: t.created,
	}
	if c.place != f.firstPath {
		f.target = c.place
	}
	f.assignService()
	return f
}

// assignService sets the service and the source of the file's records.
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

// resolvedPath is the path at which the file was first found, with symbolic links resolved.
func (f *file) resolvedPath() string {
	if f.target == "" {
		return f.firstPath
	}
	return f.target
}

// adopt takes over path, source and service of a known file.
func (f *file) adopt(p position) {
	if p.path != "" && p.path != f.firstPath {
		f.firstPath, f.target, f.name, f.renamed = p.path, p.target, p.source, true
		f.assignService()
	}
}

// startAt sets the offset to read from and the state of the line reader there.
func (f *file) startAt(offset int64, print fingerprint, state string) {
	f.print, f.head, f.hasMore = print, nil, true
	f.source = f.t.source(f, input.Point{Offset: offset, Held: []byte(state)})
}

// position is the position of the file when it was read up to an offset.
func (f *file) position(offset int64, state string) position {
	if len(state) > maxState {
		state = ""
	}
	return position{
		id: f.id, kind: f.kind, offset: offset, print: f.print, at: f.t.opts.Now().Unix(),
		modified: max(f.modified.UnixNano(), 0), path: f.firstPath, target: f.target, source: f.name, state: state,
	}
}

// current is the position of the file now.
func (f *file) current() position {
	at := f.source.Point()
	p := f.position(at.Offset, string(at.Held))
	p.head = string(f.head)
	return p
}

// positions returns the positions to be stored with the records before a point.
func (f *file) positions(at input.Point) []buffer.Position {
	all := []buffer.Position{f.t.encoded(f.position(at.Offset, string(at.Held)))}
	if f.previousID != (fileID{}) && f.previousID != f.id {
		all = append(all, buffer.Position{Input: f.previousID.input(f.t.prefix)})
		f.t.known.forget(f.previousID)
	}
	f.previousID = fileID{}
	return all
}

// extendPrint extends the fingerprint to what is in the open file: if the file is
// truncated before it is read, its copy is recognized and read.
func (f *file) extendPrint() {
	if head, err := readHead(f.handle, plain); err == nil && f.kind == plain && len(head) > int(f.print.length) {
		f.print = fingerprintOf(head)
		f.t.pendingPositions = append(f.t.pendingPositions, f.positions(f.source.Point())...)
	}
}

// content implements [live].
func (f *file) content() (io.ReaderAt, int64, error) {
	if err := f.open(); err != nil {
		return nil, 0, err
	}
	info, err := f.handle.Stat()
	if err != nil {
		return nil, 0, err
	}
	return f.handle, info.Size(), nil
}

// isAt reports whether the file at e.path, with the identity of f, is f. It may be another
// one if f is closed.
func (f *file) isAt(e entry) bool {
	p := f.current()
	return f.handle != nil || f.path == e.path || p.distinguishing() && f.t.dirs.isAt(p, e)
}

// changed reports whether a file may have changed since it was read last.
func (f *file) changed(info fs.FileInfo) bool {
	return f.hasMore || info.Size() != f.source.Offset() && f.kind == plain || !info.ModTime().Equal(f.modified)
}

// reference is the reference for times without a year.
func (f *file) reference() time.Time {
	if now := f.t.opts.Now(); f.modified.After(now) {
		return now
	}
	return f.modified
}

// errTooManyOpen reports that the limit of open files is reached and all have unread data.
var errTooManyOpen = errors.New("too many files with unread data are open")

// errReplaced reports that another file is at the path now.
var errReplaced = fmt.Errorf("%w at its path", fs.ErrNotExist)

// look returns the file's info without opening it.
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

// open opens the file if it is closed. The error is fs.ErrNotExist if the file is not at
// its path any more.
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

// openFile opens a file for reading without waiting for the writer of a pipe.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
}

// read passes the lines of r, a part of the file, to the feed.
func (f *file) read(ctx context.Context, r io.Reader) (fileErr, err error) {
	tracked := &errorReader{r: r}
	if err := f.t.feed.Read(ctx, f.source, tracked, f.reference()); err != nil {
		if tracked.err != nil {
			return fmt.Errorf("cannot read %s: %w", f.path, tracked.err), nil
		}
		return nil, err
	}
	return nil, nil
}

// readCompressed reads at most limit bytes of the decompressed content from the
// source's offset on, and reports whether there may be more.
func (f *file) readCompressed(ctx context.Context, limit int64) (more bool, fileErr, err error) {
	if f.unpacked == nil {
		r, err := unpack(f.handle)
		if err == nil {
			_, err = io.CopyN(io.Discard, r, f.source.Offset())
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("cannot decompress %s: %w", f.path, err), nil
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

// errorReader records read errors, so that they are distinguished from errors of the sink.
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

// section reads a part of a plain file and extends the fingerprint. It ends when the
// file's first bytes change.
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

// sameHead reports whether the open file still has the fingerprint of what was read.
func (f *file) sameHead() bool {
	now, err := readFingerprint(f.handle, int64(f.print.length))
	return err == nil && now == f.print
}
