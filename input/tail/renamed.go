package tail

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"logstow/buffer"
)

const (
	// cleanInterval is how often positions of files that are gone are looked for.
	cleanInterval = time.Hour
	// keepGone is how long the position of a file that is not found any more is
	// kept after it was last written down: its directory may come back.
	keepGone = 3 * 24 * time.Hour
)

// renamed finds the files, other than those present, that were being read under
// a name of our patterns and now have another one, oldest first. Positions of files that
// are gone for long are forgotten on the way.
func (t *Tailer) renamed(ctx context.Context, present map[fileID]bool) ([]found, error) {
	dirs := make(directories)
	var files []found
	var gone []buffer.Position
	for _, kept := range t.opts.Sink.Positions(fileInput) {
		p, err := decodePosition(kept.Value)
		if err != nil || present[p.id] {
			continue
		}
		path, info, sure := dirs.find(p)
		switch {
		case info == nil:
			if sure && t.opts.Now().Sub(time.Unix(p.at, 0)) >= keepGone {
				gone = append(gone, buffer.Position{Input: kept.Input})
			}
		case !info.Mode().IsRegular() || path == p.path && t.matches(path): // the patterns find it by themselves
		case t.matches(p.path) && t.unread(p, path, info):
			files = append(files, found{path, p.source, info})
		}
	}
	slices.SortFunc(files, func(a, b found) int {
		return cmp.Or(a.info.ModTime().Compare(b.info.ModTime()), cmp.Compare(a.path, b.path))
	})
	return files, t.forget(ctx, gone)
}

// unread reports whether the file found by its inode is the one that p is of,
// and has or may soon have something that was not read.
func (t *Tailer) unread(p position, path string, info fs.FileInfo) bool {
	if info.Size() == p.offset && t.opts.Now().Sub(info.ModTime()) > t.opts.RotateWait {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		t.complain(path, explain(err))
		return false
	}
	defer func() { _ = f.Close() }()
	_, same := p.resume(f, info.Size())
	return same
}

func (t *Tailer) matches(path string) bool {
	return slices.ContainsFunc(t.patterns, func(p pattern) bool { return p.names(path) })
}

// forgetRemoved forgets a file that has no name anywhere any more.
func (t *Tailer) forgetRemoved(ctx context.Context, f *file) error {
	info, err := f.f.Stat()
	if err != nil || !removed(info) {
		return nil //nolint:nilerr // the position is kept for now
	}
	return t.forget(ctx, []buffer.Position{{Input: f.id.input()}})
}

func (t *Tailer) forget(ctx context.Context, gone []buffer.Position) error {
	if len(gone) == 0 {
		return nil
	}
	_, err := t.opts.Sink.Append(ctx, buffer.Chunk{Positions: gone})
	return err
}

// directories are the files of directories that were looked into, by identity.
// One that could not be is nil.
type directories map[string]map[fileID]string

// find looks for the file of a position: under its name, then in the directory of
// that name and in the one that a link of that name leads into. Without info it
// was not found; sure says that it is not there.
func (d directories) find(p position) (path string, info fs.FileInfo, sure bool) {
	if info, err := os.Stat(p.path); err == nil && idOf(p.path, info) == p.id {
		return p.path, info, true
	}
	dirs := []string{filepath.Dir(p.path)}
	if target, err := filepath.EvalSymlinks(p.path); err == nil && filepath.Dir(target) != dirs[0] {
		dirs = append(dirs, filepath.Dir(target))
	}
	sure = true
	for _, dir := range dirs {
		files := d.read(dir)
		sure = sure && files != nil
		if name, ok := files[p.id]; ok {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && idOf(path, info) == p.id {
				return path, info, true
			}
			return "", nil, false // it is just being renamed
		}
	}
	return "", nil, sure
}

func (d directories) read(dir string) map[fileID]string {
	files, ok := d[dir]
	if ok {
		return files
	}
	entries, err := os.ReadDir(dir)
	if err == nil {
		files = make(map[fileID]string, len(entries))
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				files[idOf(filepath.Join(dir, e.Name()), info)] = e.Name()
			}
		}
	}
	d[dir] = files
	return files
}
