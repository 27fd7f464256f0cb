package audit

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"strings"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/retry"
	"logstow/store"
)

// batch is the first listed segment of a Batch, with a hash of its metadata and size.
type batch struct {
	name string
	hash uint64
}

// noteBatch compares a segment with the first one of its Batch. If they differ, one of them is not what it claims to be.
func (w *walk) noteBatch(e *catalog.Entry) {
	if e.Kind != catalog.KindPlain {
		return
	}
	hash := maphash.Comparable(w.a.seed, struct {
		blobnaming.Metadata
		int64
	}{e.Meta, e.Size})
	first, ok := w.batches[e.Meta.Batch]
	switch {
	case !ok:
		w.batches[e.Meta.Batch] = batch{strings.Clone(e.Blob.Name), hash}
	case first.hash != hash:
		w.a.mu.Lock()
		w.a.twins = append(w.a.twins, first.name, strings.Clone(e.Blob.Name))
		w.a.mu.Unlock()
	}
}

// checkTwins reads the footers of the segments that share a Batch and differ, unless all footers are read.
func (a *auditor) checkTwins(ctx context.Context) error {
	if a.o.Depth != Listing {
		return nil
	}
	slices.Sort(a.twins)
	var damaged []Difference
	for _, name := range slices.Compact(a.twins) {
		var b store.Blob
		var found bool
		err := retry.Do(ctx, func() (err error) {
			b, found, err = catalog.Lookup(ctx, a.blobs, name)
			return err
		})
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		e := newListedBlob(new(catalog.RawEntry(&b)))
		if e.bad != nil {
			continue
		}
		switch _, damage, err := a.open(ctx, &e); {
		case errors.Is(err, errDeleted):
		case err != nil:
			if err := a.noteUnreadable(ctx, err); err != nil {
				return err
			}
		case damage != nil:
			damaged = append(damaged, *damage)
		}
	}
	a.reportAll(damaged)
	return nil
}
