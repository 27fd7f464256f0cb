package tail

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"time"

	"logstow/input"
)

// readQuota is the number of bytes read from one file before the next file is read: one large read.
const readQuota = input.LargeRead

// file is a file that is being read.
type file struct {
	// position is up to date except for its offset and state, which are those at which reading
	// began; current returns all of it.
	position
	handle
	open *handles
	// location is the path at which the file can be opened: its path or, after a rename, its new path.
	location string
	// service is the service of its records; if "", the file is not read.
	service string
	pipe    bool
	lines   *input.Source
	size    int64
	// toRead is how much of the size that counts for [input.Stats] was not read.
	toRead int64
	// order is the order of discovery.
	order int
	// lastRead is when bytes were last read.
	lastRead time.Time
	// formers are the files whose last lines this one continues; continuedBy is the file that continues the lines that this
	// one holds, nil if there is none. Their records are not stored yet.
	formers     []*file
	continuedBy *file
	// previousID is the identity of the stored position that this file continues; zero if there is none.
	previousID fileID
}

// displaced reports whether the file is not at its path any more, so that another file may be.
func (f *file) displaced() bool { return f.location != f.path || !f.goneSince.IsZero() }

// current returns the current position of the file.
func (f *file) current() position { return f.positionAt(f.lines.Point()) }

// positionAt returns the position of the file when it is read up to a point.
func (f *file) positionAt(at input.Point) position {
	p := f.position
	p.offset, p.state = at.Offset, string(at.Held)
	return p
}

// compareFiles orders files: displaced ones first, then by modification time.
func compareFiles(a, b *file) int {
	if a.displaced() != b.displaced() {
		if a.displaced() {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.modified, b.modified), cmp.Compare(a.order, b.order))
}

// inOrder sorts files in the order in which they are read.
func inOrder(files iter.Seq[*file]) []*file { return slices.SortedFunc(files, compareFiles) }

// leaveFormers ends continuing the lines of other files, and returns these.
func (f *file) leaveFormers() []*file {
	formers := f.formers
	for _, former := range formers {
		former.continuedBy = nil
	}
	f.formers = nil
	return formers
}

// content implements [live].
func (f *file) content() (io.ReaderAt, int64, error) {
	if err := f.reopen(); err != nil {
		return nil, 0, err
	}
	e, err := f.stat()
	return f.opened, e.size, err
}

// isAt reports whether an entry with the identity of f is f. If f is closed, the inode may
// belong to another file now.
func (f *file) isAt(e entry, dirs listing) bool {
	p := f.current()
	return f.opened != nil || f.location == e.path || p.distinguishing() && dirs.isAt(p, e)
}

// changed reports whether a file may have changed since it was read last.
func (f *file) changed(e entry) bool {
	return f.hasMore || e.size != f.lines.Offset() && f.kind == plain || e.modified != f.modified
}

// reference is the reference for times without a year.
func (f *file) reference(now time.Time) time.Time {
	return time.Unix(0, min(f.modified, now.UnixNano()))
}

var (
	// errTooManyOpen reports that the limit of open files is reached and all have unread data.
	errTooManyOpen = errors.New("too many files with unread data are open")
	// errReplaced reports that another file is at the path now.
	errReplaced = fmt.Errorf("%w at its path", fs.ErrNotExist)
)

// stat returns the file's entry without opening the file.
func (f *file) stat() (entry, error) {
	if f.opened != nil {
		info, err := f.opened.Stat()
		if err != nil {
			return entry{}, err
		}
		return newEntry(f.location, info), nil
	}
	e, err := system{}.stat(f.location)
	if err == nil && e.id != f.id {
		err = errReplaced
	}
	return e, err
}

// reopen opens the file if it is closed. The error is fs.ErrNotExist if the file is not at
// its path any more.
func (f *file) reopen() error {
	if f.opened != nil {
		f.open.used.MoveToFront(f.use)
		return nil
	}
	opened, e, err := openFile(f.location)
	switch {
	case err != nil:
		return err
	case e.id != f.id:
		err = errReplaced
	case !f.open.add(&f.handle, opened):
		err = errTooManyOpen
	default:
		return nil
	}
	_ = opened.Close()
	return err
}

