package local

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"logstow/store"
)

// putRow writes a blob's row for listings.
func putRow(ctx context.Context, tx *sql.Tx, blob store.Blob) error {
	_, err := tx.ExecContext(ctx,
		"INSERT OR REPLACE INTO blobs (name, size, written, metadata, deleting) VALUES (?, ?, ?, ?, 0)",
		blob.Name, blob.Size, blob.Created.UnixNano(), encodeMetadata(blob.Metadata))
	return err
}

// addRow is putRow, but keeps an existing row.
func addRow(ctx context.Context, tx *sql.Tx, blob store.Blob) error {
	_, err := tx.ExecContext(ctx,
		"INSERT INTO blobs (name, size, written, metadata, deleting) VALUES (?, ?, ?, ?, 0) ON CONFLICT DO NOTHING",
		blob.Name, blob.Size, blob.Created.UnixNano(), encodeMetadata(blob.Metadata))
	return err
}

// markRow marks a blob as being deleted, whether it has a row or not.
func markRow(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx,
		"INSERT INTO blobs (name, size, written, metadata, deleting) VALUES (?, 0, 0, '', 1) ON CONFLICT DO UPDATE SET deleting = 1", name)
	return err
}

// dropRow removes a blob's row.
func dropRow(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM blobs WHERE name = ?", name)
	return err
}

// querier is a database or a transaction; a nil *sql.DB is an empty one.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// row is the database row of a blob.
type row struct {
	store.Blob
	// deleting is set if a Delete began. It may have finished, been killed, or been followed by a writer
	// of the same name that was killed.
	deleting bool
}

// readRows returns the rows of names first to last, in byte order.
func readRows(ctx context.Context, q querier, first, last string) (_ []row, err error) {
	if db, ok := q.(*sql.DB); ok && db == nil {
		return nil, nil
	}
	rows, err := q.QueryContext(ctx,
		"SELECT name, size, written, metadata, deleting FROM blobs WHERE name BETWEEN ? AND ? ORDER BY name", first, last)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has it.
	var found []row
	for rows.Next() {
		var (
			name, metadata string
			size, written  int64
			r              row
		)
		if err := rows.Scan(&name, &size, &written, &metadata, &r.deleting); err != nil {
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
		r.Blob = newBlob(name, size, written)
		r.Metadata = decodeMetadata(metadata)
		found = append(found, r)
	}
	return found, rows.Err()
}

// newBlob returns a blob without metadata. written is when its file was written, in Unix nanoseconds. The
// ETag identifies the content: files are never rewritten under their name, and the time is exact to the
// nanosecond.
func newBlob(name string, size, written int64) store.Blob {
	at := time.Unix(0, written).UTC()
	return store.Blob{Name: name, Size: size, Created: at, Modified: at, ETag: etagOf(size, written)}
}

func etagOf(size, written int64) string {
	return "0x" + strconv.FormatInt(written, 16) + "-" + strconv.FormatInt(size, 16)
}

// encodeMetadata writes a line "key=value" for each key, in order.
func encodeMetadata(metadata map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		b.WriteString(key)
		b.WriteByte('=')
		b.WriteString(metadata[key])
		b.WriteByte('\n')
	}
	return b.String()
}

// decodeMetadata reads what encodeMetadata wrote; the result is never nil.
func decodeMetadata(lines string) map[string]string {
	metadata := make(map[string]string, strings.Count(lines, "\n"))
	for line := range strings.Lines(lines) {
		if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			metadata[key] = value
		}
	}
	return metadata
}
