package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	ucli "github.com/urfave/cli/v2"

	"logstow/filestore"
	"logstow/internal/cli"
	"logstow/internal/decompress"
	"logstow/internal/hint"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/explain"
	"logstow/store"
)

// ofFiles reports whether files are read and no stores; then the range is everything if none is given.
func ofFiles(c *ucli.Context) bool { return len(cli.List(c, "file")) > 0 }

// checkFiles reports a file that is given twice.
func (r *request) checkFiles() error {
	files := cli.List(r.c, "file")
	for i, name := range files {
		if slices.Contains(files[:i], name) {
			return cli.Usagef("--file %s is given twice", name)
		}
	}
	return nil
}

// everything is the range of all records.
func everything() (from, to time.Time) {
	return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
}

// filesName is the name of the store of files.
const filesName = "files"

// fileOptions are the settings for reading files. --parse and --tz must be valid.
func (e *environment) fileOptions(c *ucli.Context) filestore.Options {
	parser, _ := fieldParser(c)
	zone, _, _ := zoneOf(c)
	return filestore.Options{Zone: zone, Parser: parser, Now: e.now, TempDir: e.tempDir}
}

// filesOf is a store of files.
func filesOf(all *filestore.Store) query.Store {
	return query.Store{Name: filesName, Blobs: all, Compacted: store.NoBlobs(filesName), Tables: all, Free: true}
}

// openFiles reads files into a store. If a file cannot be read to its end, the store has a problem.
func (e *environment) openFiles(ctx context.Context, c *ucli.Context) (stores []query.Store, closeAll func() error, err error) {
	all, err := filestore.New(e.fileOptions(c))
	if err != nil {
		return nil, nil, err
	}
	files := filesOf(all)
	for _, path := range expandGlobs(cli.List(c, "file")) {
		err := e.readFile(ctx, all, path)
		problem := fileProblem(path, err)
		switch {
		case ctx.Err() != nil:
			return nil, nil, errors.Join(context.Cause(ctx), all.Close())
		case problem != nil:
			files.Problems = append(files.Problems, problem)
		case err != nil:
			return nil, nil, errors.Join(err, all.Close())
		}
	}
	for _, note := range all.Notes() {
		e.printf("%s", note)
	}
	return []query.Store{files}, all.Close, nil
}

// fileProblem is the problem of a file that cannot be read, or not to its end; nil if err is no error of a file.
func fileProblem(path string, err error) *query.Problem {
	var readErr *filestore.ReadError
	var pathErr *fs.PathError
	switch {
	case errors.As(err, &readErr) && errors.Is(err, decompress.ErrUnsupported):
		return &query.Problem{Store: filesName, Object: "cannot read " + path, Err: readErr.Err}
	case errors.As(err, &readErr):
		return &query.Problem{Store: filesName, Object: "cannot read " + path + " to its end", Err: withHint(readErr.Err)}
	case errors.As(err, &pathErr) && pathErr.Path == path: // others are of temporary files
		return &query.Problem{Store: filesName, Object: "cannot read " + path, Err: withHint(pathErr.Err)}
	}
	return nil
}

// expandGlobs replaces each path at which no file exists by the regular files that match it as a glob, as the shipper does, in the
// order of their names. It removes paths of the same file, such as those of symbolic links.
func expandGlobs(paths []string) (files []string) {
	known := map[string]bool{}
	for _, path := range paths {
		found := []string{path}
		if _, err := os.Lstat(path); path != "-" && errors.Is(err, fs.ErrNotExist) {
			if matches := matching(path); len(matches) > 0 {
				found = matches
			}
		}
		for _, file := range found {
			real := file
			if resolved, err := filepath.EvalSymlinks(file); err == nil && file != "-" {
				real, _ = filepath.Abs(resolved)
			}
			if !known[real] {
				known[real] = true
				files = append(files, file)
			}
		}
	}
	return files
}

// matching returns the files that match a glob, without loops of symbolic links, pipes and devices, whose end may never come.
func matching(glob string) []string {
	files, _ := doublestar.FilepathGlob(glob, doublestar.WithFilesOnly()) // what no glob matches is a path
	slices.Sort(files)
	return slices.DeleteFunc(files, func(file string) bool {
		info, err := os.Stat(file)
		return errors.Is(err, syscall.ELOOP) || err == nil && !info.Mode().IsRegular()
	})
}

// withHint adds what to do about the cause of a problem with a file, if that is known.
func withHint(err error) error {
	switch {
	case errors.Is(err, syscall.EISDIR):
		return hint.Wrap(err, "give the files in it")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return hint.Wrap(err, "the compressed file is damaged or incomplete; the records before the damage were read")
	}
	return err
}

// readFile adds the records of a file; - is standard input.
func (e *environment) readFile(ctx context.Context, to *filestore.Store, path string) (err error) {
	in := e.stdin
	name, now := path, e.now()
	ref, size := now, int64(0)
	if path == "-" {
		name = "stdin"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // it was only read
		info, err := f.Stat()
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
		case info.ModTime().Before(now):
			ref = info.ModTime()
		}
		in, size = f, info.Size()
	}
	read := &countingReader{r: in}
	stop := e.line.Start(func() string {
		if n := read.n.Load(); n < size {
			return path + ": " + bytesBar(n, size)
		}
		return path + ": " + units.FormatSize(read.n.Load())
	})
	defer stop()
	return to.Add(ctx, name, read, ref)
}

// fileReasons adapts the reasons for an empty result to files. The shell expands --file *.log to one file and patterns,
// so a pattern that is the name of a file is probably a mistake.
func fileReasons(reasons []query.Reason, patterns []string) []query.Reason {
	reasons = slices.DeleteFunc(reasons, func(r query.Reason) bool { return r.Code == "service-name" })
	ofService := func(f explain.Fix) bool { return f.Kind == explain.FixSelectService }
	for i, r := range reasons {
		if slices.ContainsFunc(r.Corrections, func(c explain.Correction) bool { return slices.ContainsFunc(c, ofService) }) {
			reasons[i].Text, reasons[i].Corrections = "a condition on the service was searched as text; files have no services", nil
		}
	}
	for i := range reasons {
		if reasons[i].Code == explain.StoreEmpty().Code {
			reasons[i].Text = "the files contain no lines"
		}
	}
	for _, p := range patterns {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			name := query.Reason{Code: "file-name", Text: fmt.Sprintf("%q is a pattern here, and a file: each file needs its own --file, or quote a glob: --file '*.log'",
				p)}
			return slices.Insert(reasons, 0, name)
		}
	}
	return reasons
}

// countingReader counts what is read of a file.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
