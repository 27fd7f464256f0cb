package tail

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"logstow/internal/hint"
)

// pattern is a path or a glob.
type pattern struct {
	text string
	// base is the fixed directory of a glob, rest the glob below it; rest is "" if
	// text is a path.
	base, rest string
	// absolute is the absolute form of text.
	absolute string
	// firstScan is the time of the first scan in Unix nanoseconds: 0 if it is unknown, the maximum if
	// there was none. isNew reports that no earlier run scanned the pattern.
	firstScan int64
	isNew     bool
}

// parsePattern parses a path or a glob. A path with wildcards that exists as written
// is a path, as in a shell.
func parsePattern(text string) (*pattern, error) {
	absolute, err := filepath.Abs(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	p := &pattern{text: text, base: text, absolute: absolute, firstScan: math.MaxInt64}
	slashed := filepath.ToSlash(text)
	if !strings.ContainsAny(slashed, `*?[{`) {
		return p, nil
	}
	if _, err := os.Lstat(text); err == nil {
		return p, nil
	}
	if !doublestar.ValidatePattern(slashed) {
		return p, fmt.Errorf("%q is not a valid pattern: a bracket or brace is not closed", text)
	}
	p.base, p.rest = doublestar.SplitPattern(slashed)
	return p, nil
}

// matches reports whether p matches an absolute path.
func (p *pattern) matches(path string) bool {
	if p.rest == "" {
		return path == p.absolute
	}
	ok, err := doublestar.PathMatch(p.absolute, path)
	return ok && err == nil
}

// sourceOf returns the source of the records of a file that p matches.
func (p *pattern) sourceOf(path string) string {
	if p.rest != "" {
		if below, err := filepath.Rel(absolute(p.base), path); err == nil {
			return filepath.ToSlash(below)
		}
	}
	return filepath.Base(path)
}

// find returns the files that p matches now, in the order of their names, and the
// errors of what cannot be read. It calls dirs for each directory that it read.
func (p *pattern) find(dirs func(string)) ([]*candidate, []error) {
	if p.rest == "" {
		info, err := os.Stat(p.text)
		if err != nil {
			return nil, []error{explain(err)}
		}
		if info.IsDir() {
			return nil, []error{fmt.Errorf("%s is a directory: give its files, for example %s", p.text,
				filepath.Join(p.text, "**", "*.log"))}
		}
		return []*candidate{{entry: newEntry(p.absolute, info), source: filepath.Base(p.text), configuredPath: p.text}}, nil
	}
	// Globs follow links to directories, except **: links may form a cycle.
	opts := []doublestar.GlobOption{doublestar.WithFilesOnly()}
	if strings.Contains(p.rest, "**") {
		opts = append(opts, doublestar.WithNoFollow())
	}
	dir := &recordingFS{FS: os.DirFS(p.base), base: absolute(p.base), dirs: dirs, errs: make(map[string]error)}
	names, err := doublestar.Glob(dir, p.rest, opts...)
	if err != nil {
		return nil, []error{fmt.Errorf("cannot evaluate glob %s: %w", p.text, err)}
	}
	slices.Sort(names)
	var files []*candidate
	for _, name := range names {
		full := filepath.Join(dir.base, filepath.FromSlash(name))
		info, err := os.Stat(full)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			dir.note(name, err)
		case !info.IsDir():
			configured := filepath.Join(p.base, filepath.FromSlash(name))
			files = append(files, &candidate{entry: newEntry(full, info), source: path.Clean(name), configuredPath: configured})
		}
	}
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(dir.errs)) {
		errs = append(errs, dir.errs[path])
	}
	return files, errs
}

// recordingFS records the directories that a glob reads, and the errors, which the glob ignores.
type recordingFS struct {
	fs.FS
	base string
	dirs func(string)
	errs map[string]error
}

// ReadDir implements [fs.ReadDirFS].
func (w *recordingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, name)
	w.note(name, err)
	if err == nil {
		w.dirs(filepath.Join(w.base, filepath.FromSlash(name)))
	}
	return entries, err
}

// Stat implements [fs.StatFS].
func (w *recordingFS) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(w.FS, name)
	w.note(name, err)
	return info, err
}

// note records an error by its path, except that of a path that does not exist.
func (w *recordingFS) note(name string, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	full := filepath.Join(w.base, filepath.FromSlash(name))
	var p *fs.PathError
	if errors.As(err, &p) {
		err = &fs.PathError{Op: p.Op, Path: full, Err: p.Err}
	}
	w.errs[full] = explain(err)
}

// absolute returns the absolute form of a path.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path // the working directory was deleted
}

// explain names the file in an error of the file system, and adds a hint.
func explain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = fmt.Errorf("cannot read %s: %w", p.Path, p.Err)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return hint.Wrap(err, "give the user that runs shipper read access")
	case errors.Is(err, fs.ErrNotExist):
		return hint.Wrap(err, "check the name of the file")
	}
	return err
}

// joinErrors joins errors without duplicates.
func joinErrors(errs []error) error {
	seen := make(map[string]bool)
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		duplicate := seen[err.Error()]
		seen[err.Error()] = true
		return duplicate
	})...)
}
