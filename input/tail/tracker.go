package tail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"logstow/buffer"
	"logstow/input"
	"logstow/internal/hint"
)

// tracker decides which files are read, and executes the decisions.
type tracker struct {
	opts Options
	feed *input.Feed
	selection
	positions
	outages
	empty emptyGlobs
	// dirs caches directories; it is replaced when they may have changed.
	dirs listing

	// files are the files being read, byPath the same files by path; due are those to read next.
	files  map[fileID]*file
	byPath map[string]*file
	due    map[*file]bool
	open   handles
	// created counts the files whose reading was started.
	created int

	// skipped are the files that are not read unless they change.
	skipped map[fileID]version
	// deferred are the paths of undecided files, with the time of the first decision.
	deferred map[string]time.Time
	// changed has the directories to search for files that no pattern matches. The value reports
	// whether to search for copies of lost files too.
	changed map[string]bool
	// starting reports that the first scan is running.
	starting bool
	// watchingSince is when the watcher started; zero if it did not.
	watchingSince time.Time
	// loggedNoService reports that a file without service was logged, loggedUnsupported that one with a compression
	// that is not read was.
	loggedNoService, loggedUnsupported bool
}

func newTracker(opts Options, feed *input.Feed, s selection) tracker {
	return tracker{
		opts: opts, feed: feed, selection: s,
		positions: positions{sink: opts.Sink, name: opts.Name, known: newCatalog(), now: opts.Now},
		outages:   outages{opts.Log, make(map[string]bool)},
		empty:     newEmptyGlobs(opts.Log),
		dirs:      newListing(system{}), open: handles{limit: opts.MaxOpen - opts.maxEarlyOpen()},
		files: make(map[fileID]*file), byPath: make(map[string]*file), due: make(map[*file]bool),
		skipped: make(map[fileID]version), deferred: make(map[string]time.Time), changed: make(map[string]bool),
	}
}

// view returns the input for decisions as it is now.
func (t *tracker) view() view {
	return view{
		known: t.known, dirs: t.dirs, now: t.opts.Now(), starting: t.starting, watchingSince: t.watchingSince,
		rotateWait: t.opts.RotateWait, matches: t.matches, firstScan: t.firstScan,
	}
}

// admit identifies a file that is not being read, and executes the decision. It returns the
// file if it is being read now. decided is false if the file must be observed again.
func (t *tracker) admit(c *candidate) (f *file, decided bool, err error) {
	defer c.close()
	if c.pipe && !t.opts.Once { // opening it would release its writer
		return nil, false, fmt.Errorf("%s is not a regular file: pipe it in and give - as the file", c.path)
	}
	if renamed, err := t.openCandidate(c); renamed || err != nil {
		return nil, false, err
	}
	c.resolved, c.deferred = t.dirs.resolved(c.path), t.deferred[c.path]
	switch {
	case c.pipe:
		return t.startReading(c, action{verb: start}), true, nil
	case t.known.isLive(c.id):
		return nil, true, nil
	}
	if err := checkCompression(c); err != nil {
		if err = fmt.Errorf("cannot read %s: %w", c.path, err); t.opts.Once && !c.unmatched {
			return nil, false, err
		}
		t.logUnsupported(c.path, err)
		return nil, true, nil
	}
	a := t.view().identify(c)
	for ; a.verb == replaced; a = t.view().identify(c) {
		t.forget(a.from.id)
		t.orphan(a.from)
		t.dirs = newListing(t.dirs.fs)
		c.fromEnd = c.fromEnd && isCompressed(c) // otherwise it was written since the last run
	}
	return t.execute(c, a), a.verb != wait, nil
}

// openPipe opens a pipe; it does nothing for other files. Opening a named pipe blocks until it has a writer, or until ctx
// is done, which is the error.
func (c *candidate) openPipe(ctx context.Context) error {
	if !c.pipe {
		return nil
	}
	path := cmp.Or(c.configuredPath, c.path)
	type result struct {
		f   *os.File
		err error
	}
	opened := make(chan result, 1)
	go func() {
		f, err := os.Open(path)
		opened <- result{f, err}
	}()
	select {
	case r := <-opened:
		if r.err == nil {
			c.content = r.f
		}
		return r.err
	case <-ctx.Done():
	}
	// Opening for both directions does not block, and is a writer. If this process may not write, or another file has
	// the path now, the goroutine ends with the process.
	if writer, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
		select {
		case r := <-opened:
			if r.err == nil {
				_ = r.f.Close() // nothing was read
			}
		case <-time.After(time.Second):
		}
		_ = writer.Close() // nothing was written
	}
	return ctx.Err()
}

// openCandidate opens a file unless it is open. renamed reports that another file is at its path now.
func (t *tracker) openCandidate(c *candidate) (renamed bool, err error) {
	if c.content != nil {
		return false, nil
	}
	f, e, err := openFile(cmp.Or(c.configuredPath, c.path))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !t.opts.Once:
		return true, nil
	case err != nil:
		return false, err
	}
	renamed, e.path = e.id != c.id, c.path
	if c.content, c.entry = f, e; renamed && t.opts.Once {
		err = fmt.Errorf("cannot read %s: it was replaced by another file", c.path)
		err = hint.Wrap(err, "run again with a pattern that matches the renamed file")
	}
	return renamed, err
}

