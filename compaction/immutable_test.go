package compaction_test

import (
	"context"
	"errors"
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
