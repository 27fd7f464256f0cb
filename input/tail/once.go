package tail

import (
	"context"
	"fmt"
	"maps"
	"time"

	"logstow/input"
)

// readAll reads all files to their end, in the order of the patterns and of the file names.
func (t *Tailer) readAll(ctx context.Context) error {
	t.starting = true
	t.loadPositions()
	var failed []error
	var all []found
	present := make(map[fileID]bool)
	for _, p := range t.patterns {
		files, errs := t.find(p, func(string) {})
		if len(files)+len(errs) == 0 {
			errs = append(errs, noMatch(p))
		}
		failed = append(failed, errs...)
		for _, found := range files {
			if id := idOf(found.path, found.info); !present[id] {
				present[id] = true
				all = append(all, found)
			}
		}
	}
	t.findRenamed(true)
	read := func(f *file) error {
		fileErr, err := t.readWhole(ctx, f)
		if fileErr != nil {
			failed = append(failed, explain(fileErr))
		}
		return err
	}
	if err := t.flush(ctx); err != nil {
		return err
	}
	for _, f := range inOrder(maps.Values(t.files)) {
		if err := read(f); err != nil {
			return err
		}
	}
	for _, found := range all {
		f, decided, err := t.admit(found, nil, &candidate{discovery: discovery{fromEnd: t.opts.FromEnd, includeCompressed: true}})
		if err := t.flush(ctx); err != nil {
			return err
		}
		switch {
		case err != nil:
			failed = append(failed, explain(err))
		case !decided:
			failed = append(failed, fmt.Errorf("cannot decompress %s: unexpected end of file: it is damaged or incomplete", found.path))
		case f != nil:
			if t.opts.FromEnd { // otherwise the next run would not know the file
				t.pendingPositions = append(t.pendingPositions, f.positions(f.source.Point())...)
			}
			if err := read(f); err != nil {
				return err
			}
		}
	}
	t.forgetRemoved()
	if err := t.flush(ctx); err != nil {
		return err
	}
	return joined(failed)
}

// readWhole reads one file to its end. fileErr is an error of the file, err one that ends the run.
func (t *Tailer) readWhole(ctx context.Context, f *file) (fileErr, err error) {
	defer t.stop(f)
	if err := f.open(); err != nil {
		return err, nil
	}
	if f.regular && f.source.Offset() > 0 {
		t.opts.Log.Info("resuming at the position of an earlier run", "file", f.path, "offset", f.source.Offset())
	}
	if !f.regular { // reading a pipe may wait
		stop := context.AfterFunc(ctx, func() { _ = f.handle.SetReadDeadline(time.Now()) })
		defer stop()
	}
	fileErr, err = f.readToEnd(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil || fileErr != nil {
		return fileErr, err
	}
	if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
		return nil, err
	}
	if p, ok := copyPosition(f, f.handle); ok && f.kind == compressed {
		t.pendingPositions = append(t.pendingPositions, t.encoded(p))
	}
	return nil, nil
}

// readToEnd reads to the end. fileErr is an error of the file, err one that ends the run.
func (f *file) readToEnd(ctx context.Context) (fileErr, err error) {
	switch {
	case !f.regular:
		return f.read(ctx, f.handle)
	case f.kind == plain:
		return f.read(ctx, &section{f, f.source.Offset(), 1 << 62})
	}
	for more := true; more && fileErr == nil && err == nil; {
		more, fileErr, err = f.readCompressed(ctx, readQuota)
	}
	return fileErr, err
}

// source returns the source of a file's records, starting at a point.
func (t *Tailer) source(f *file, at input.Point) *input.Source {
	if !f.regular {
		return t.feed.Resume(f.name, at, nil).Of(f.service)
	}
	return t.feed.Resume(f.name, at, f.positions).Of(f.service)
}
