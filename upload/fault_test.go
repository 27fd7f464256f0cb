package upload_test

import (
	"context"
	"iter"
	"sync"

	"logstow/store"
)

// faulty injects faults before and after the calls of a store. A hook gets the number of the
// call, counted from 1, and a function that makes the call; nil injects none.
type faulty struct {
	store.Store
	create func(n int, name string, call func() (string, error)) (string, error)
	list   func(n int, prefix string) error
	upsert func(n int, table string, call func() error) error

	mu                      sync.Mutex
	creates, lists, upserts int
	// created are the names of the creates tried.
	created []string
}

func (f *faulty) Blobs() store.Blobs     { return faultyBlobs{f.Store.Blobs(), f} }
func (f *faulty) Compacted() store.Blobs { return faultyBlobs{f.Store.Compacted(), f} }
func (f *faulty) Tables() store.Tables   { return faultyTables{f.Store.Tables(), f} }

// next counts a call.
func (f *faulty) next(counter *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	*counter++
	return *counter
}

// tried returns the names of all creates so far.
func (f *faulty) tried() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.created...)
}

type faultyBlobs struct {
	store.Blobs
	f *faulty
}

func (b faultyBlobs) Create(ctx context.Context, name string, body []byte, opts store.CreateOptions) (string, error) {
	n := b.f.next(&b.f.creates)
	b.f.mu.Lock()
	b.f.created = append(b.f.created, name)
	b.f.mu.Unlock()
	call := func() (string, error) { return b.Blobs.Create(ctx, name, body, opts) }
	if b.f.create == nil {
		return call()
	}
	return b.f.create(n, name, call)
}

func (b faultyBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	if b.f.list != nil {
		if err := b.f.list(b.f.next(&b.f.lists), prefix); err != nil {
			return func(yield func([]store.Blob, error) bool) { yield(nil, err) }
		}
	}
	return b.Blobs.List(ctx, prefix)
}

// tables is store.Tables under a name that is not one of its methods.
type tables interface{ store.Tables }

type faultyTables struct {
	tables
	f *faulty
}

func (t faultyTables) Upsert(ctx context.Context, table string, entities []store.Entity) error {
	call := func() error { return t.tables.Upsert(ctx, table, entities) }
	if t.f.upsert == nil {
		return call()
	}
	return t.f.upsert(t.f.next(&t.f.upserts), table, call)
}

// failure returns an error of a class, as a backend returns it.
func failure(class error) *store.Error {
	return &store.Error{Op: "create blob", Object: "x", Class: class}
}
