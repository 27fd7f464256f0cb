package local

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"

	"logstow/store"
)

// pageSize is the number of blobs or prefixes on a page.
const pageSize = 5000

// List implements [store.BlobReader]. Which blobs there are is what the
// directories say; what they are is what the database says of a page at once.
func (b blobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for names, err := range pages(b.walk(ctx, prefix), pageSize) {
			var page []store.Blob
			if err == nil {
				page, err = b.describe(ctx, names)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

// ListPrefixes implements [store.BlobReader].
func (b blobs) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return pages(b.prefixes(ctx, prefix), pageSize)
}

func (b blobs) prefixes(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range b.entries(ctx, prefix) {
			if err == nil && e.dir {
				// Is there a blob at all?
				next, stop := iter.Pull2(b.walk(ctx, e.name))
				var any bool
				_, err, any = next()
				stop()
				if !any {
					continue
				}
			} else if err == nil {
				continue
			}
			if !yield(e.name, err) || err != nil {
				return
			}
		}
	}
}

// pages collects what seq yields in pages of n; an error ends it and comes alone.
func pages[T any](seq iter.Seq2[T, error], n int) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		var page []T
		for v, err := range seq {
			if err != nil {
				yield(nil, err)
				return
			}
			page = append(page, v)
			if len(page) == n {
				if !yield(page, nil) {
					return
				}
				page = nil
			}
		}
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}

// describe says what the named blobs are, in their order, without those that
// were deleted meanwhile.
func (b blobs) describe(ctx context.Context, names []string) ([]store.Blob, error) {
	db, err := b.db.reading(ctx)
	if err != nil {
		db = nil // The database is a cache: the blobs speak for themselves.
	}
	page, missing := b.match(ctx, db, names)
	if err := ended(ctx, "list", names[0]); err != nil {
		return nil, err
	}
	if len(missing) == 0 {
		return page, nil
	}
	adopted, err := b.adoptBlobs(ctx, db, missing)
	if err != nil {
		return nil, err
	}
	page = append(page, adopted...)
	slices.SortFunc(page, func(a, b store.Blob) int { return cmp.Compare(a.Name, b.Name) })
	return page, nil
}

// match finds the rows of names, and the names that have none.
func (b blobs) match(ctx context.Context, q querier, names []string) (page []store.Blob, missing []string) {
	var rows []store.Blob
	if db, ok := q.(*sql.DB); !ok || db != nil {
		rows, _ = readRows(ctx, q, names[0], names[len(names)-1])
	}
	page = make([]store.Blob, 0, len(names))
	for _, name := range names {
		for len(rows) > 0 && rows[0].Name < name {
			rows = rows[1:]
		}
		if len(rows) > 0 && rows[0].Name == name && rows[0].Metadata != nil {
			page = append(page, rows[0])
		} else {
			missing = append(missing, name)
		}
	}
	return page, missing
}

// adoptBlobs finds out about blobs without a row. Those of writers at work have
// one as soon as their transaction ends; the others' is written from what the
// blob says, where this process may write.
func (b blobs) adoptBlobs(ctx context.Context, db *sql.DB, names []string) ([]store.Blob, error) {
	var page []store.Blob
	if db != nil {
		// Under the lock no writer is between file and row. Without permission to
		// lock, the blobs are asked at once.
		_ = b.db.change(ctx, db, func(tx *sql.Tx) error {
			page, names = b.match(ctx, tx, names)
			return nil
		})
	}
	adopted := make(map[string]fs.FileInfo, len(names))
	for _, name := range names {
		blob, info, err := b.adoptBlob(ctx, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, classify(ctx, "list", name, err)
		case len(blob.Metadata) > 0:
			// What speaks for itself is whole; another file may still be growing.
			adopted[name] = info
		}
		page = append(page, blob)
	}
	if db != nil && len(adopted) > 0 {
		b.remember(ctx, db, page, adopted)
	}
	return page, nil
}

func (b blobs) adoptBlob(ctx context.Context, name string) (store.Blob, fs.FileInfo, error) {
	if err := ended(ctx, "list", name); err != nil {
		return store.Blob{}, nil, err
	}
	// The name comes from a listing, so that it has no ".." in it.
	path := b.dir + "/" + name
	info, err := os.Lstat(path)
	if err != nil {
		return store.Blob{}, nil, err
	}
	written := info.ModTime()
	blob := store.Blob{
		Name: name, Size: info.Size(), Created: written.UTC(),
		ETag: etag(written.UnixNano(), info.Size()),
	}
	if b.adopt == nil {
		return blob, info, nil
	}
	read := func(ctx context.Context, off, n int64) ([]byte, error) {
		if err := ended(ctx, "read", name); err != nil {
			return nil, err
		}
		data, err := readRange(path, off, n)
		return data, classify(ctx, "read", name, err)
	}
	metadata, err := b.adopt(ctx, name, info.Size(), read)
	if err != nil {
		metadata = nil
		if err := ended(ctx, "list", name); err != nil {
			return store.Blob{}, nil, err
		}
	}
	blob.Metadata = metadata
	return blob, info, nil
}

// remember writes rows for adopted blobs, so that they need not be asked again.
// That it can not, or that they were deleted or got a row meanwhile, is no matter.
func (b blobs) remember(ctx context.Context, db *sql.DB, page []store.Blob, adopted map[string]fs.FileInfo) {
	_ = b.db.change(ctx, db, func(tx *sql.Tx) error {
		for _, blob := range page {
			info, ok := adopted[blob.Name]
			if !ok {
				continue
			}
			if now, err := os.Lstat(b.dir + "/" + blob.Name); err != nil || !os.SameFile(info, now) {
				continue
			}
			_, err := tx.ExecContext(ctx,
				"INSERT INTO blobs (name, size, written, metadata) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
				blob.Name, blob.Size, blob.Created.UnixNano(), encodeMetadata(blob.Metadata))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
