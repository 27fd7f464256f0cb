// Package tableindex keeps the derived index: one table a day and class, one
// entity a segment, keys spread over partitions. The blobs are the truth; the
// index may lag and can be rebuilt.
package tableindex

import (
	"context"
	"iter"
	"time"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/store"
)

// Row is what the index says of one segment.
type Row struct {
	Name blobnaming.Name
	Meta blobnaming.Metadata
	ETag string
	// Size is the stored size in bytes.
	Size    int64
	Minutes []record.Minute
}

// Put writes rows, grouped into transactions, creating missing tables.
func Put(ctx context.Context, t store.Tables, container string, rows []Row) error { panic("skeleton") }

// Range yields the rows of a service whose records may lie in [from, to), of all
// classes, in no particular order, reading partitions in parallel.
func Range(ctx context.Context, t store.TableReader, container, service string, from, to time.Time) iter.Seq2[[]Row, error] {
	panic("skeleton")
}
