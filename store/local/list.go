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

// List implements [store.BlobReader]. The directories determine which blobs exist; the database
// provides their properties, a page at a time.
func (b blobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	prefix = b.root + prefix
	return func(yield func([]store.Blob, error) bool) {
		var names []string
		after := ""
		list := func(to string) bool {
			page, err := b.page(ctx, prefix, span{after, to}, names)
			if err != nil {
				yield(nil, err)
				return false
			}
			names, after = names[:0], to
			for i := range page {
				page[i].Name = page[i].Name[len(b.root):]
			}
			for part := range slices.Chunk(page, pageSize) {
				if !yield(part, nil) {
					return false
				}
			}
			return true
		}
		for name, err := range b.walk(ctx, prefix, span{}) {
			if err != nil {
				yield(nil, err)
				return
			}
			names = append(names, name)
			if len(names) == pageSize && !list(name) {
				return
			}
		}
		list("")
	}
}

// page returns the blobs of a span. names are those that the first walk found. After describing these it
// walks the directories of the span again: the first walk takes time, and may have missed blobs that were
// created behind it before others were deleted ahead of it. After the second walk, a deleted blob is
// missing only if all blobs that were created before its deletion are listed.
func (b blobs) page(ctx context.Context, prefix string, in span, names []string) ([]store.Blob, error) {
	page, err := b.describe(ctx, names)
	if err != nil {
		return nil, err
	}
	var created []string
	for name, err := range b.walk(ctx, prefix, in) {
		if err != nil {
			return nil, err
		}
		if _, known := slices.BinarySearch(names, name); !known {
			created = append(created, name)
		}
	}
	more, err := b.describe(ctx, created)
	if err != nil || len(more) == 0 {
		return page, err
	}
	page = append(page, more...)
	sortByName(page)
	return page, nil
}

func sortByName(page []store.Blob) {
	slices.SortFunc(page, func(a, b store.Blob) int { return cmp.Compare(a.Name, b.Name) })
}

// ListPrefixes implements [store.BlobReader].
func (b blobs) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return pages(b.prefixes(ctx, b.root+prefix), pageSize)
}

func (b blobs) prefixes(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for e, err := range b.entries(ctx, prefix) {
			found := e.dir
			if found {
				found, err = b.holdsBlob(ctx, e.name)
			}
			if err != nil {
				yield("", err)
				return
			}
			if found && !yield(e.name[len(b.root):], nil) {
				return
			}
		}
	}
}

// holdsBlob reports whether any blob's name starts with prefix.
func (b blobs) holdsBlob(ctx context.Context, prefix string) (found bool, err error) {
	for _, err := range b.walk(ctx, prefix, span{}) {
		return err == nil, err
	}
	return false, nil
}

// pages collects the items of seq in pages of n; an error ends it and is yielded alone.
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

// describe returns the properties of the named blobs, in their order, without blobs deleted
// meanwhile.
func (b blobs) describe(ctx context.Context, names []string) ([]store.Blob, error) {
	if len(names) == 0 {
		return nil, nil
	}
	db, err := b.db.reading(ctx)
	page, unknown, rowsErr := matchRows(ctx, db, names)
	if err = errors.Join(err, rowsErr); err != nil {
		b.db.ignored(ctx, err)
		db = nil // The database is a cache: read the blobs instead.
	}
	if len(unknown) > 0 {
		var settled []store.Blob
		settled, err = b.resolve(ctx, db, unknown)
		page = append(page, settled...)
		sortByName(page)
	} else {
		err = contextError(ctx, "list", names[0])
	}
	if err != nil {
		return nil, err
	}
	return page, nil
}

