package archive

import (
	"context"
	"errors"
	"iter"
	"testing"

	"logstow/internal/retry"
	"logstow/layout"
	"logstow/store"
)

// lost is a store whose blob is another version, and which cannot be listed.
type lost struct {
	store.BlobReader
	err error
}

func (lost) Read(context.Context, store.BlobRef, int64, int64) ([]byte, error) {
	return nil, store.ErrNotFound
}

func (l lost) List(context.Context, string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) { yield(nil, l.err) }
}

// A blob is gone if it is not listed any more, not if it cannot be listed.
func TestGone(t *testing.T) {
	t.Parallel()
	for _, want := range []error{nil, errors.New("denied")} {
		f := &fetcher{blobs: lost{err: want}, policy: retry.Jobs()}
		one := f.start(t.Context(), &layout.Blob{Blob: store.Blob{Name: "x", Size: 3}})
		if one.gone != (want == nil) || !errors.Is(one.err, want) {
			t.Errorf("listing fails with %v: gone %v, %v", want, one.gone, one.err)
		}
	}
}
