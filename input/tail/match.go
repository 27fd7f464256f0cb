package tail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// pattern is a file or a glob, as given.
type pattern struct {
	text string
	// base is the directory below which files are looked for, rest what is
	// looked for there; rest is "" where text is a file.
	base, rest string
}

// found is a file that a pattern names.
type found struct {
	path string
	// source is the path below the pattern's fixed part.
	source string
	info   fs.FileInfo
}

// parsePattern reads a file name or a glob. A name with wildcards in it that
// exists as written is a file, as in a shell.
func parsePattern(text string) (pattern, error) {
	p := pattern{text: text, base: text}
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

// find returns the files that p names now, in the order of their names. What
// could not be looked at is an error beside those that were found.
func (p pattern) find() ([]found, error) {
	if p.rest == "" {
		info, err := os.Stat(p.text)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			return nil, fmt.Errorf("%s is a directory: name its files, for example %s", p.text, filepath.Join(p.text, "**", "*.log"))
		}
		return []found{{p.text, filepath.Base(p.text), info}}, nil
	}
	// Files may be reached through links to directories, but ** follows none: they may form a circle.
	opts := []doublestar.GlobOption{doublestar.WithFilesOnly()}
	if strings.Contains(p.rest, "**") {
		opts = append(opts, doublestar.WithNoFollow())
	}
	dir := &watchedFS{FS: os.DirFS(p.base), base: p.base}
	names, err := doublestar.Glob(dir, p.rest, opts...)
	errs := append(dir.errs, err)
	var files []found
	for _, name := range names {
		full := filepath.Join(p.base, filepath.FromSlash(name))
		info, err := os.Stat(full)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, err)
		case !info.IsDir():
			files = append(files, found{full, path.Clean(name), info})
		}
	}
	return files, errors.Join(errs...)
}

// watchedFS remembers which directories could not be read; a glob by itself
// passes over them in silence.
type watchedFS struct {
	fs.FS
	base string
	errs []error
}

// ReadDir implements [fs.ReadDirFS].
func (w *watchedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.errs = append(w.errs, w.named(err))
	}
	return entries, err
}

// Stat implements [fs.StatFS].
func (w *watchedFS) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(w.FS, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.errs = append(w.errs, w.named(err))
	}
	return info, err
}

// named puts the whole path into an error.
func (w *watchedFS) named(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: filepath.Join(w.base, filepath.FromSlash(p.Path)), Err: p.Err}
	}
	return err
}
