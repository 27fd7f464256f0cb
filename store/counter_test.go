package store_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"logstow/store"
)

// pagesOf yields n pages, then an error where there is one.
func pagesOf[T any](n int, err error) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for range n {
			if !yield(make([]T, 1), nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// fake answers everything with a number of pages.
type fake struct {
	store.Store
	pages int
	err   error
}

func (f fake) Blobs() store.Blobs     { return fakeBlobs{pages: f.pages, err: f.err} }
func (f fake) Compacted() store.Blobs { return f.Blobs() }
func (f fake) Tables() store.Tables   { return fakeTables{pages: f.pages, err: f.err} }

type fakeBlobs struct {
	pages int
	err   error
}

func (f fakeBlobs) Read(context.Context, store.BlobRef, int64, int64) ([]byte, error) {
	return nil, f.err
}
func (f fakeBlobs) RemoveDirectories(context.Context, string, string) error { return f.err }
func (f fakeBlobs) Delete(context.Context, []store.BlobRef) error           { return f.err }
func (f fakeBlobs) SetTier(context.Context, []string, store.Tier) error     { return f.err }
func (f fakeBlobs) List(context.Context, string) iter.Seq2[[]store.Blob, error] {
	return pagesOf[store.Blob](f.pages, f.err)
}

func (f fakeBlobs) ListPrefixes(context.Context, string) iter.Seq2[[]string, error] {
	return pagesOf[string](f.pages, f.err)
}

func (f fakeBlobs) Create(context.Context, string, []byte, store.CreateOptions) (string, error) {
	return "tag", f.err
}

type fakeTables struct {
	pages int
	err   error
}

func (f fakeTables) CreateTable(context.Context, string) error            { return f.err }
func (f fakeTables) DropTable(context.Context, string) error              { return f.err }
func (f fakeTables) Upsert(context.Context, string, []store.Entity) error { return f.err }
func (f fakeTables) Remove(context.Context, string, []store.Key) error    { return f.err }
func (f fakeTables) Tables(context.Context, string) iter.Seq2[[]string, error] {
	return pagesOf[string](f.pages, f.err)
}

func (f fakeTables) Query(context.Context, string, store.Query) iter.Seq2[[]store.Entity, error] {
	return pagesOf[store.Entity](f.pages, f.err)
}

func TestCounter(t *testing.T) {
	t.Parallel()
	fail := errors.New("fail")
	for name, c := range map[string]struct {
		store store.Store
		want  store.Requests
	}{
		"pages":  {fake{pages: 3}, store.Requests{List: 6, Get: 1, Table: 10, Create: 1, Delete: 3}},
		"none":   {fake{}, store.Requests{List: 2, Get: 1, Table: 6, Create: 1, Delete: 3}},
		"errors": {fake{pages: 1, err: fail}, store.Requests{List: 4, Get: 1, Table: 8, Create: 1, Delete: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var counter store.Counter
			s := counter.Store(c.store)
			ctx := t.Context()
			// What comes back is tested by the backends' suites, which run counted too.
			_, _ = s.Blobs().Read(ctx, store.BlobRef{Name: "a"}, 0, 1)
			_, _ = s.Blobs().Create(ctx, "a", nil, store.CreateOptions{})
			_ = s.Blobs().Delete(ctx, make([]store.BlobRef, 2*store.MaxDelete+1))
			_ = s.Blobs().Delete(ctx, nil)
			_ = s.Tables().CreateTable(ctx, "t")
			_ = s.Tables().DropTable(ctx, "t")
			_ = s.Tables().Upsert(ctx, "t", nil)
			_ = s.Tables().Remove(ctx, "t", nil)
			for range s.Blobs().List(ctx, "") {
			}
			for range s.Blobs().ListPrefixes(ctx, "") {
			}
			for range s.Tables().Tables(ctx, "") {
			}
			for range s.Tables().Query(ctx, "t", store.Query{}) {
			}
			if got := counter.Requests(); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if got, want := counter.Requests().Total(), c.want.List+c.want.Get+c.want.Table+c.want.Create+c.want.Delete; got != want {
				t.Errorf("%d in all, want %d", got, want)
			}
		})
	}
}

// TestCounterCompacted counts requests to both containers.
func TestCounterCompacted(t *testing.T) {
	t.Parallel()
	var counter store.Counter
	s := counter.Store(fake{pages: 3})
	_, _ = s.Compacted().Read(t.Context(), store.BlobRef{Name: "a"}, 0, 1)
	_, _ = s.Compacted().Create(t.Context(), "a", nil, store.CreateOptions{})
	for range s.Compacted().List(t.Context(), "") {
	}
	if got, want := counter.Requests(), (store.Requests{List: 3, Get: 1, Create: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestNoBlobs: what has no compacted container.
func TestNoBlobs(t *testing.T) {
	t.Parallel()
	b := store.NoBlobs("files")
	_, readErr := b.Read(t.Context(), store.BlobRef{Name: "a"}, 0, 1)
	_, createErr := b.Create(t.Context(), "a", nil, store.CreateOptions{})
	missing := []error{readErr, b.Delete(t.Context(), store.AnyVersion("a"))}
	for _, err := range b.List(t.Context(), "") {
		missing = append(missing, err)
	}
	for _, err := range b.ListPrefixes(t.Context(), "") {
		missing = append(missing, err)
	}
	for i, err := range missing {
		if !errors.Is(err, store.ErrNoContainer) || len(missing) != 4 {
			t.Errorf("%d of %d: %v", i, len(missing), err)
		}
	}
	for _, err := range []error{createErr, b.SetTier(t.Context(), []string{"a"}, store.Cool)} {
		if !errors.Is(err, store.ErrInvalid) {
			t.Error(err)
		}
	}
	if err := errors.Join(b.Delete(t.Context(), nil), b.SetTier(t.Context(), nil, store.Cool), b.RemoveDirectories(t.Context(), "a/", "b")); err != nil {
		t.Error(err)
	}
}

// TestCounterStops counts what was requested, not what could have been.
func TestCounterStops(t *testing.T) {
	t.Parallel()
	var counter store.Counter
	s := counter.Store(fake{pages: 5})
	for range s.Blobs().List(t.Context(), "") {
		break
	}
	for range s.Tables().Query(t.Context(), "t", store.Query{}) {
		break
	}
	if got, want := counter.Requests(), (store.Requests{List: 1, Table: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
