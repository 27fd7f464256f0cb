package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"logstow/internal/fsutil"
	"logstow/store"
)

const (
	busyTimeout = 30 * time.Second
	// connections is the maximum number of connections of one process.
	connections = 4
	// maxRetired is the maximum number of replaced handles that stay open for their users.
	maxRetired = 4
	// staleAfter is the age from which a temporary file is assumed to belong to a crashed writer.
	staleAfter = 24 * time.Hour
)

// database is the SQLite database in the hidden folder. It is opened on first use, because a query may
// not need it.
type database struct {
	dir   string
	files fsutil.Files
	options
	// write has an element while a transaction of this process writes, so that writers queue here and do
	// not poll for SQLite's lock.
	write chan struct{}
	clean sync.Once
	// noticed and announced limit the calls of notice and beforeWrite to one.
	noticed, announced sync.Once

	mu     sync.Mutex
	db     *handle
	closed bool
	// written is set once this process could write to the store, and from the start by [Written].
	written bool
	// retired are at most maxRetired handles of files that no longer exist or have changed. They stay open
	// so that their users can finish.
	retired []*handle
}

func newDatabase(dir string) *database {
	return &database{dir: dir, write: make(chan struct{}, 1)}
}

func (d *database) tempDir() string { return filepath.Join(d.dir, tempFolder) }

func (d *database) path() string { return filepath.Join(d.dir, databaseFile) }

// reading returns the database, or nil if there is none. If the database is damaged and this process may
// repair it, it is moved aside, and the result is nil.
func (d *database) reading(ctx context.Context) (*sql.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, sql.ErrConnDone
	}
	file, err := os.Stat(d.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if d.db != nil && d.db.isOf(file, d.path()) {
		return d.db.DB, nil
	}
	check := noCheck
	if d.check || d.repair {
		check = quickCheck
	}
	opened, err := open(ctx, d.path(), file, check)
	if isDamage(err) && d.repair {
		return nil, d.moveAside(ctx, file, err)
	}
	if err != nil {
		return nil, err
	}
	if d.db != nil {
		d.retired = append(d.retired, d.db)
	}
	if len(d.retired) > maxRetired {
		_ = d.retired[0].Close() // its file was replaced
		d.retired = d.retired[1:]
	}
	d.db = opened
	return opened.DB, nil
}

// writing returns the database, created if it is missing, and creates the folder for temporary
// files.
func (d *database) writing(ctx context.Context) (*sql.DB, error) {
	if err := d.checkPresent(); err != nil {
		return nil, err
	}
	if err := d.files.MkdirAll(d.tempDir()); err != nil {
		return nil, err
	}
	db, err := d.reading(ctx)
	if db == nil && err == nil {
		if err = d.create(ctx); err == nil {
			db, err = d.reading(ctx)
		}
	}
	if err == nil {
		d.mu.Lock()
		d.written = true
		d.mu.Unlock()
		if d.beforeWrite != nil {
			d.announced.Do(d.beforeWrite)
		}
	}
	return db, err
}

// wasWritten reports whether the store is known to have been written to.
func (d *database) wasWritten() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.written
}

// checkPresent returns an error if the store that was written to is gone: its directory is missing or empty. A store that
// began anew in the place of a file system that is not mounted would be hidden by it later.
func (d *database) checkPresent() error {
	if !d.wasWritten() {
		return nil
	}
	dir := filepath.Dir(d.dir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		return err
	}
	return &store.Error{
		Op:     "write to",
		Object: dir,
		Class:  store.ErrUnavailable,
		Err:    errors.New("the directory is missing or empty, but segments were stored in it"),
		Hint:   "mount its file system or move the directory back; to begin an empty store, run: mkdir -p " + d.dir,
	}
}

// lock waits for the lock under which the database is created and moved aside.
func (d *database) lock() (interface{ Close() error }, error) {
	return d.files.Lock(filepath.Join(d.dir, "create.lock"))
}

func dsn(path, query string) string {
	query += fmt.Sprintf("&_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=synchronous(FULL)", busyTimeout.Milliseconds())
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query}).String()
}

// handle is an open database and its file.
type handle struct {
	*sql.DB
	file fs.FileInfo
	// immutable is set if the file is read without locks and must not change.
	immutable bool
}

// isOf reports whether the handle is that of the file that is now at path.
func (h *handle) isOf(now fs.FileInfo, path string) bool {
	if !os.SameFile(h.file, now) {
		return false
	}
	if !h.immutable {
		return true
	}
	_, err := os.Stat(path + "-wal") // There is a writer.
	return errors.Is(err, fs.ErrNotExist) && now.ModTime().Equal(h.file.ModTime()) && now.Size() == h.file.Size()
}

// open opens a database for writing; for reading if this process may not write.
func open(ctx context.Context, path string, file fs.FileInfo, check string) (*handle, error) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if at, err := os.Stat(path + suffix); err == nil && !at.Mode().IsRegular() {
			return nil, fmt.Errorf("%w: %s is not a file", errDamaged, path+suffix)
		}
	}
	db, err := openWith(ctx, path, "mode=rw", check)
	if err == nil {
		err = checkFormat(ctx, db, path, file)
	}
	if err == nil {
		return &handle{DB: db, file: file}, nil
	}
	if db != nil {
		err = errors.Join(err, db.Close())
	}
	if isDamage(err) || mayWrite(path) {
		return nil, err
	}
	// Without permission to create the shared memory of its log, a database without writers can be
	// read as immutable.
	db, immutableErr := openWith(ctx, path, "mode=ro&immutable=1", check)
	if immutableErr != nil {
		return nil, err
	}
	if log, statErr := os.Stat(path + "-wal"); statErr == nil && log.Size() > 0 {
		// A killed writer left the log, which would be ignored; or a writer is closing the database.
		err = fmt.Errorf("cannot read the log of the database: %w", errors.Join(err, db.Close()))
		return nil, &store.Error{Op: "open", Object: path, Class: store.ErrUnavailable, Hint: hintPermission, Err: err}
	}
	if err := checkFormat(ctx, db, path, file); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &handle{DB: db, file: file, immutable: true}, nil
}

func openWith(ctx context.Context, path, query, check string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, query))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	if err := examine(ctx, db, path, check); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// change runs f in a transaction. No other writer, of any process, is active meanwhile.
func (d *database) change(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) error) error {
	select {
	case d.write <- struct{}{}:
		defer func() { <-d.write }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	// Nothing is left to roll back after the commit.
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// removeStale removes, at the first call, files of crashed writers. Failures are ignored.
func (d *database) removeStale() {
	d.clean.Do(func() { _ = fsutil.RemoveStale(d.tempDir(), time.Now().Add(-staleAfter)) })
}

func (d *database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.db != nil {
		d.retired = append(d.retired, d.db)
	}
	var errs []error
	for _, h := range d.retired {
		errs = append(errs, h.Close())
	}
	d.db, d.retired = nil, nil
	return errors.Join(errs...)
}