// execute executes an action. It returns the file if it is being read now.
func (t *tracker) execute(c *candidate, a action) *file {
	original, isFile := a.original.(*file)
	switch a.verb {
	case wait:
		if isFile {
			t.due[original] = true
		}
	case markCopy:
		if isFile && original.extendPrint(a.print) {
			t.storeFile(original)
		}
		if p, err := copyOf(c.position(a.kind), c.content, c.size); err == nil {
			t.store(p)
		}
	case start, resume, resumeCopy:
		return t.startReading(c, a)
	}
	return nil
}

// startReading starts reading a file, unless it has no service.
func (t *tracker) startReading(c *candidate, a action) *file {
	t.created++
	f := &file{position: c.position(a.kind), open: &t.open, location: c.path, pipe: c.pipe, size: c.size, order: t.created}
	if a.from.path != "" && a.from.path != f.path {
		f.path, f.target, f.source = a.from.path, a.from.target, a.from.source
	}
	f.service = t.opts.Service
	if t.opts.ServiceOf != nil {
		if service, source, ok := t.opts.ServiceOf(f.path); ok {
			f.service, f.source = service, cmp.Or(source, f.source)
		}
	}
	if f.service == "" {
		t.logNoService(f)
		return nil
	}
	at := input.Point{Offset: a.offset}
	f.print = a.print
	if a.verb != start {
		at, f.print, f.previousID = input.Point{Offset: a.from.offset, Held: []byte(a.from.state)}, a.from.print, a.from.id
	}
	if t.readFrom(f, at); at.Offset > 0 {
		f.lines.Encoded(encodingOf(c, a.kind))
	}
	t.files[f.id] = f
	t.known.addLive(f.id, f.resolvedPath(), f)
	if f.previousID != (fileID{}) && f.previousID != f.id {
		t.storeFile(f)
	}
	if opened, ok := c.content.(*os.File); ok && t.open.add(&f.handle, opened) { // otherwise it is opened later
		c.content = nil
	}
	if c.unmatched {
		f.goneSince = t.opts.Now()
	}
	return f
}

// readFrom makes reading of a file continue at a point.
func (t *tracker) readFrom(f *file, at input.Point) {
	position := func(at input.Point) []buffer.Position { return t.of(f, at) }
	if f.pipe {
		position = nil
	}
	f.lines, f.hasMore = t.feed.Resume(f.source, at, position).Of(f.service), true
	t.due[f] = true
}

// logNoService logs once that a file has no service.
func (t *tracker) logNoService(f *file) {
	if !t.loggedNoService {
		t.loggedNoService = true
		t.opts.Log.Warn("file skipped: its path gives no service (logged once); exclude it, or match only files of containers",
			"file", f.path)
	}
}

// logUnsupported logs once that a file has a compression that is not read.
func (t *tracker) logUnsupported(path string, err error) {
	if !t.loggedUnsupported {
		t.loggedUnsupported = true
		t.opts.Log.Warn("file skipped (logged once)", "file", path, "error", err)
	}
}

// orphan keeps the former position of a file that has other content now, until its copies were
// searched for. It stores it under an identity that no file has, and returns that.
func (t *tracker) orphan(p position) fileID {
	if p.id = p.orphanID(); p.print.length > 0 && p.kind == plain {
		t.store(p)
		t.lost(p, !t.opts.Once) // with Once, the next run searches again
	}
	return p.id
}

// lost records that a file does not exist any more, so that its copies are searched for. With
// forget set, it is forgotten after the search.
func (t *tracker) lost(p position, forget bool) {
	if forget {
		t.known.removed[p.id] = false
	}
	t.changed[filepath.Dir(p.resolvedPath())] = true
}

// forgetRemoved deletes the positions of removed files once their copies were searched for.
func (t *tracker) forgetRemoved() {
	ids := t.known.searched()
	if len(t.deferred) > 0 && len(ids) < maxRemoved { // one of them may become a copy
		return
	}
	for _, id := range ids {
		t.forget(id)
	}
}

// maxRemoved is the maximum number of files whose removal waits for deferred files.
const maxRemoved = 10_000

// markChanged makes the next search cover the directory of a path.
func (t *tracker) markChanged(path string) {
	if dir := filepath.Dir(path); !t.changed[dir] {
		t.changed[dir] = false
	}
}

// displace marks a file as being at no path that a pattern matches.
func (t *tracker) displace(f *file) {
	t.removePaths(f)
	if t.files[f.id] != f {
		return
	}
	if f.goneSince.IsZero() {
		f.goneSince = t.opts.Now()
	}
	t.due[f] = true
	t.markChanged(f.resolvedPath())
}

func (t *tracker) removePaths(f *file) {
	for _, path := range []string{f.location, f.path, f.resolvedPath()} {
		if t.byPath[path] == f {
			delete(t.byPath, path)
		}
	}
}

// stop stops reading a file; its position stays known.
func (t *tracker) stop(f *file) {
	p := f.current()
	p.at = t.opts.Now().Unix()
	for _, former := range f.leaveFormers() { // their lines were not stored
		if t.files[former.id] == former {
			t.due[former] = true
		}
	}
	t.open.close(&f.handle)
	t.removePaths(f)
	delete(t.files, f.id)
	delete(t.due, f)
	t.known.add(p)
}
