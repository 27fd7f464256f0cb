package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"logstow/blobnaming"
	"logstow/internal/crashpoint"
	"logstow/internal/retry"
	"logstow/store"
)

// The headers of an output's blob, as of any segment.
const (
	contentType     = "text/plain; charset=utf-8"
	contentEncoding = "zstd"
)

// outcome is the outcome of creating an output.
type outcome uint8

const (
	// unknown: the create may or may not have been applied.
	unknown outcome = iota
	// committed: the output exists, made by this create, an earlier one or another compaction.
	committed
	// taken: another output has the name.
	taken
)

// judge determines the outcome of a create by its error and the metadata of the blob that has the name afterwards, nil if
// there is none. A blob with the same Batch is success: the response to an earlier create was lost.
func judge(created error, found *blobnaming.Metadata, batch blobnaming.Batch) outcome {
	switch {
	case created == nil:
		return committed
	case !errors.Is(created, store.ErrExists) || found == nil:
		return unknown
	case found.IsOutput() && found.Batch == batch:
		return committed
	}
	return taken
}

// commit creates an output on condition that its name is free. It retries until the outcome is known. The name is the lock: of
// all compactions that make this generation, one succeeds.
func (r *run) commit(ctx context.Context, b *built) (outcome, error) {
	body, err := b.read(ctx, 0, b.size)
	if err != nil {
		return unknown, err
	}
	opts := store.CreateOptions{Metadata: b.meta.Encode(), ContentType: contentType, ContentEncoding: contentEncoding}
	result := unknown
	err = retry.Do(ctx, func() error {
		crashpoint.Here("compact.before-create")
		_, err := r.store.Blobs().Create(ctx, b.name.String(), body, opts)
		crashpoint.Here("compact.after-create")
		var found *blobnaming.Metadata
		if errors.Is(err, store.ErrExists) {
			var lookErr error
			if found, lookErr = r.metadata(ctx, b.name.String()); lookErr != nil {
				return lookErr
			}
			if found == nil {
				// The blob is gone again: retention is deleting the hour.
				return fmt.Errorf("%s: %w", b.name, ErrGap)
			}
		}
		if result = judge(err, found, b.meta.Batch); result != unknown {
			return nil
		}
		return err
	})
	if err != nil {
		return unknown, fmt.Errorf("cannot create output: %w", err)
	}
	return result, nil
}

// metadata returns the metadata of the blob with a name, empty if it cannot be read;
// nil if there is no such blob.
func (r *run) metadata(ctx context.Context, name string) (*blobnaming.Metadata, error) {
	for page, err := range r.store.Blobs().List(ctx, name) {
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(page, func(b store.Blob) bool { return b.Name == name }); i >= 0 {
			m, err := blobnaming.ParseMetadata(page[i].Metadata)
			if err != nil {
				m = blobnaming.Metadata{}
			}
			return &m, nil
		}
	}
	return nil, nil
}
