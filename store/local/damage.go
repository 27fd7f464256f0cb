package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"logstow/store"
)

// errDamaged is the cause if SQLite itself does not report the damage.
var errDamaged = errors.New("database is damaged")

// isDamage reports whether an error means that the database is damaged and must be replaced.
func isDamage(err error) bool {
	var e *sqlite.Error
	if errors.Is(err, errDamaged) || !errors.As(err, &e) {
		return errors.Is(err, errDamaged)
	}
	switch e.Code() & 0xFF {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB,
		sqlite3.SQLITE_TOOBIG: // a damaged length: values are far smaller than SQLite's limit of 1 GB
		return true
	default:
		return false
	}
}

// maxVersion is greater than all future versions: a version from there on is damage.
const maxVersion = 256

// The pragmas that check a database: noCheck checks only header and schema, quickCheck also every page,
// fullCheck also the indexes.
const (
	noCheck    = ""
	quickCheck = "quick_check"
	fullCheck  = "integrity_check"
)

// examine returns why a database cannot be used.
func examine(ctx context.Context, db *sql.DB, path, check string) error {
	var version int
	err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	var found []string
	if err == nil {
		found, err = queryStrings(ctx, db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
	}
	var e *sqlite.Error
	switch {
	case errors.As(err, &e) && e.Code() == sqlite3.SQLITE_ERROR: // queries do not report it: "unsupported file format"
		return fmt.Errorf("%w: %w", errDamaged, err)
	case err != nil:
		return err
	case version > schemaVersion && version < maxVersion:
		return classError{store.ErrUnusable, fmt.Errorf("%s has version %d, this program supports %d: use the program that wrote it, or move the file away and run shipper reindex",
			path, version, schemaVersion)}
	case version != schemaVersion, !slices.Equal(found, schema()):
		return fmt.Errorf("%w: %s does not have the schema of version %d", errDamaged, path, schemaVersion)
	case check == noCheck:
		return nil
	}
	problems, err := queryStrings(ctx, db, "PRAGMA "+check+"(1)")
	if check == quickCheck && err == nil && slices.Equal(problems, []string{"ok"}) {
		// The names of tables are the only index that is not a table itself, which the check leaves out. It is small.
		problems, err = queryStrings(ctx, db, "PRAGMA integrity_check(tables)")
	}
	if err == nil && !slices.Equal(problems, []string{"ok"}) {
		err = fmt.Errorf("%w: %s: %q", errDamaged, path, problems)
	}
	return err
}

// checkFormat checks for damage that SQLite does not report: a header byte with which SQLite opens a
// database read-only, and a file that ends within a page. file is as it was before the database was
// opened. The byte is read through SQLite: closing another descriptor of the file would release the locks
// of the whole process (https://sqlite.org/howtocorrupt.html, section 2.2), and another process could then
// remove the log that this one writes.
func checkFormat(ctx context.Context, db *sql.DB, path string, file fs.FileInfo) error {
	var version []byte
	var pageSize int64
	err := db.QueryRowContext(ctx, "SELECT substr(data, ?, 1), page_size FROM sqlite_dbpage, pragma_page_size WHERE pgno = 1",
		writeVersionAt+1).Scan(&version, &pageSize)
	if err != nil {
		return err
	}
	if len(version) != 1 || version[0] > writeAheadLog {
		return fmt.Errorf("%w: %s has write version %x", errDamaged, path, version)
	}
	log, err := os.Stat(path + "-wal")
	if logged := err == nil && log.Size() > 0; !logged && file.Size()%pageSize != 0 { // A log may have the page.
		return fmt.Errorf("%w: %s has %d bytes, no whole number of pages of %d", errDamaged, path, file.Size(), pageSize)
	}
	return nil
}

// queryStrings returns the rows of a query for one string.
func queryStrings(ctx context.Context, db *sql.DB, query string) (all []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has it.
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// moveAside renames a damaged database with its log, so that the next write creates a new one. file is
// the damaged file: moveAside does nothing if the file does not exist any more, or passes a second check.
// d.mu is held.
func (d *database) moveAside(ctx context.Context, file fs.FileInfo, cause error) (err error) {
	lock, err := d.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	now, err := os.Stat(d.path())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(file, now) {
		return nil // Another process moved it.
	}
	if err != nil {
		return err
	}
	switch h, err := open(ctx, d.path(), now, fullCheck); {
	case err == nil:
		return h.Close()
	case !isDamage(err):
		return err
	}
	if err := d.files.MkdirAll(d.tempDir()); err != nil {
		return err
	}
	if err := d.markPending(); err != nil {
		return err
	}
	aside := d.asideName(time.Now())
	// The log is renamed last: create removes a log without a database.
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := d.files.Step("rename")
		if err == nil {
			err = os.Rename(d.path()+suffix, aside+suffix) //nolint:forbidigo // The directory is synced below.
		}
		if err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	if err := d.files.SyncDirs(d.dir, d.dir); err != nil {
		return err
	}
	d.log.ErrorContext(ctx, "damaged store database quarantined; a new one is built from the blobs, no blob is lost",
		"store", filepath.Dir(d.dir), "moved_to", aside, "error", cause)
	return nil
}

// asideName returns an unused name for a damaged database.
func (d *database) asideName(now time.Time) string {
	base := d.path() + ".broken-" + now.UTC().Format("20060102T150405Z")
	name := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// classify is the function classify; in addition it moves a damaged database aside if this process
// may repair it. The same request then succeeds later.
func (d *database) classify(ctx context.Context, op, object string, err error) error {
	var known *store.Error
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xFF == sqlite3.SQLITE_CANTOPEN && mayWrite(d.path()) {
		err = classError{store.ErrUnavailable, err} // such as too many open files
	}
	if !isDamage(err) || errors.As(err, &known) || ctx.Err() != nil {
		return classify(ctx, op, object, err)
	}
	if d.repair {
		moved := d.moveOpenAside(ctx, err)
		if moved == nil {
			moved = fmt.Errorf("a damaged database was quarantined: %w", err)
		}
		return &store.Error{Op: op, Object: object, Class: store.ErrUnavailable, Err: moved}
	}
	return &store.Error{
		Op: op, Object: object, Class: store.ErrUnusable, Err: err,
		Hint: "run shipper reindex --store " + filepath.Dir(d.dir) + ", which quarantines the database and builds a new one from the blobs",
	}
}

// moveOpenAside is moveAside for the open database. Concurrent users of it fail and may retry.
func (d *database) moveOpenAside(ctx context.Context, cause error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db == nil {
		return nil // Another goroutine moved it.
	}
	file := d.db.file
	_ = d.db.Close() // It is damaged.
	d.db = nil
	return d.moveAside(ctx, file, cause)
}

// ignored handles a database error that does not affect the result: it repairs damage or reports it to
// notice, and drops other errors.
func (d *database) ignored(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if isDamage(err) {
		err = d.classify(ctx, "read", "the store's database", err)
	}
	if errors.Is(err, store.ErrUnusable) && d.notice != nil {
		d.noticed.Do(func() { d.notice(err) })
	}
}