// read reads at most [readQuota] bytes and reports whether there may be more. fileErr is an error
// of the file; err is an error of the sink.
func (f *file) read(ctx context.Context, feed *input.Feed, now time.Time) (more bool, fileErr, err error) {
	before := f.lines.Offset()
	r, fileErr := f.rest()
	if fileErr == nil && f.kind == plain && f.lines.Held() == 0 && f.isInLine() {
		f.lines.ContinueLine()
	}
	if fileErr == nil {
		tracked := &errorReader{r: io.LimitReader(r, readQuota)}
		read := feed.ReadFile
		if f.pipe { // which may wait
			read = feed.Read
		}
		if err = read(ctx, f.lines, tracked, f.reference(now)); tracked.err != nil {
			fileErr, err = fmt.Errorf("cannot read %s: %w", f.location, tracked.err), nil
		}
	}
	if fileErr != nil || err != nil {
		f.unpacked = nil
	}
	f.hasMore = fileErr == nil && f.lines.Offset()-before == readQuota
	return f.hasMore, fileErr, err
}

// rest returns a reader of the content that was not read yet.
func (f *file) rest() (io.Reader, error) {
	switch {
	case f.pipe:
		return f.opened, nil
	case f.kind == plain:
		return &section{f, f.lines.Offset()}, nil
	case f.unpacked == nil:
		r, err := unpack(f.opened)
		var before tailBytes
		if err == nil {
			_, err = io.CopyN(&before, r, f.lines.Offset())
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("cannot decompress %s: %w", f.location, err)
		}
		if f.unpacked = r; before.areInLine() {
			f.lines.ContinueLine()
		}
	}
	return f.unpacked, nil
}

// isInLine reports whether a plain file has no newline before the offset: a last line without it was read before it was completed.
func (f *file) isInLine() bool {
	offset := f.lines.Offset()
	if f.pipe || offset == 0 {
		return false
	}
	if f.last != 0 && f.lastAt == offset-1 {
		return f.last != '\n'
	}
	before := make(tailBytes, min(offset, maxNewline))
	_, err := f.opened.ReadAt(before, offset-int64(len(before)))
	return err == nil && before.areInLine()
}

// maxNewline is the maximum length of a newline in bytes: that in UTF-32.
const maxNewline = 4

// tailBytes are the last bytes of a text. As a writer it keeps those that were written last.
type tailBytes []byte

// Write implements [io.Writer].
func (t *tailBytes) Write(p []byte) (int, error) {
	*t = append(*t, p[max(0, len(p)-maxNewline):]...)
	*t = append((*t)[:0], (*t)[max(0, len(*t)-maxNewline):]...)
	return len(p), nil
}

// areInLine reports whether the bytes do not end with a newline, in any encoding.
func (t tailBytes) areInLine() bool {
	return len(t) > 0 && !bytes.HasSuffix(bytes.TrimRight(t, "\x00"), []byte{'\n'})
}

// errorReader records read errors, which distinguishes them from errors of the sink.
type errorReader struct {
	r   io.Reader
	err error
}

// Read implements [io.Reader].
func (r *errorReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != io.EOF { //nolint:errorlint // io.Reader requires io.EOF itself
		r.err = err
	}
	return n, err
}

// section reads a plain file and extends the fingerprint. It ends when the file's first
// bytes change.
type section struct {
	f  *file
	at int64
}

// Read implements [io.Reader].
func (s *section) Read(p []byte) (int, error) {
	if fits, err := s.f.matchesHead(s.f.opened); err != nil {
		return 0, err
	} else if !fits {
		return 0, io.EOF
	}
	n, err := s.f.opened.ReadAt(p, s.at)
	s.f.print = s.f.print.extend(s.at, p[:n])
	if known := len(s.f.head); s.at == int64(known) && known < maxFingerprint {
		s.f.head += string(p[:min(n, maxFingerprint-known)])
	}
	if s.at += int64(n); n > 0 {
		s.f.last, s.f.lastAt = p[n-1], s.at-1
	}
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// extendPrint replaces the fingerprint by a longer one of the same file and reports whether it
// did. With the longer one, the copy is recognized and read if the file is truncated before it
// is read.
func (f *file) extendPrint(longer fingerprint) bool {
	if f.kind != plain || longer.length <= f.print.length {
		return false
	}
	f.print = longer
	return true
}
