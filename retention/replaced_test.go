package retention_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/retention"
	"logstow/store"
	"logstow/tableindex"
)

// taking is a store in which, between a listing and the deletion, a blob goes and
// another takes its name: as when two runs and a shipper of late records meet.
type taking struct {
	store.Store
	entity tableindex.Entity
}

func (s taking) Blobs() store.Blobs     { return takingBlobs{s.Store.Blobs(), s} }
func (s taking) Compacted() store.Blobs { return takingBlobs{s.Store.Compacted(), s} }

type takingBlobs struct {
	store.Blobs
	s taking
}

func (b takingBlobs) Delete(ctx context.Context, versions []store.BlobRef) error {
	name := b.s.entity.Name.String()
	if slices.ContainsFunc(versions, func(v store.BlobRef) bool { return v.Name == name }) {
		if err := b.Blobs.Delete(ctx, store.AnyVersion(name)); err != nil {
			return err
		}
		if err := putEntities(ctx, b.s.Store, []tableindex.Entity{b.s.entity}); err != nil {
			return err
		}
	}
	return b.Blobs.Delete(ctx, versions)
}

// A blob of a class that stays is not deleted under the name of one that goes.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		past := firstDay().AddDate(0, 0, -9)
		for number := range uint64(3) {
			put(t, s, "api", "", past, number+1)
		}
		entity := newEntity("api", "audit", past, 2)
		policy := retention.Policy{Keep: map[string]time.Duration{"": day, "audit": 30 * day}}
		report, err := retain(t.Context(), taking{s, entity}, policy, retention.Options{})
		if err != nil || report.Err() != nil {
			t.Fatal(err, report.Err())
		}
		label := "table audit" + past.Format(time.DateOnly)
		want := []string{entity.Name.String(), label, label + " " + entity.Name.String()}
		if diff := cmp.Diff(want, state(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}
