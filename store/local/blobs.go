package local

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"logstow/internal/fsutil"
	"logstow/store"
)

// createTries is how often linking a blob is tried if an empty directory is at its path.
const createTries = 10

// errIsDirectory is the cause if the name of a blob is that of a directory.
var errIsDirectory = errors.New("the name is a directory of other blobs")

// errNoTiers is the cause if a blob shall be in another tier than the first.
var errNoTiers = errors.New("a directory has no tiers")

// errReplaced is the cause if the file of a blob has another ETag.
var errReplaced = fmt.Errorf("%w: replaced since it was listed", store.ErrNotFound)

// othersWrite are the permissions of group and others to write.
const othersWrite fs.FileMode = 0o022

// blobs is one of the two containers. Inside this package the names of blobs begin with root, those of the
// interface do not.
type blobs struct {
	*Store
	root string // "", or the directory of the compacted container with a '/'
}

// Read implements [store.BlobReader].
func (b blobs) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	return b.read(ctx, b.root+ref.Name, ref.ETag, off, n)
}

// read reads a range of a blob if its ETag is etag, or etag is "".
func (b blobs) read(ctx context.Context, name, etag string, off, n int64) ([]byte, error) {
	if err := contextError(ctx, "read", name); err != nil {
		return nil, err
	}
	path, err := b.path(name)
	if err == nil && (off < 0 || n <= 0) {
		err = fmt.Errorf("range of %d bytes from %d", n, off)
	}
	if err != nil {
		return nil, invalid("read", name, err)
	}
	data, err := readRange(path, etag, off, n)
	if errors.Is(err, errReplaced) && b.isListedAs(ctx, name, etag) {
		data, err = readRange(path, "", off, n)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err := b.checkContainer(ctx); err != nil {
			return nil, err
		}
	}
	return data, b.db.classify(ctx, "read", name, err)
}

// isListedAs reports whether listings show the blob with an ETag. It may differ from that of the file in a copy of a
// store: listings show the ETag in the database, and copying may change the times of files.
func (b blobs) isListedAs(ctx context.Context, name, etag string) bool {
	db, err := b.db.reading(ctx)
	if err != nil {
		return false
	}
	rows, err := readRows(ctx, db, name, name)
	return err == nil && len(rows) == 1 && !rows[0].deleting && rows[0].ETag == etag
}

func readRange(path, etag string, off, n int64) ([]byte, error) {
	file, info, err := fsutil.OpenRegular(path)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fsutil.ErrNotRegular) {
		return nil, fs.ErrNotExist // A parent of the path is a file, or the path is that of a directory or a pipe.
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // Nothing was written.
	if etag != "" && etag != etagOf(info.Size(), info.ModTime().UnixNano()) {
		return nil, errReplaced
	}
	if size := info.Size(); off > size || n > size-off {
		return nil, fmt.Errorf("%w: %d bytes from %d of %d", store.ErrRange, n, off, size)
	}
	data := make([]byte, n)
	if _, err := file.ReadAt(data, off); err != nil {
		return nil, err
	}
	return data, nil
}

// Create implements [store.Blobs]. The file is linked and its row written under the database's lock, so
// that listings of other processes see both or none, unless this process is killed in between.
func (b blobs) Create(ctx context.Context, name string, body []byte, opts store.CreateOptions) (string, error) {
	return b.createFrom(ctx, name, bytes.NewReader(body), opts)
}

// CreateFrom implements [store.Streamer].
func (b blobs) CreateFrom(ctx context.Context, name string, body io.ReaderAt, size int64, opts store.CreateOptions) (string, error) {
	return b.createFrom(ctx, name, io.NewSectionReader(body, 0, size), opts)
}

func (b blobs) createFrom(ctx context.Context, name string, body io.Reader, opts store.CreateOptions) (string, error) {
	name = b.root + name
	if err := contextError(ctx, "create", name); err != nil {
		return "", err
	}
	path, err := b.path(name)
	if err == nil {
		err = store.CheckMetadata(opts.Metadata)
	}
	if err == nil && opts.Tier != "" && opts.Tier != store.Hot {
		err = errNoTiers
	}
	if err != nil {
		return "", invalid("create", name, err)
	}
	if err := b.checkWriters(ctx, "create a blob in"); err != nil {
		return "", err
	}
	tag, err := b.create(ctx, name, path, body, opts.Metadata)
	if errors.Is(err, fs.ErrExist) {
		if at, statErr := os.Lstat(path); statErr == nil && at.IsDir() {
			return "", invalid("create", name, errIsDirectory)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", &store.Error{
			Op:     "create",
			Object: name,
			Class:  store.ErrUnavailable,
			Err:    err,
			Hint:   "the store's directory was removed concurrently",
		}
	}
	if err != nil {
		return "", b.db.classify(ctx, "create", name, err)
	}
	return tag, nil
}

