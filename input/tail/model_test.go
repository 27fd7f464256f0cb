package tail

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// modelFile is a file that the model of a reader reads.
type modelFile struct {
	m      *modelReader
	p      position
	path   string
	handle *diskHandle
	gone   bool
}

func (f *modelFile) current() position { return f.p }

func (f *modelFile) content() (io.ReaderAt, int64, error) {
	if f.handle == nil {
		e, err := f.m.disk.stat(f.path)
		if err != nil || e.id != f.p.id {
			return nil, 0, fs.ErrNotExist
		}
		c, _, err := f.m.disk.open(f.path)
		if err != nil {
			return nil, 0, err
		}
		f.handle = c.(*diskHandle)
	}
	return f.handle, int64(len(f.handle.f.data)), nil
}

// modelReader executes actions as a [Tailer] does, on a disk.
type modelReader struct {
	t        *testing.T
	disk     *disk
	pattern  string
	known    *catalog
	files    map[fileID]*modelFile
	skipped  map[fileID]version
	deferred map[string]time.Time
	got      map[string]int
	starting bool
	// opened are new files that the watcher opened since the last poll.
	opened []*candidate
}

func (m *modelReader) view() view {
	return view{
		known: m.known, dirs: newListing(m.disk), now: time.Unix(0, m.disk.clock), starting: m.starting,
		rotateWait: time.Second, matches: m.matches, firstScan: func(position) int64 { return 0 },
	}
}

func (m *modelReader) matches(path string) bool {
	ok, err := filepath.Match(m.pattern, path)
	return ok && err == nil
}

// admit identifies a file and executes the decision.
func (m *modelReader) admit(c *candidate) verb {
	a := m.view().identify(c)
	for ; a.verb == replaced; a = m.view().identify(c) {
		m.known.forget(a.from.id)
		m.orphan(a.from)
	}
	p := position{id: c.id, kind: a.kind, path: c.path, modified: c.modified}
	switch a.verb {
	case markCopy:
		p, err := copyOf(p, c, c.size)
		if err != nil {
			m.t.Fatal(err)
		}
		m.known.add(p)
		if f, ok := a.original.(*modelFile); ok && f.p.kind == plain {
			if a.print.length > f.p.print.length {
				f.p.print = a.print
			}
		}
	case start, resume, resumeCopy:
		if a.from.path != "" {
			p.path = a.from.path
		}
		if a.verb != start {
			m.known.forget(a.from.id)
			p.offset, p.print = a.from.offset, a.from.print
		}
		f := &modelFile{m: m, p: p, path: c.path, handle: c.content.(*diskHandle), gone: !m.matches(c.path)}
		c.content = nil
		m.files[p.id] = f
		m.known.addLive(p.id, p.path, f)
	}
	return a.verb
}

// orphan keeps the position of a file that has other content now.
func (m *modelReader) orphan(p position) fileID {
	if p.id = p.orphanID(); p.print.length > 0 && p.kind == plain {
		m.known.add(p)
		m.known.removed[p.id] = false
	}
	return p.id
}

// search observes the files that no pattern matches, and copies of lost files.
func (m *modelReader) search() {
	m.known.beginSearch()
	for _, c := range m.view().unread(".", true, func(e entry) bool { return m.matches(e.path) || m.skipped[e.id] == e.version() }) {
		m.admitEntry(c.entry, *c)
	}
}

func (m *modelReader) stop(f *modelFile) {
	if f.handle != nil {
		_ = f.handle.Close()
	}
	delete(m.files, f.p.id)
	m.known.add(f.p)
}

// observe handles a file found at a path.
func (m *modelReader) observe(e entry, c candidate) {
	f := m.files[e.id]
	if f != nil && f.handle == nil && f.path != e.path {
		if !f.p.distinguishing() || !m.view().dirs.isAt(f.p, e) {
			m.stop(f)
			f = nil
		}
	}
	if f != nil {
		f.path, f.gone = e.path, false
		return
	}
	if at, ok := m.skipped[e.id]; ok && at == e.version() {
		return
	}
	m.admitEntry(e, c)
}

// admitEntry identifies a file that is not being read.
func (m *modelReader) admitEntry(e entry, c candidate) {
	if m.known.isLive(e.id) {
		return
	}
	r, e, err := m.disk.open(e.path)
	if err != nil {
		m.t.Fatal(err)
	}
	c.entry, c.content, c.resolved, c.deferred = e, r, e.path, m.deferred[e.path]
	defer func() { c.close() }()
	switch v := m.admit(&c); {
	case c.copyOnly && v != resumeCopy:
		return
	case v == wait:
		if m.deferred[e.path].IsZero() {
			m.deferred[e.path] = time.Unix(0, m.disk.clock)
		}
		return
	case v == skip, v == markCopy:
		m.skipped[e.id] = e.version()
	}
	delete(m.deferred, e.path)
}

