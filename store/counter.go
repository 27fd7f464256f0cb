package store

import (
	"context"
	"io"
	"iter"
	"sync/atomic"
	"time"

	"logstow/internal/price"
)

// Counter counts the requests made through the stores that it wraps, by kind. The zero value is
// ready to use; it may wrap several stores and is safe for concurrent use.
type Counter struct {
	list, get, table, create, delete, tier atomic.Int64
}

// Requests are numbers of requests by kind. Table is all requests to tables, Tier those that set tiers.
type Requests struct {
	List   int64 `json:"list"`
	Get    int64 `json:"get"`
	Table  int64 `json:"table"`
	Create int64 `json:"create"`
	Delete int64 `json:"delete"`
	Tier   int64 `json:"tier"`
}

// Total is the number of requests of all kinds.
func (r Requests) Total() int64 { return r.List + r.Get + r.Table + r.Create + r.Delete + r.Tier }

// Usage is what is billed of the requests. A request that deletes blobs is billed as one that reads; the deletions are free.
func (r Requests) Usage() price.Usage {
	return price.Usage{List: r.List, Read: r.Get + r.Delete, Create: r.Create, Table: r.Table}
}

// Add is the sum of two counts.
func (r Requests) Add(o Requests) Requests {
	return Requests{r.List + o.List, r.Get + o.Get, r.Table + o.Table, r.Create + o.Create, r.Delete + o.Delete, r.Tier + o.Tier}
}

// Requests returns the current counts.
func (c *Counter) Requests() Requests {
	return Requests{
		List: c.list.Load(), Get: c.get.Load(), Table: c.table.Load(),
		Create: c.create.Load(), Delete: c.delete.Load(), Tier: c.tier.Load(),
	}
}

// Store counts the requests made through s.
func (c *Counter) Store(s Store) Store { return countedStore{s, c} }

type countedStore struct {
	Store
	c *Counter
}

// Unwrap returns the store that is counted.
func (s countedStore) Unwrap() Store { return s.Store }

func (s countedStore) Blobs() Blobs     { return countedBlobs{s.Store.Blobs(), s.c} }
func (s countedStore) Compacted() Blobs { return countedBlobs{s.Store.Compacted(), s.c} }
func (s countedStore) Tables() Tables   { return countedTables{s.Store.Tables(), s.c} }

func (s countedStore) Now(ctx context.Context) (time.Time, error) {
	s.c.list.Add(1)
	return s.Store.Now(ctx)
}

type countedBlobs struct {
	Blobs
	c *Counter
}

func (b countedBlobs) Read(ctx context.Context, ref BlobRef, off, n int64) ([]byte, error) {
	b.c.get.Add(1)
	return b.Blobs.Read(ctx, ref, off, n)
}

func (b countedBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]Blob, error] {
	return countPages(&b.c.list, b.Blobs.List(ctx, prefix))
}

func (b countedBlobs) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return countPages(&b.c.list, b.Blobs.ListPrefixes(ctx, prefix))
}

func (b countedBlobs) Create(ctx context.Context, name string, body []byte, opts CreateOptions) (string, error) {
	b.c.create.Add(1)
	return b.Blobs.Create(ctx, name, body, opts)
}

// CreateFrom implements [Streamer].
func (b countedBlobs) CreateFrom(ctx context.Context, name string, body io.ReaderAt, size int64, opts CreateOptions) (string, error) {
	b.c.create.Add(1)
	return CreateFrom(ctx, b.Blobs, name, body, size, opts)
}

func (b countedBlobs) Delete(ctx context.Context, refs []BlobRef) error {
	b.c.delete.Add(int64((len(refs) + MaxDelete - 1) / MaxDelete))
	return b.Blobs.Delete(ctx, refs)
}

func (b countedBlobs) SetTier(ctx context.Context, names []string, tier Tier) error {
	b.c.tier.Add(int64((len(names) + MaxDelete - 1) / MaxDelete))
	return b.Blobs.SetTier(ctx, names, tier)
}

type countedTables struct {
	tables Tables
	c      *Counter
}

func (t countedTables) Tables(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return countPages(&t.c.table, t.tables.Tables(ctx, prefix))
}

func (t countedTables) Query(ctx context.Context, table string, q Query) iter.Seq2[[]Entity, error] {
	return countPages(&t.c.table, t.tables.Query(ctx, table, q))
}

func (t countedTables) CreateTable(ctx context.Context, table string) error {
	t.c.table.Add(1)
	return t.tables.CreateTable(ctx, table)
}

func (t countedTables) Upsert(ctx context.Context, table string, entities []Entity) error {
	t.c.table.Add(1)
	return t.tables.Upsert(ctx, table, entities)
}

func (t countedTables) Remove(ctx context.Context, table string, keys []Key) error {
	t.c.table.Add(1)
	return t.tables.Remove(ctx, table, keys)
}

func (t countedTables) DropTable(ctx context.Context, table string) error {
	t.c.table.Add(1)
	return t.tables.DropTable(ctx, table)
}

// countPages counts a request for each page or error, and one if there is neither.
func countPages[T any](n *atomic.Int64, pages iter.Seq2[[]T, error]) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		none := true
		for page, err := range pages {
			none = false
			n.Add(1)
			if !yield(page, err) {
				return
			}
		}
		if none {
			n.Add(1)
		}
	}
}

// Blobs counts the requests made through b.
func (c *Counter) Blobs(b Blobs) Blobs { return countedBlobs{b, c} }
