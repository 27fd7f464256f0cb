package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"logstow/catalog"
	"logstow/internal/parallel"
	"logstow/internal/retry"
	"logstow/internal/tempfile"
	"logstow/layout"
	"logstow/store"
)

const (
	// firstRead is how much of a blob is read ahead, laterRead the size of the reads behind that.
	firstRead = 1 << 20
	laterRead = 4 << 20
	// readAhead is the maximum number of blobs whose start is read ahead.
	readAhead = 16
	// maxVersions is how often a blob is read that is rewritten meanwhile.
	maxVersions = 5
)

// errRewritten is the error of a blob that is rewritten again and again.
var errRewritten = errors.New("it is rewritten faster than it can be read")

// Visit is what is called while blobs are read. The functions may be nil.
type Visit struct {
	// Begin is called before a blob is read.
	Begin func(b *layout.Blob)
	// End is called behind it. Gone is set if the blob was deleted; err is a [ReadError] of what cannot be read, or nil. An error of End
	// ends reading.
	End func(b *layout.Blob, gone bool, err error) error
	// Keep reports whether the text behind the last line break of a blob is read; err is the error that ended the text, if any. Of
	// requests of OpenTelemetry only complete ones are read anyway.
	Keep func(b *layout.Blob, text []byte, err error) bool
}

// ReadAll reads blobs in their order, and the starts of those that follow meanwhile. Now is the clock, tempDir the directory of temporary
// files, "" the system's. It returns the first error that is not of a blob.
func (r *Reader) ReadAll(ctx context.Context, from store.BlobReader, found []layout.Blob, now func() time.Time, tempDir string, v Visit) error {
	f := &fetcher{blobs: from, tempDir: tempDir, policy: retry.Jobs()}
	r.keep = v.Keep
	return f.each(ctx, found, func(one *fetched) error {
		if v.Begin != nil {
			v.Begin(one.blob)
		}
		err := error(nil)
		if !one.gone {
			err = r.readOne(ctx, f, one, now())
		}
		var readErr *ReadError
		if err != nil && (!errors.As(err, &readErr) || ctx.Err() != nil) || v.End == nil {
			return err
		}
		return v.End(one.blob, one.gone, err)
	})
}

// readOne reads a blob that was fetched.
func (r *Reader) readOne(ctx context.Context, f *fetcher, one *fetched, now time.Time) error {
	if one.err != nil {
		return &ReadError{one.err}
	}
	body, done, err := f.open(ctx, one)
	if err != nil {
		return &ReadError{err}
	}
	defer done()
	return r.Read(ctx, one.blob, body, now)
}

// fetcher reads blobs.
type fetcher struct {
	blobs   store.BlobReader
	tempDir string
	policy  retry.Policy
}

// fetched is a blob and its first bytes, or why it cannot be read. A blob that was deleted has gone set.
type fetched struct {
	blob *layout.Blob
	head []byte
	gone bool
	err  error
}

// each calls f with blobs, in their order. The starts of those that follow are read meanwhile. It returns the first error of f.
func (f *fetcher) each(ctx context.Context, all []layout.Blob, each func(*fetched) error) error {
	pointers := func(yield func(*layout.Blob) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
	w := parallel.Window{First: readAhead, Max: readAhead, Bytes: 1}
	for one := range parallel.Ordered(ctx, w, pointers, func(*layout.Blob) int64 { return 0 }, f.start) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := each(one); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// start reads the first bytes of a blob.
func (f *fetcher) start(ctx context.Context, b *layout.Blob) *fetched {
	one := &fetched{blob: b}
	for range maxVersions {
		one.head, one.err = f.read(ctx, b, 0, min(b.Size, firstRead))
		if !errors.Is(one.err, store.ErrNotFound) {
			return one
		}
		var ok bool
		if ok, one.err = f.renew(ctx, b); !ok {
			one.gone = one.err == nil
			return one
		}
	}
	one.err = errRewritten
	return one
}

// read reads a part of a blob. Of one that does not grow, it is of the listed version.
func (f *fetcher) read(ctx context.Context, b *layout.Blob, off, n int64) (data []byte, err error) {
	if n == 0 {
		return nil, nil
	}
	ref := store.BlobRef{Name: b.Name}
	if !b.Grows {
		ref.ETag = b.ETag
	}
	return f.policy.Range(f.blobs, ref)(ctx, off, n)
}

// renew lists a blob again; not ok if it was deleted, or if that is unknown because of an error.
func (f *fetcher) renew(ctx context.Context, b *layout.Blob) (ok bool, err error) {
	err = f.policy.Do(ctx, func() error {
		found, exists, err := catalog.Lookup(ctx, f.blobs, b.Name)
		if ok = exists; ok {
			b.Blob = found
		}
		return err
	})
	return ok, err
}

// open returns the text of a blob as it is stored. The caller must call done.
func (f *fetcher) open(ctx context.Context, one *fetched) (r io.Reader, done func(), err error) {
	if one.blob.Grows || int64(len(one.head)) >= one.blob.Size {
		return io.MultiReader(bytes.NewReader(one.head),
			&rest{ctx: ctx, fetcher: f, blob: one.blob, at: int64(len(one.head))}), func() {}, nil
	}
	file, err := tempfile.Create(f.tempDir)
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = tempfile.Remove(file) } // it was only read
	for range maxVersions {
		if _, err = file.Seek(0, io.SeekStart); err == nil {
			err = file.Truncate(0)
		}
		if err != nil {
			break
		}
		_, err = io.Copy(file,
			io.MultiReader(bytes.NewReader(one.head), &rest{ctx: ctx, fetcher: f, blob: one.blob, at: int64(len(one.head))}))
		if err == nil {
			_, err = file.Seek(0, io.SeekStart)
			if err == nil {
				return file, done, nil
			}
		}
		if !errors.Is(err, store.ErrNotFound) {
			break
		}
		if ok, failed := f.renew(ctx, one.blob); !ok {
			err = cmp.Or(failed, err)
			break
		}
		one.head, err = nil, errRewritten
	}
	done()
	return nil, nil, fmt.Errorf("read %s: %w", one.blob.Name, err)
}

// rest reads a blob from an offset on.
type rest struct {
	ctx     context.Context
	fetcher *fetcher
	blob    *layout.Blob
	at      int64
	data    []byte
}

// Read implements [io.Reader].
func (r *rest) Read(p []byte) (n int, err error) {
	if len(r.data) == 0 {
		size := min(laterRead, r.blob.Size-r.at)
		if size <= 0 {
			return 0, io.EOF
		}
		if r.data, err = r.fetcher.read(r.ctx, r.blob, r.at, size); err != nil {
			return 0, err
		}
		r.at += size
	}
	n = copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}
