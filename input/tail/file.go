package tail

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"logstow/buffer"
	"logstow/input"
)

// turn is how much is read of one file before the others have theirs.
const turn = 16 << 20

// file is one that is being read.
type file struct {
	t       *Tailer
	id      fileID
	path    string
	f       *os.File
	regular bool
	source  *input.Source
	print   fingerprint
	// name is the source of its records. It and the absolute path under which the
	// file was found first stay when it is renamed.
	name, home string
	// moved says that it was found under another name since.
	moved bool
	// modified is when the file was last written to, as seen last.
	modified time.Time
	// grew is when bytes were last read from it, gone when it was first seen to
	// have no name any more; zero while it has one.
	grew, gone time.Time
}

// open starts reading a file: where its position says, else at its end or its start.
func (t *Tailer) open(found found, fromEnd bool) (*file, error) {
	if !found.info.Mode().IsRegular() && !t.opts.Once {
		return nil, fmt.Errorf("%s is not a regular file: pipe it in and give - as the file", found.path)
	}
	osFile, err := os.Open(found.path)
	if err != nil {
		return nil, err
	}
	info, err := osFile.Stat()
	if err != nil {
		return nil, closing(osFile, err)
	}
	home, err := filepath.Abs(found.path)
	if err != nil {
		return nil, closing(osFile, err)
	}
	f := &file{
		t: t, id: idOf(found.path, info), path: found.path, f: osFile, name: found.source, home: home,
		regular: info.Mode().IsRegular(), modified: info.ModTime(), grew: t.opts.Now(),
	}
	if !f.regular {
		f.source = t.feed.NewSource(f.name, 0, nil)
		return f, nil
	}
	p, known := t.position(f.id)
	offset, same := p.resume(f.f, info.Size())
	switch {
	case known && same:
		if p.path != "" && p.path != home { // renamed since
			f.home, f.name, f.moved = p.path, p.source, true
		}
		f.restart(offset)
	case !known && fromEnd:
		f.restart(info.Size())
	default: // new, another file's inode, or truncated since
		f.restart(0)
	}
	return f, nil
}

// position is what the buffer knows of a file.
func (t *Tailer) position(id fileID) (position, bool) {
	value, ok := t.opts.Sink.Position(id.input())
	if !ok {
		return position{}, false
	}
	p, err := decodePosition(value)
	if err != nil { // of another version: the file is known, but not how far it was read
		t.opts.Log.Warn("a file's position can not be read: reading it from the start", "input", id.input(), "error", err)
	}
	return p, true
}

// positions makes the positions of a file, read up to an offset.
func (f *file) positions(offset int64) []buffer.Position {
	if want := min(offset, maxPrint); int64(f.print.length) < want {
		if p, err := printOf(f.f, want); err == nil {
			f.print = p
		}
	}
	p := position{f.id, offset, f.print, f.t.opts.Now().Unix(), f.home, f.name}
	return []buffer.Position{{Input: f.id.input(), Value: p.encode()}}
}

// restart reads on at an offset, without memory of what was before.
func (f *file) restart(offset int64) {
	f.print = fingerprint{}
	f.source = f.t.feed.NewSource(f.name, offset, f.positions)
}

func (f *file) close() { _ = f.f.Close() } // nothing was written: no error can lose anything

func closing(f *os.File, err error) error {
	_ = f.Close()
	return err
}

// reference is the time before which a time without a year must be.
func (f *file) reference() time.Time {
	if now := f.t.opts.Now(); f.modified.After(now) {
		return now
	}
	return f.modified
}

// readToEnd reads to the end. The first result is what is wrong with the file,
// the second what ends the run.
func (f *file) readToEnd(ctx context.Context) (fileErr, err error) {
	if !f.regular {
		return f.read(ctx, f.f)
	}
	return f.read(ctx, io.NewSectionReader(f.f, f.source.Offset(), 1<<62))
}

// read hands over the lines of r, a part of the file.
func (f *file) read(ctx context.Context, r io.Reader) (fileErr, err error) {
	noted := &notingReader{r: r}
	if err := f.t.feed.Read(ctx, f.source, noted, f.reference()); err != nil {
		if noted.err != nil {
			return fmt.Errorf("read %s: %w", f.path, noted.err), nil
		}
		return nil, err
	}
	return nil, nil
}

// notingReader remembers the error of reading, so that it is told from one of handing over.
type notingReader struct {
	r   io.Reader
	err error
}

// Read implements [io.Reader].
func (n *notingReader) Read(p []byte) (int, error) {
	got, err := n.r.Read(p)
	if err != io.EOF { //nolint:errorlint // io.Reader requires io.EOF itself
		n.err = err
	}
	return got, err
}

// follow reads what the file gained, at most a turn of it, and reports whether
// there is more. What is wrong with the file is logged, err ends the run.
func (f *file) follow(ctx context.Context, now time.Time) (more bool, err error) {
	info, statErr := f.f.Stat()
	if statErr != nil {
		f.t.complain(f.path, statErr)
		return false, nil
	}
	f.modified = info.ModTime()
	if info.Size() < f.source.Offset() {
		f.t.opts.Log.Info("file was truncated: reading it from the start", "file", f.path)
		if err := f.t.feed.End(ctx, f.source, f.reference()); err != nil {
			return false, err
		}
		f.restart(0)
	}
	gained := info.Size() - f.source.Offset()
	if gained == 0 {
		if f.source.Held() > 0 && now.Sub(f.grew) >= f.t.opts.PartialWait {
			return false, f.t.feed.End(ctx, f.source, f.reference())
		}
		return false, nil
	}
	f.grew = now
	fileErr, err := f.read(ctx, io.NewSectionReader(f.f, f.source.Offset(), min(gained, turn)))
	if err != nil {
		return false, err
	}
	f.t.complain(f.path, fileErr)
	return fileErr == nil && gained > turn, nil
}

// finished reports whether a file without a name has been quiet for long enough.
func (f *file) finished(now time.Time) bool {
	wait := f.t.opts.RotateWait
	return !f.gone.IsZero() && now.Sub(f.gone) >= wait && now.Sub(f.grew) >= wait
}
