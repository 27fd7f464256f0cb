package compaction

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/internal/crashpoint"
	"logstow/internal/retry"
	"logstow/internal/units"
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

// commit creates an output on condition that its name is free. The name is the lock: of all compactions that make a generation, one
// succeeds. If it is taken, the finished output becomes the next free generation, unless one of the new ones shares an input with it:
// then the outcome is taken. The error is [ErrGap] if a name is free again, and [ErrDamaged] if a list cannot be read.
func (r *run) commit(ctx context.Context, scope catalog.Scope, b *built, inputs []catalog.Segment) (outcome, error) {
	known := make(map[store.BlobRef]catalog.Output)
	for {
		result, err := r.create(ctx, b)
		if err != nil || result != taken {
			return result, err
		}
		if result, err = r.next(ctx, scope, b, inputs, known); err != nil || result == taken {
			return result, err
		}
	}
}

// create creates an output. It retries until the outcome is known.
func (r *run) create(ctx context.Context, b *built) (outcome, error) {
	runtime.GC() // the body may take 64 MiB: together with what the merge left, that would exceed the memory limit
	body, err := b.read(ctx, 0, b.size)
	if err != nil {
		return unknown, err
	}
	opts := store.CreateOptions{Metadata: b.meta.Encode(), ContentType: contentType, ContentEncoding: contentEncoding, Tier: store.Hot}
	result := unknown
	err = retry.Do(ctx, func() error {
		crashpoint.Here("compact.before-create")
		_, err := r.store.Compacted().Create(ctx, b.name.String(), body, opts)
		crashpoint.Here("compact.after-create")
		var found *blobnaming.Metadata
		if errors.Is(err, store.ErrExists) {
			var lookErr error
			if found, lookErr = r.metadata(ctx, b.name.String()); lookErr != nil {
				return lookErr
			}
			if found == nil {
				return fmt.Errorf("%s is free again: %w", b.name, ErrGap) // retention is deleting the day
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

// metadata returns the metadata of the output with a name, empty if it cannot be read; nil if there is no such blob.
func (r *run) metadata(ctx context.Context, name string) (*blobnaming.Metadata, error) {
	b, found, err := catalog.Lookup(ctx, r.store.Compacted(), name)
	if err != nil || !found {
		return nil, err
	}
	m, err := blobnaming.ParseMetadata(b.Metadata)
	if err != nil {
		m = blobnaming.Metadata{}
	}
	return &m, nil
}

// next gives an output whose name is taken the name of the next generation. The outcome is taken if another output shares an input.
func (r *run) next(ctx context.Context, scope catalog.Scope, b *built, inputs []catalog.Segment, known map[store.BlobRef]catalog.Output) (outcome, error) {
	chain := &Chain{Scope: scope}
	d := catalog.Day{Service: scope.Service, Day: scope.Day}
	for page, err := range r.catalog.Outputs(ctx, scope.Service, scope.Day, scope.Day.Add(day)) {
		if err != nil {
			return unknown, fmt.Errorf("cannot list outputs of %s: %w", scope, err)
		}
		d.Compacted = append(d.Compacted, page...)
	}
	for _, c := range Chains(&d) {
		if c.Scope == scope {
			chain = c
		}
	}
	if err := r.readOutputs(ctx, chain.Outputs, known); err != nil {
		return unknown, err
	}
	return rename(chain, b, inputs)
}

// rename decides by the outputs of a chain, whose lists have been read, whether a finished output can be the next generation.
func rename(chain *Chain, b *built, inputs []catalog.Segment) (outcome, error) {
	generation := len(chain.Outputs) + 1
	switch err := chain.check(); {
	case err != nil:
		return unknown, err
	case generation <= b.name.Output():
		return unknown, fmt.Errorf("%s is free again: %w", b.name, ErrGap)
	case generation > blobnaming.MaxGeneration:
		return unknown, fmt.Errorf("%s has %s", chain.Scope, units.Count(generation-1, "generation"))
	}
	for _, p := range catalog.Contain(inputs, chain.Outputs) {
		if p.Contained() {
			return taken, nil
		}
	}
	b.name = blobnaming.OutputName(chain.Service, chain.Day, chain.Class, generation)
	return unknown, nil
}
