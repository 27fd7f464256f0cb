package metrics

import (
	"context"
	"iter"
	"time"

	"logstow/store"
)

// observedStore is a store whose requests are observed.
type observedStore struct {
	store.Store
	r *Requests
}

// Unwrap returns the store that is observed.
func (s observedStore) Unwrap() store.Store { return s.Store }

func (s observedStore) Blobs() store.Blobs     { return observedBlobs{s.Store.Blobs(), s.r} }
func (s observedStore) Compacted() store.Blobs { return observedBlobs{s.Store.Compacted(), s.r} }
func (s observedStore) Tables() store.Tables   { return observedTables{s.Store.Tables(), s.r} }

type observedBlobs struct {
	store.Blobs
	r *Requests
}

func (b observedBlobs) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	began := time.Now()
	data, err := b.Blobs.Read(ctx, ref, off, n)
	b.r.observe("read", began, err)
	return data, err
}

func (b observedBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return pages(b.r, "list", b.Blobs.List(ctx, prefix))
}

func (b observedBlobs) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return pages(b.r, "list", b.Blobs.ListPrefixes(ctx, prefix))
}

func (b observedBlobs) Create(ctx context.Context, name string, body []byte, opts store.CreateOptions) (string, error) {
	began := time.Now()
	etag, err := b.Blobs.Create(ctx, name, body, opts)
	b.r.observeWrite("create", began, err)
	if err == nil {
		b.r.sizes.Observe(float64(len(body)))
		b.r.lastCreate.Store(time.Now().UnixNano())
	}
	return etag, err
}

func (b observedBlobs) Delete(ctx context.Context, refs []store.BlobRef) error {
	began := time.Now()
	err := b.Blobs.Delete(ctx, refs)
	b.r.observeWrite("delete", began, err)
	return err
}

type observedTables struct {
	tables store.Tables
	r      *Requests
}

func (t observedTables) Tables(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return pages(t.r, "list_tables", t.tables.Tables(ctx, prefix))
}

func (t observedTables) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return pages(t.r, "query", t.tables.Query(ctx, table, q))
}

func (t observedTables) CreateTable(ctx context.Context, table string) error {
	began := time.Now()
	err := t.tables.CreateTable(ctx, table)
	t.r.observeWrite("create_table", began, err)
	return err
}

func (t observedTables) Upsert(ctx context.Context, table string, entities []store.Entity) error {
	began := time.Now()
	err := t.tables.Upsert(ctx, table, entities)
	t.r.observeWrite("upsert", began, err)
	return err
}

func (t observedTables) Remove(ctx context.Context, table string, keys []store.Key) error {
	began := time.Now()
	err := t.tables.Remove(ctx, table, keys)
	t.r.observeWrite("remove", began, err)
	return err
}

func (t observedTables) DropTable(ctx context.Context, table string) error {
	began := time.Now()
	err := t.tables.DropTable(ctx, table)
	t.r.observeWrite("drop_table", began, err)
	return err
}
