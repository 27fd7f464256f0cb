package compaction_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"logstow/compaction"
	"logstow/internal/test/testrand"
	"logstow/store"
)

// immutable is a store whose container keeps all blobs.
type immutable struct {
	store.Store
	err error
}

func (i immutable) IsImmutable(context.Context) (bool, error) { return i.err == nil, i.err }

// Where nothing can be removed, nothing is merged, unless inputs are to be kept.
func TestImmutableContainer(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	newFleet(t, s, testrand.New(t), "web").fill(hour(), 4, 20)
	o := compaction.DefaultOptions()
	o.After, o.Grace, o.TempDir = 0, 0, t.TempDir()
	if r, err := compaction.Run(t.Context(), immutable{Store: s}, o); !errors.Is(err, compaction.ErrImmutable) || r.Requests.Total() != 0 || r.Complete {
		t.Errorf("%v, %+v", err, r)
	}
	failed := errors.New("failed")
	if _, err := compaction.Run(t.Context(), immutable{Store: s, err: failed}, o); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	o.DryRun = true
	if r, err := compaction.Run(t.Context(), immutable{Store: s}, o); err != nil || r.Inputs != 20 || r.Removed != 20 || r.SoftDeleteUSD <= 0 {
		t.Errorf("dry run: %v, %+v", err, r)
	}
	o.DryRun, o.KeepInputs = false, true
	if r, err := compaction.Run(t.Context(), immutable{Store: s}, o); err != nil || r.Inputs != 20 || r.Removed != 0 {
		t.Errorf("keeping inputs: %v, %+v", err, r)
	}
}

// cooled is a store in which some blobs were moved to another tier.
type cooled struct {
	store.Store
	tiers map[string]store.Tier
}

func (c cooled) Blobs() store.Blobs     { return cooledBlobs{c.Store.Blobs(), c.tiers} }
func (c cooled) Compacted() store.Blobs { return cooledBlobs{c.Store.Compacted(), c.tiers} }

type cooledBlobs struct {
	store.Blobs
	tiers map[string]store.Tier
}

func (b cooledBlobs) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		for page, err := range b.Blobs.List(ctx, prefix) {
			page = slices.Clone(page)
			for i := range page {
				page[i].Tier = b.tiers[page[i].Name]
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

// Segments of another tier are not merged, which is no failure; the report has their number.
func TestOtherTiersAreReported(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	newFleet(t, s, testrand.New(t), "web").fill(hour(), 4, 20)
	all := names(t, s)
	o := options(t)
	for _, dry := range []bool{true, false} {
		o.DryRun = dry
		r := run(t, cooled{s, map[string]store.Tier{all[0]: store.Cool, all[1]: store.Cold, all[2]: "Archive", all[3]: store.Hot}}, o)
		if r.OtherTier != 3 || r.Inputs != 17 || !r.Complete {
			t.Errorf("dry run %v: %+v", dry, r)
		}
	}
	if left := names(t, s); len(left) != 4 {
		t.Errorf("%q remain", left)
	}
}
