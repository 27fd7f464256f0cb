package ship

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/store"
)

// The headers of every segment's blob.
const (
	contentType     = "text/plain; charset=utf-8"
	contentEncoding = "zstd"
)

// errSetAside says that a batch can never be stored.
type errSetAside struct{ reason error }

func (e errSetAside) Error() string { return e.reason.Error() }

// deliver brings a batch into storage and hands it on to the index. The batch
// leaves the caller's hands whatever happens; an error ends the run.
func (s *Shipper) deliver(ctx context.Context, b *buffer.Batch) error {
	if _, stored := b.Stored(); !stored {
		etag, err := s.storeBlob(ctx, b)
		var aside errSetAside
		switch {
		case errors.As(err, &aside):
			s.count(func(st *Stats) { st.Quarantined++ })
			return b.Quarantine(aside.Error())
		case err != nil:
			b.Return()
			return err
		}
		if err := b.SetStored(etag); err != nil {
			b.Return()
			return err
		}
		s.count(func(st *Stats) {
			st.Segments++
			st.Records += b.Meta.Records
			st.RawBytes += b.Meta.RawBytes
			st.StoredBytes += uint64(b.Size)
		})
	}
	select {
	case s.index <- b:
		return nil
	case <-ctx.Done():
		b.Return()
		return context.Cause(ctx)
	}
}

// storeBlob creates a batch's blob and returns its ETag.
func (s *Shipper) storeBlob(ctx context.Context, b *buffer.Batch) (etag string, err error) {
	body, err := b.Body()
	if err != nil {
		return "", errSetAside{fmt.Errorf("read the batch back: %w", err)}
	}
	if err := verify(ctx, body, b.Meta); err != nil {
		return "", errSetAside{fmt.Errorf("the batch is damaged: %w", err)}
	}
	// A name written down by somebody before us may have been created.
	if b.Name() != "" {
		name, err := blobnaming.Parse(b.Name())
		if err != nil {
			return "", errSetAside{err}
		}
		etag, free, err := s.create(ctx, b, body, name, true)
		if err != nil || !free {
			return etag, err
		}
	}
	for {
		name := blobnaming.Name{Service: b.Service, Bucket: b.BucketStart}
		leave, err := s.firsts.enter(ctx, name)
		if err != nil {
			return "", err
		}
		name.Number = s.numbers.Next(name.Service, name.Bucket)
		if err := b.SetName(name.String()); err != nil {
			leave(false)
			return "", err
		}
		etag, taken, err := s.create(ctx, b, body, name, false)
		leave(err == nil && !taken)
		if err != nil || !taken {
			return etag, err
		}
	}
}

// create tries one name until it is clear what became of it: created (by this
// call or an earlier one), or taken by another. tried says that a create of this
// batch under this name may have been applied before.
func (s *Shipper) create(ctx context.Context, b *buffer.Batch, body []byte, name blobnaming.Name, tried bool) (etag string, taken bool, err error) {
	opts := store.CreateOptions{Metadata: b.Meta.Encode(), ContentType: contentType, ContentEncoding: contentEncoding}
	err = s.retry(ctx, &s.blobTrouble, func() error {
		s.count(func(st *Stats) { st.Creates++ })
		var err error
		etag, err = s.blobs.Create(ctx, name.String(), body, opts)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, store.ErrExists):
			tried = true
			return err
		}
		if tried {
			var own bool
			if etag, own, err = s.ours(ctx, name.String(), b.Meta.Batch); own || err != nil {
				return err
			}
		}
		taken = true
		return nil
	})
	if err != nil {
		return "", false, err
	}
	if taken {
		s.count(func(st *Stats) { st.Conflicts++ })
		s.numbers.Taken(name.Service, name.Bucket, name.Number)
	} else {
		s.numbers.Wrote(name.Service, name.Bucket, name.Number)
	}
	return etag, taken, nil
}

// ours reports whether the blob of a name is the batch, and its ETag. A
// credential that may not list can not tell: then it counts as another's.
func (s *Shipper) ours(ctx context.Context, name string, id blobnaming.Batch) (etag string, own bool, err error) {
	for page, err := range s.blobs.List(ctx, name) {
		if errors.Is(err, store.ErrRefused) {
			return "", false, nil
		}
		if err != nil {
			return "", false, err
		}
		if i := slices.IndexFunc(page, func(b store.Blob) bool { return b.Name == name }); i >= 0 {
			meta, err := blobnaming.ParseMetadata(page[i].Metadata)
			return page[i].ETag, err == nil && meta.Batch == id, nil
		}
	}
	return "", false, nil
}
