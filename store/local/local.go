// Package local keeps a store in a directory: each blob is a file under exactly
// its name, so that ordinary tools read it, and the hidden folder .logstow holds
// a SQLite database with the tables and with the blobs' metadata.
//
// The files are the source of truth. A row of metadata is a cache. A file whose row is missing, because
// a writer was killed or the database was removed, is adopted. A row whose file is missing is ignored.
// So a damaged database can be moved aside ([Repair]) and recreated; only the tables have to be rebuilt.
// Any number of processes may use one directory concurrently; processes without permission to write can
// read.
package local

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"logstow/store"
)

const (
	// hidden is the folder of the store's own files; no blob is in it.
	hidden = ".logstow"
	// compacted is the directory of the compacted container. The database has its blobs with names that begin with it.
	compacted = "_compacted"
	// databaseFile and tempFolder are in the hidden folder.
	databaseFile = "store.db"
	tempFolder   = "tmp"
)

// AdoptFunc derives the metadata of a blob without a row from the blob itself; read reads ranges of the blob. It returns
// none for a blob of unknown format. After an error the blob has no metadata, unless ctx ended.
type AdoptFunc func(ctx context.Context, name string, size int64, read func(ctx context.Context, off, n int64) ([]byte, error)) (map[string]string, error)

// Option configures Open.
type Option func(*Store)

// Adopt sets how the metadata of blobs without a row is found; without it they have none.
func Adopt(f AdoptFunc) Option { return func(s *Store) { s.adopt = f } }

// Repair lets the store move a damaged database aside, which is logged. The next write creates a new one,
// and the index is incomplete: see [Store.PendingReindex]. Every page is checked when the database is
// opened. Without Repair, the error of a damaged database is [store.ErrUnusable].
func Repair(log *slog.Logger) Option {
	return func(s *Store) { s.db.repair, s.db.log = true, log }
}

// Check checks every page of the database when it is opened.
func Check() Option { return func(s *Store) { s.db.check = true } }

// Notice sets a function that is called, at most once, with the reason if the database cannot be used.
// Listings then read the blobs.
func Notice(f func(error)) Option { return func(s *Store) { s.db.notice = f } }

// Written is for a store that was written to by an earlier process: nothing is written while its directory is missing or empty, as if a
// file system is not mounted, until the hidden folder is created in it.
func Written() Option { return func(s *Store) { s.db.written = true } }

// BeforeWrite sets a function that is called once, before the store writes its first blob or entity.
func BeforeWrite(f func()) Option { return func(s *Store) { s.db.beforeWrite = f } }

// options are the options of the database.
type options struct {
	repair, check bool
	log           *slog.Logger
	notice        func(error)
	beforeWrite   func()
}

// Store is a directory as a store. It is safe for concurrent use.
type Store struct {
	dir   string
	adopt AdoptFunc
	db    *database
	// synced has the directories that this Store has synced with all directories above them: for a new
	// blob in one of these, only the directory itself must be synced.
	synced  sync.Map
	leftOut *leftOut
}

var _ store.Rebuilder = (*Store)(nil)

// Open returns the store in a directory. Nothing is read or created yet: if the directory is
// missing, reading gives [store.ErrNoContainer] and the first write creates it.
func Open(ctx context.Context, dir string, opts ...Option) (*Store, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, classify(ctx, "open", dir, err)
	}
	s := &Store{dir: abs, db: newDatabase(filepath.Join(abs, hidden))}
	for _, o := range opts {
		o(s)
	}
	return s, nil
}

// Location implements [store.Located].
func (s *Store) Location() store.Location {
	return store.Location{Raw: s.dir, Compacted: filepath.Join(s.dir, compacted)}
}

// Blobs implements [store.Store].
func (s *Store) Blobs() store.Blobs { return blobs{s, ""} }

// Compacted implements [store.Store] by the sub-directory _compacted.
func (s *Store) Compacted() store.Blobs { return blobs{s, compacted + "/"} }

// Tables implements [store.Store].
func (s *Store) Tables() store.Tables { return tables{s.db} }

// Container implements [store.Store]. The tables of a directory are its own.
func (s *Store) Container() string { return "local" }

// Now implements [store.Store].
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return time.Now().UTC(), contextError(ctx, "read the time of", s.dir)
}

// String is the directory.
func (s *Store) String() string { return s.dir }

// Close implements [store.Store]. It may be called again.
func (s *Store) Close() error { return s.db.close() }
