package local

import (
	"context"
	"database/sql"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"logstow/store"
)

// putRow writes what a listing will say of a blob.
func putRow(ctx context.Context, tx *sql.Tx, name string, info fs.FileInfo, metadata map[string]string) error {
	_, err := tx.ExecContext(ctx,
		"INSERT OR REPLACE INTO blobs (name, size, written, metadata) VALUES (?, ?, ?, ?)",
		name, info.Size(), info.ModTime().UnixNano(), encodeMetadata(metadata))
	return err
}

// markRow says that a blob is being deleted.
func markRow(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx,
		"INSERT OR REPLACE INTO blobs (name, size, written, metadata) VALUES (?, 0, 0, NULL)", name)
	return err
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// readRows returns the rows of names first to last, in byte order. A blob being
// deleted has Metadata nil, every other not.
func readRows(ctx context.Context, q querier, first, last string) (_ []store.Blob, err error) {
	rows, err := q.QueryContext(ctx,
		"SELECT name, size, written, metadata FROM blobs WHERE name BETWEEN ? AND ? ORDER BY name", first, last)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has it.
	var found []store.Blob
	for rows.Next() {
		var (
			blob     store.Blob
			written  int64
			metadata sql.NullString
		)
		if err := rows.Scan(&blob.Name, &blob.Size, &written, &metadata); err != nil {
			return nil, err
		}
		blob.Created = time.Unix(0, written).UTC()
		blob.ETag = etag(written, blob.Size)
		if metadata.Valid {
			blob.Metadata = decodeMetadata(metadata.String)
		}
		found = append(found, blob)
	}
	return found, rows.Err()
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
