package local

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"logstow/store"
)

// Delete implements [store.Blobs]. Rows are marked first and removed together with the file, so that a
// crash never leaves a row that could be mistaken for that of a later blob of the same name.
func (b blobs) Delete(ctx context.Context, refs []store.BlobRef) error {
	if len(refs) == 0 {
		return nil
	}
	if err := b.checkContainer(ctx); err != nil {
		return err
	}
	// In either container: outputs of compaction are the reason for which segments are deleted.
	if err := (blobs{b.Store, compacted + "/"}).checkWriters(ctx, "delete blobs beside"); err != nil {
		return err
	}
	refs = slices.Clone(refs)
	for i := range refs {
		refs[i].Name = b.root + refs[i].Name
	}
	db, err := b.db.writing(ctx)
	if err != nil {
		return b.db.classify(ctx, "delete", refs[0].Name, err)
	}
	var failed failures
	for chunk := range slices.Chunk(refs, store.MaxDelete) {
		if err := b.deleteChunk(ctx, db, chunk, &failed); err != nil {
			return errors.Join(failed.err(), b.db.classify(ctx, "delete", chunk[0].Name, err))
		}
	}
	return failed.err()
}

func (b blobs) deleteChunk(ctx context.Context, db *sql.DB, refs []store.BlobRef, failed *failures) error {
	refs = slices.DeleteFunc(refs, func(v store.BlobRef) bool {
		_, err := b.path(v.Name)
		if err != nil {
			failed.add(invalid("delete", v.Name, err))
		}
		return err != nil
	})
	if len(refs) == 0 {
		return nil
	}
	marked := make(map[string]fs.FileInfo, len(refs)) // nil if there is no file
	err := b.db.change(ctx, db, func(tx *sql.Tx) error {
		refs, err := b.unchanged(ctx, tx, refs)
		if err != nil {
			return err
		}
		for _, v := range refs {
			marked[v.Name], _ = os.Lstat(b.file(v.Name)) // removing it will report why it cannot be inspected
			if err := markRow(ctx, tx, v.Name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = b.db.change(ctx, db, func(tx *sql.Tx) error {
		for name, was := range marked {
			recreated, err := removeFile(b.file(name), was)
			if err != nil {
				failed.add(removeError(ctx, name, err))
			}
			if recreated || err != nil {
				continue
			}
			if err := dropRow(ctx, tx, name); err != nil {
				return err
			}
		}
		return nil
	})
	dirs := make(map[string]struct{})
	for name := range marked {
		dirs[filepath.Dir(b.file(name))] = struct{}{}
	}
	for dir := range dirs {
		b.prune(dir)
	}
	return err
}

// removeFile removes a blob's file, which may be missing; was is the file when its row was marked, nil if there was none.
// It keeps other objects, such as a symbolic link, and a file that was recreated since, which it reports.
func removeFile(path string, was fs.FileInfo) (recreated bool, err error) {
	now, err := os.Lstat(path)
	switch {
	case err == nil && (was == nil || !sameFile(was, now)):
		return true, nil
	case err == nil && !now.IsDir() && !now.Mode().IsRegular():
		return false, nil
	}
	err = os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return false, err
}

// removeError explains why a file still exists. A missing permission on its directory is EACCES;
// EPERM is about the file itself.
func removeError(ctx context.Context, name string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return invalid("delete", name, errIsDirectory)
	}
	if ctx.Err() == nil && errors.Is(err, syscall.EPERM) {
		return &store.Error{
			Op: "delete", Object: name, Class: store.ErrHeld, Err: err,
			Hint: "it is immutable or append-only (lsattr), or another user's in a sticky directory",
		}
	}
	return classify(ctx, "delete", name, err)
}

// unchanged drops the refs for which listings show another blob.
func (b blobs) unchanged(ctx context.Context, tx *sql.Tx, refs []store.BlobRef) ([]store.BlobRef, error) {
	var names []string
	for _, v := range refs {
		if v.ETag != "" {
			names = append(names, v.Name)
		}
	}
	if len(names) == 0 {
		return refs, nil
	}
	slices.Sort(names)
	page, orphans, err := b.recheckRows(ctx, tx, names)
	if err != nil {
		return nil, err
	}
	now := make(map[string]string, len(names))
	for _, blob := range page {
		now[blob.Name] = blob.ETag
	}
	for _, o := range orphans {
		now[o.Name] = o.ETag
	}
	return slices.DeleteFunc(refs, func(v store.BlobRef) bool {
		etag, there := now[v.Name]
		return there && v.ETag != "" && v.ETag != etag
	}), nil
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// RemoveDirectories implements [store.Blobs]: Delete already removes directories that it empties.
func (blobs) RemoveDirectories(ctx context.Context, prefix, _ string) error {
	return contextError(ctx, "remove directories", prefix)
}

// prune removes directories that became empty. A writer that is creating a blob in one recreates
// it.
func (b blobs) prune(dir string) {
	for dir != b.dir() && syscall.Rmdir(dir) == nil {
		dir = filepath.Dir(dir)
	}
}

// failures keeps the first error of each class, and counts them.
type failures struct{ first []*store.Error }

func (f *failures) add(err error) {
	var e *store.Error
	if !errors.As(err, &e) {
		return
	}
	i := slices.IndexFunc(f.first, func(o *store.Error) bool { return errors.Is(o, e.Class) })
	if i < 0 {
		i, f.first = len(f.first), append(f.first, e)
	}
	f.first[i].Count++
}

func (f *failures) err() error {
	errs := make([]error, len(f.first))
	for i, e := range f.first {
		errs[i] = e
	}
	return errors.Join(errs...)
}
