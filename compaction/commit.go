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

// The headers of an output's blob: those of every segment's.
const (
	contentType     = "text/plain; charset=utf-8"
	contentEncoding = "zstd"
)

// outcome is what became of the creation of an output.
type outcome uint8

const (
	// unknown: the create may have been applied or not.
	unknown outcome = iota
	// committed: the output is there, made by this create, an earlier one or another compaction.
	committed
	// taken: another output has the name.
	taken
)

// judge determines the outcome of a create from its error and the blob that then has the name,
// if any: after a lost response, the same Batch under the name is success. It is pure.
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

// commit creates an output, on condition that its name is free, until the outcome
// is known. The name is the lock: of all compactions that make this generation, one succeeds.
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
				// Gone again: retention deletes it. Nothing is to be made here.
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
