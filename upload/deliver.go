package upload

import (
	"bytes"
	"context"
	"errors"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/catalog"
	"logstow/internal/crashpoint"
	"logstow/store"
)

// The headers of every segment's blob.
const (
	contentType     = "text/plain; charset=utf-8"
	contentEncoding = "zstd"
)

// deliver stores a batch, for which memory is reserved, and acknowledges it. It takes over batch and memory, also if it
// returns an error; an error ends the run.
func (r *run) deliver(ctx context.Context, d *destination, b *buffer.Batch) error {
	attempt := r.u.beginAttempt()
	etag, err := r.u.storeBlob(ctx, r.buffer, d, b)
	var reason suspect
	switch {
	case errors.As(err, &reason):
		return r.retrySeparately(ctx, d, b, reason)
	case errors.As(err, new(notAllowed)):
		wait := r.u.opts.Backoff.Max
		r.u.opts.Log.Error("a relay does not allow a service: its batches wait",
			"service", b.Service, "class", b.Meta.Class, "error", err, "retry_in", wait)
		b.Hold(wait)
		return nil
	case err != nil:
		r.requeue(b)
		return err
	}
	r.u.delivered(d, b, attempt)
	r.progress()
	return r.acknowledge(ctx, d, b, etag)
}

// acknowledge acknowledges a stored batch: the buffer removes it, and keeps its entity until the index has it.
func (r *run) acknowledge(ctx context.Context, d *destination, b *buffer.Batch, etag string) (err error) {
	crashpoint.Here("upload.before-done")
	if r.u.opts.NoIndex || d.relays != nil { // relays write the index themselves
		err = b.Done()
	} else if err = b.DoneWithEntity(etag); err == nil {
		r.index(ctx, b.Store(), r.u.opts.RetryFor)
	}
	crashpoint.Here("upload.after-done")
	return err
}

// memoryOf returns how many bytes of Options.Memory a batch takes.
func (u *Uploader) memoryOf(b *buffer.Batch) int64 { return min(b.Size, u.opts.Memory) }

// storeBlob creates the blob of a batch of a buffer, or sends the batch to a relay, releases its memory and returns the blob's ETag. An
// error that may be caused by the batch itself is a [suspect].
func (u *Uploader) storeBlob(ctx context.Context, from *buffer.Buffer, d *destination, b *buffer.Batch) (etag string, err error) {
	defer d.memory.Release(u.memoryOf(b))
	body, err := b.Body()
	if err != nil {
		return "", suspectFile(err)
	}
	if err := verify(ctx, body, b.Meta); err != nil {
		return "", suspectFile(err)
	}
	if d.relays != nil {
		return "", u.sendSegment(ctx, from, d, b, body)
	}
	return u.createBlob(ctx, d, b, body)
}

// createBlob creates a batch's blob under the first free name.
func (u *Uploader) createBlob(ctx context.Context, d *destination, b *buffer.Batch, body []byte) (etag string, err error) {
	// An earlier process may have created the recorded name.
	if b.Name() != "" {
		name, err := blobnaming.Parse(b.Name())
		if err != nil {
			return "", suspect{damaged, err}
		}
		etag, taken, err := u.create(ctx, d, b, body, name, true)
		if err != nil || !taken {
			return etag, err
		}
	}
	for {
		name, err := d.gate.next(ctx, b.Service, b.BucketStart)
		if err != nil {
			return "", err
		}
		if err := b.SetName(d.name, name.String()); err != nil {
			d.gate.unknown(name)
			return "", err
		}
		etag, taken, err := u.create(ctx, d, b, body, name, false)
		if err != nil || !taken {
			return etag, err
		}
	}
}

// create tries one name until its outcome is known: created (by this call or an earlier one), or
// taken by another batch. tried is set if an earlier create of this batch under this name may have
// been applied.
func (u *Uploader) create(
	ctx context.Context, d *destination, b *buffer.Batch, body []byte, name blobnaming.Name, tried bool,
) (etag string, taken bool, err error) {
	opts := store.CreateOptions{Metadata: b.Meta.Encode(), ContentType: contentType, ContentEncoding: contentEncoding, Tier: store.Hot}
	err = u.retry(ctx, &d.blobOutage, u.retryFor(b, d.name), func() error {
		request, err := d.limit.Acquire(ctx)
		if err != nil {
			return err
		}
		u.count(func(st *Stats) { st.Creates++ })
		crashpoint.Here("upload.before-create")
		etag, err = d.blobs.Create(ctx, name.String(), body, opts)
		crashpoint.Here("upload.after-create")
		d.limit.Release(request, err)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, store.ErrExists):
			tried = true
			return err
		}
		if tried {
			var own bool
			if etag, own, err = d.isOwnBlob(ctx, name.String(), body, b.Meta); own || err != nil {
				return err
			}
		}
		taken = true
		return nil
	})
	switch {
	case err != nil:
		d.gate.unknown(name)
		return "", false, err
	case taken:
		u.count(func(st *Stats) { st.Conflicts++ })
		d.gate.taken(name)
	default:
		d.gate.wrote(name)
	}
	return etag, taken, nil
}

// isOwnBlob reports whether the blob with a name is a batch with its body and metadata, and returns its ETag. Others may create a blob with
// the same Batch. Without permission to list and read, it assumes another one.
func (d *destination) isOwnBlob(ctx context.Context, name string, body []byte, meta blobnaming.Metadata) (etag string, own bool, err error) {
	found, exists, err := catalog.Lookup(ctx, d.blobs, name)
	if err == nil && exists && found.Size == int64(len(body)) && isMetadata(found.Metadata, meta) {
		var content []byte
		content, err = d.blobs.Read(ctx, found.Ref(), 0, found.Size)
		own = err == nil && bytes.Equal(content, body)
	}
	if errors.Is(err, store.ErrAccessDenied) || errors.Is(err, store.ErrNotFound) {
		return "", false, nil
	}
	return found.ETag, own, err
}

// isMetadata reports whether a blob's metadata are those of a segment.
func isMetadata(stored map[string]string, meta blobnaming.Metadata) bool {
	parsed, err := blobnaming.ParseMetadata(stored)
	return err == nil && parsed == meta
}