func (b blobs) create(ctx context.Context, name, path string, body io.Reader, metadata map[string]string) (etag string, err error) {
	if at, err := os.Lstat(path); err == nil && !at.IsDir() {
		if err := b.syncExisting(path); !b.wasDeleted(path, err) {
			return "", err
		}
	}
	db, err := b.db.writing(ctx)
	if err != nil {
		return "", err
	}
	b.db.removeStale()
	if err := b.dropStaleRow(ctx, db, name, path); err != nil {
		return "", err
	}
	files := b.db.files
	if b.root != "" {
		files.Mask = othersWrite
	}
	temp, err := files.NewTempFrom(b.db.tempDir(), body)
	if err != nil {
		return "", err
	}
	defer temp.Discard()
	blob := newBlob(name, temp.Info().Size(), temp.Info().ModTime().UnixNano())
	blob.Metadata = metadata
	var top string
	err = b.db.change(ctx, db, func(tx *sql.Tx) error {
		if top, err = linkFile(temp, path); err != nil {
			return b.nameError(name, err)
		}
		return putRow(ctx, tx, blob)
	})
	if err != nil {
		return "", err
	}
	if err = b.sync(filepath.Dir(path), top); b.wasDeleted(path, err) {
		err = nil
	}
	return blob.ETag, err
}

// wasDeleted reports whether syncing the directory of a blob failed because the blob, and with it the
// empty directory, was deleted meanwhile. err is the error of syncing.
func (s *Store) wasDeleted(path string, err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, blobErr := os.Lstat(path)
	_, storeErr := os.Lstat(s.dir)
	return errors.Is(blobErr, fs.ErrNotExist) && storeErr == nil
}

// linkFile links temp to path. It removes an empty directory at path. top is as of [fsutil.Temp.Link].
func linkFile(temp *fsutil.Temp, path string) (top string, err error) {
	for range createTries {
		top, err = temp.Link(path)
		if !errors.Is(err, fs.ErrExist) || syscall.Rmdir(path) != nil {
			return top, err
		}
	}
	return top, err
}

// nameError returns [store.ErrInvalid] if the blob's name conflicts with existing files or cannot be a
// file name, otherwise err.
func (b blobs) nameError(name string, err error) error {
	wrong := errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EILSEQ)
	if errors.Is(err, syscall.ENOTDIR) {
		for i, c := range name {
			if c == '/' && !wrong {
				at, statErr := os.Stat(b.file(name[:i]))
				wrong = statErr == nil && !at.IsDir()
			}
		}
	}
	if !wrong {
		return err
	}
	return classError{store.ErrInvalid, err}
}

// sync makes the names in dir durable, and those of the directories above it up to top; up to the
// store's directory if this Store has not synced dir before.
func (s *Store) sync(dir, top string) error {
	_, known := s.synced.Load(dir)
	if !known {
		top = s.dir
	}
	if err := s.db.files.SyncDirs(dir, top); err != nil {
		s.synced.Delete(dir)
		return err
	}
	s.synced.Store(dir, true)
	return nil
}

// syncExisting makes the name of an existing blob durable and returns fs.ErrExist. An earlier Create may
// have failed or been killed before it synced the name, and after fs.ErrExist the caller may count the
// blob as stored.
func (s *Store) syncExisting(path string) error {
	dir := filepath.Dir(path)
	if err := s.sync(dir, dir); err != nil {
		return err
	}
	return fs.ErrExist
}

// dropStaleRow removes the row of a file that was removed by hand, so that a writer killed before
// it writes its row does not leave the stale one.
func (b blobs) dropStaleRow(ctx context.Context, db *sql.DB, name, path string) error {
	var found int
	err := db.QueryRowContext(ctx, "SELECT 1 FROM blobs WHERE name = ?", name).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.db.change(ctx, db, func(tx *sql.Tx) error {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return dropRow(ctx, tx, name)
	})
}

// SetTier implements [store.Blobs]: a directory has no tiers.
func (b blobs) SetTier(ctx context.Context, names []string, tier store.Tier) error {
	if len(names) == 0 {
		return contextError(ctx, "set the tier of", string(tier))
	}
	return invalid("set the tier of", b.root+names[0], errNoTiers)
}
