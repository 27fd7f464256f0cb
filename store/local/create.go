package local

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"logstow/internal/limited"
)

// schemaVersion is the database's user_version.
const schemaVersion = 1

// schema returns the statements that create the tables, exactly as the database stores them: the
// metadata of blobs, the names of tables, and all entities.
func schema() []string {
	return []string{`CREATE TABLE blobs (
	name     TEXT PRIMARY KEY,
	size     INTEGER NOT NULL,
	written  INTEGER NOT NULL,
	metadata TEXT NOT NULL,
	deleting INTEGER NOT NULL
) WITHOUT ROWID`, `CREATE TABLE tables (
	id   INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE COLLATE NOCASE
)`, `CREATE TABLE entities (
	tbl        INTEGER NOT NULL,
	pk         TEXT NOT NULL,
	rk         TEXT NOT NULL,
	properties BLOB NOT NULL,
	PRIMARY KEY (tbl, pk, rk)
) WITHOUT ROWID`}
}

// create makes a database if there is none; one process at a time checks that. The file is written,
// synced, opened and checked before it gets its name, so that a full or failing disk leaves no database.
func (d *database) create(ctx context.Context) (err error) {
	lock, err := d.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := os.Stat(d.path()); !errors.Is(err, fs.ErrNotExist) {
		return err // Another process was faster.
	}
	// The log of a removed database must not be used with the new one.
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := d.remove(d.path() + suffix); err != nil {
			return err
		}
	}
	image, err := emptyDatabase(ctx)
	if err != nil {
		return err
	}
	temp, err := d.files.NewTemp(d.tempDir(), image)
	if err != nil {
		return err
	}
	defer temp.Discard()
	db, err := openWith(ctx, temp.Path(), "mode=ro&immutable=1", quickCheck)
	if err != nil {
		return fmt.Errorf("check the new database: %w", err)
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := d.markPending(); err != nil {
		return err
	}
	if _, err := temp.Link(d.path()); err != nil {
		return err
	}
	return d.files.SyncDirs(d.dir, d.dir)
}

// remove removes a file, which may be missing.
func (d *database) remove(path string) error {
	err := d.files.Step("remove")
	if err == nil {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// The bytes of a database's header that give its journal mode, and their value for a write-ahead
// log. https://www.sqlite.org/fileformat2.html#file_format_version_numbers
const (
	writeVersionAt, readVersionAt = 18, 19
	writeAheadLog                 = 2
)

// emptyDatabase returns the content of a database file with the schema and no rows.
func emptyDatabase(ctx context.Context) (image []byte, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	statements := fmt.Sprintf("%s; PRAGMA user_version = %d", strings.Join(schema(), "; "), schemaVersion)
	if _, err := conn.ExecContext(ctx, statements); err != nil {
		return nil, err
	}
	err = conn.Raw(func(driver any) error {
		c, ok := driver.(interface{ Serialize() ([]byte, error) })
		if !ok {
			return errors.New("the SQLite driver cannot serialize")
		}
		image, err = c.Serialize()
		return err
	})
	if err != nil {
		return nil, err
	}
	image[writeVersionAt], image[readVersionAt] = writeAheadLog, writeAheadLog
	return image, nil
}

// pendingFile exists in the hidden folder while entities of existing blobs are missing in the index,
// because the database was created after the blobs. It contains a random id.
const pendingFile = "reindex.pending"

// maxPending is the maximum size of that file in bytes.
const maxPending = 4 << 10

// markPending rewrites the pending file, unless the store has no blobs.
func (d *database) markPending() error {
	entries, err := os.ReadDir(filepath.Dir(d.dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if name == compacted {
			if blobs, err := os.ReadDir(filepath.Join(filepath.Dir(d.dir), name)); err == nil && len(blobs) == 0 {
				continue // created at set-up
			}
		}
		if name != hidden {
			return d.files.Replace(d.tempDir(), filepath.Join(d.dir, pendingFile), []byte(rand.Text()+"\n"))
		}
	}
	return nil
}

// PendingReindex returns an id, which is passed to [Store.Reindexed], if the index is incomplete because
// the database was damaged or missing and was recreated while there were blobs; otherwise "".
func (s *Store) PendingReindex() (id string, err error) {
	data, err := limited.Regular(filepath.Join(s.db.dir, pendingFile), maxPending)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

// Reindexed clears the incomplete state of [Store.PendingReindex] with an id. It is called when all blobs
// are indexed. It does nothing if the database was recreated since.
func (s *Store) Reindexed(id string) (err error) {
	lock, err := s.db.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if now, err := s.PendingReindex(); err != nil || now != id {
		return err
	}
	return s.db.remove(filepath.Join(s.db.dir, pendingFile))
}