// open opens a new file at once if a pattern matches it, as the watcher does.
func (m *modelReader) open(path string) {
	if r, e, err := m.disk.open(path); err == nil && m.matches(path) {
		m.opened = append(m.opened, &candidate{entry: e, content: r, resolved: path})
	} else if err == nil {
		_ = r.Close()
	}
}

// poll observes all files and reads them to their end.
func (m *modelReader) poll() {
	opened := m.opened
	m.opened = nil
	for _, c := range opened {
		if c.deferred = m.deferred[c.path]; !m.known.isLive(c.id) && m.admit(c) == wait && c.deferred.IsZero() {
			m.deferred[c.path] = time.Unix(0, m.disk.clock)
		}
		c.close()
	}
	entries, _ := m.disk.readDir(".")
	present := make(map[fileID]bool)
	var unknown []entry
	for _, e := range entries {
		if !m.matches(e.path) || present[e.id] {
			continue
		}
		present[e.id] = true
		if m.known.byID[e.id] != nil {
			m.observe(e, candidate{discovery: discovery{knownOnly: true}})
		}
		if _, undecided := m.deferred[e.path]; undecided || m.known.byID[e.id] == nil {
			unknown = append(unknown, e)
		}
	}
	slices.SortStableFunc(unknown, func(a, b entry) int { return len(a.path) - len(b.path) })
	for _, e := range unknown {
		m.observe(e, candidate{})
	}
	for id, f := range m.files {
		f.gone = f.gone || !present[id]
	}
	m.search()
	for again := true; again; {
		again = false
		for _, f := range m.inOrder() {
			again = m.read(f) || again
		}
	}
	for path := range m.deferred {
		if m.disk.files[path] == nil {
			delete(m.deferred, path)
		}
	}
	for _, id := range m.known.searched() {
		if len(m.deferred) == 0 {
			m.known.remove(id)
		}
	}
	m.starting = false
}

// inOrder are the files that are being read, in an order that is the same in every run of a seed.
func (m *modelReader) inOrder() []*modelFile {
	return slices.SortedFunc(maps.Values(m.files), func(a, b *modelFile) int {
		return cmp.Or(cmp.Compare(a.p.modified, b.p.modified), cmp.Compare(a.p.id.inode, b.p.id.inode))
	})
}

// read reads a file to its end and reports whether another one is to be read now.
func (m *modelReader) read(f *modelFile) (again bool) {
	if m.files[f.p.id] != f {
		return false
	}
	r, size, err := f.content()
	if errors.Is(err, fs.ErrNotExist) {
		f.gone = true
		if e, found, _ := m.view().dirs.find(f.p); found && e.path != f.path && f.p.distinguishing() {
			f.path = e.path
			return true
		}
		m.stop(f)
		m.known.removed[f.p.id] = false
		m.search()
		_, left := m.known.past(f.p.id)
		return !left
	}
	if f.p.kind == compressed {
		z, err := unpack(r)
		if err != nil {
			m.t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			m.t.Fatal(err)
		}
		m.lines(f, text)
		head, _ := readHead(r, compressed)
		m.stop(f)
		p := f.p
		p.kind, p.print, p.offset = copied, fingerprintOf(head), size
		m.known.add(p)
		return false
	}
	if unchanged, err := f.p.matchesHead(r); size < f.p.offset || err != nil || !unchanged {
		m.orphan(f.p)
		f.p.offset, f.p.print, f.p.head = 0, fingerprint{}, ""
		m.search()
		again = true
	}
	f.p.modified = f.handle.f.modified
	m.lines(f, f.handle.f.data)
	if f.gone && f.p.offset == size {
		gone := f.handle.f.names == 0
		if m.stop(f); gone {
			m.known.removed[f.p.id] = false
		}
	}
	return again
}

// lines counts the complete lines of a file behind its offset. The fingerprint is of all bytes read.
func (m *modelReader) lines(f *modelFile, text []byte) {
	if head := text[:min(len(text), maxFingerprint)]; len(head) > int(f.p.print.length) {
		f.p.print, f.p.head = fingerprintOf(head), string(head)
	}
	end := int64(bytes.LastIndexByte(text, '\n') + 1)
	if end <= f.p.offset {
		return
	}
	for line := range strings.Lines(string(text[f.p.offset:end])) {
		m.got[line]++
	}
	f.p.offset = end
}

// restart stops and starts the reader: only stored positions remain.
func (m *modelReader) restart() {
	for _, f := range m.inOrder() {
		m.stop(f)
	}
	for _, c := range m.opened {
		c.close()
	}
	m.opened, m.starting, m.skipped, m.deferred = nil, true, make(map[fileID]version), make(map[string]time.Time)
	stored := m.known.byID
	m.known = newCatalog()
	order := func(a, b fileID) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.inode, b.inode))
	}
	for _, id := range slices.SortedFunc(maps.Keys(stored), order) {
		p, err := decodePosition(stored[id].past.encode())
		if err != nil {
			m.t.Fatal(err)
		}
		m.known.add(p)
	}
}