// resolve determines the properties of blobs that have no row, or a row marked as being deleted. Active
// writers make file and row agree before they release the database's lock. A file that has no row under
// the lock is adopted: it gets a row if this process may write.
func (b blobs) resolve(ctx context.Context, db *sql.DB, unknown []store.Blob) (page []store.Blob, err error) {
	names := make([]string, len(unknown))
	for i, blob := range unknown {
		names[i] = blob.Name
	}
	var orphans []orphan
	locked := errors.New("no database")
	if db != nil {
		locked = b.db.change(ctx, db, func(tx *sql.Tx) (err error) {
			page, orphans, err = b.recheckRows(ctx, tx, names)
			return err
		})
		b.db.ignored(ctx, locked)
	}
	if locked != nil {
		// Without permission to lock, inspect the files without it.
		if page, orphans, err = b.recheckRows(ctx, db, names); err != nil {
			return nil, err
		}
	}
	adopted := orphans[:0]
	for _, o := range orphans {
		switch err := b.adoptBlob(ctx, &o.Blob); {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case len(o.Metadata) > 0:
			// A segment validates itself; any other file may still be growing.
			adopted = append(adopted, o)
		}
		page = append(page, o.Blob)
	}
	if db != nil && len(adopted) > 0 {
		b.insertAdopted(ctx, db, adopted)
	}
	return page, nil
}

// orphan is a blob without a row.
type orphan struct {
	store.Blob
	info fs.FileInfo
}

// recheckRows reads the rows again and inspects the files that have none.
func (b blobs) recheckRows(ctx context.Context, q querier, names []string) (page []store.Blob, orphans []orphan, err error) {
	page, unknown, _ := matchRows(ctx, q, names) // without rows the files are inspected
	for _, row := range unknown {
		if err := contextError(ctx, "list", row.Name); err != nil {
			return nil, nil, err
		}
		info, err := os.Lstat(b.file(row.Name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, classify(ctx, "list", row.Name, err)
		}
		found := newBlob(row.Name, info.Size(), info.ModTime().UnixNano())
		if found.ETag == row.ETag {
			page = append(page, row) // Its deletion has begun and not finished.
		} else {
			orphans = append(orphans, orphan{found, info})
		}
	}
	return page, orphans, nil
}

// matchRows finds the rows of names, which are in order. Names without a row, or with a row marked as being
// deleted, are unknown: unknown has their names, and their rows if there are any. After an error all are
// unknown.
func matchRows(ctx context.Context, q querier, names []string) (page, unknown []store.Blob, err error) {
	rows, err := readRows(ctx, q, names[0], names[len(names)-1])
	if err != nil {
		rows = nil
	}
	page = make([]store.Blob, 0, len(names))
	for _, name := range names {
		for len(rows) > 0 && rows[0].Name < name {
			rows = rows[1:]
		}
		switch {
		case len(rows) == 0 || rows[0].Name != name:
			unknown = append(unknown, store.Blob{Name: name})
		case rows[0].deleting:
			unknown = append(unknown, rows[0].Blob)
		default:
			page = append(page, rows[0].Blob)
		}
	}
	return page, unknown, err
}

// adoptBlob reads a blob's metadata from the blob itself.
func (b blobs) adoptBlob(ctx context.Context, blob *store.Blob) error {
	if err := contextError(ctx, "list", blob.Name); err != nil || b.adopt == nil {
		return err
	}
	read := func(ctx context.Context, off, n int64) ([]byte, error) {
		return b.read(ctx, blob.Name, blob.ETag, off, n)
	}
	metadata, err := b.adopt(ctx, blob.Name[len(b.root):], blob.Size, read)
	if errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err == nil {
		blob.Metadata = metadata
	}
	return contextError(ctx, "list", blob.Name)
}

// insertAdopted writes rows for adopted blobs, so that they need not be read again. Failures are
// ignored, as are blobs that were deleted or got a row meanwhile.
func (b blobs) insertAdopted(ctx context.Context, db *sql.DB, adopted []orphan) {
	err := b.db.change(ctx, db, func(tx *sql.Tx) error {
		for _, o := range adopted {
			if now, err := os.Lstat(b.file(o.Name)); err != nil || !os.SameFile(o.info, now) {
				continue
			}
			if err := addRow(ctx, tx, o.Blob); err != nil {
				return err
			}
		}
		return nil
	})
	b.db.ignored(ctx, err)
}
