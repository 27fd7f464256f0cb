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
)

// schemaVersion is the database's user_version.
const schemaVersion = 1

// schema holds blobs' metadata, the names of tables, and the entities of all.
const schema = `
PRAGMA journal_mode = WAL;
CREATE TABLE blobs (
	name     TEXT PRIMARY KEY,
	size     INTEGER NOT NULL,
	written  INTEGER NOT NULL,
	metadata TEXT NOT NULL,
	deleting INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE tables (
	id   INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE COLLATE NOCASE
);
CREATE TABLE entities (
	tbl        INTEGER NOT NULL,
	pk         TEXT NOT NULL,
	rk         TEXT NOT NULL,
	properties BLOB NOT NULL,
	PRIMARY KEY (tbl, pk, rk)
) WITHOUT ROWID;
PRAGMA user_version = 1;
`

const (
	busyTimeout = 30 * time.Second
	// connections bounds those of one process.
	connections = 4
	// staleAfter is the age at which a temporary file is a crashed writer's.
	staleAfter = 24 * time.Hour
)

// database is the SQLite database in the hidden folder, opened when first
// needed: a query's process should not pay for what it does not use.
type database struct {
	dir string
	// write is held by this process's one writing transaction, so that they queue
	// here rather than poll for SQLite's lock.
	write chan struct{}
	clean sync.Once

	mu     sync.Mutex
	db     *sql.DB
	closed bool
}

func newDatabase(dir string) *database {
	return &database{dir: dir, write: make(chan struct{}, 1)}
}

func (d *database) tempDir() string { return filepath.Join(d.dir, tempFolder) }

// reading returns the database, or nil where there is none yet.
func (d *database) reading(ctx context.Context) (*sql.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, sql.ErrConnDone
	}
	if d.db != nil {
		return d.db, nil
	}
	path := filepath.Join(d.dir, databaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	db, err := open(ctx, path, "mode=rw")
	if err != nil && ctx.Err() == nil {
		// Without permission to make the log's shared memory beside it, a database
		// that nobody writes can be read as it is.
		if asIs, immutableErr := open(ctx, path, "mode=ro&immutable=1"); immutableErr == nil {
			db, err = asIs, nil
		}
	}
	d.db = db
	return db, err
}

// writing returns the database, made if it is missing, and sees to the folder
// for temporary files.
func (d *database) writing(ctx context.Context) (*sql.DB, error) {
	if err := fsutil.MkdirAll(d.tempDir()); err != nil {
		return nil, err
	}
	if db, err := d.reading(ctx); db != nil || err != nil {
		return db, err
	}
	if err := d.create(ctx); err != nil {
		return nil, err
	}
	return d.reading(ctx)
}

// create makes a database that has its schema from the first moment on.
func (d *database) create(ctx context.Context) error {
	temp := fsutil.OpenTemp(fsutil.TempName(d.tempDir()))
	defer temp.Discard()
	db, err := sql.Open("sqlite", dsn(temp.Path(), "mode=rwc"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, schema)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	_, err = temp.Link(filepath.Join(d.dir, databaseFile))
	if errors.Is(err, fs.ErrExist) {
		return nil // Another process was faster.
	}
	if err != nil {
		return err
	}
	return fsutil.SyncDirs(d.dir, d.dir)
}

func dsn(path, query string) string {
	query += fmt.Sprintf("&_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=synchronous(FULL)", busyTimeout.Milliseconds())
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query}).String()
}

func open(ctx context.Context, path, query string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, query))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if version != schemaVersion {
		return nil, errors.Join(fmt.Errorf("%s has version %d, this program reads %d: use the program that wrote it", path, version, schemaVersion), db.Close())
	}
	return db, nil
}

// change runs f in a transaction that no other writer, of any process, overlaps.
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

// removeStale removes, at the first call, what crashed writers left. That it
// can not is no reason to stop.
func (d *database) removeStale() {
	d.clean.Do(func() { _ = fsutil.RemoveStale(d.tempDir(), time.Now().Add(-staleAfter)) })
}

func (d *database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.db == nil {
		return nil
	}
	db := d.db
	d.db = nil
	return db.Close()
}
