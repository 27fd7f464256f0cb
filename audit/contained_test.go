package audit_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/audit"
	"logstow/blobnaming"
	"logstow/compaction"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/tableindex"
)

// depths are all, the shallowest first.
func depths() []audit.Depth { return []audit.Depth{audit.Listing, audit.Footers, audit.Blocks} }

// wantFound fails the test if a comparison of some depth finds other differences.
func wantFound(t *testing.T, s store.Store, when string, want ...string) {
	t.Helper()
	for _, depth := range depths() {
		if diff := cmp.Diff(append([]string{}, want...), verify(t, s, audit.Options{Depth: depth})); diff != "" {
			t.Errorf("%s, depth %d: %s", when, depth, diff)
		}
	}
}

// compacted makes an output of segments, which stay, and returns its entity, which is not written.
func compacted(t *testing.T, s store.Store, segments []made) tableindex.Entity {
	t.Helper()
	for i := range segments {
		segments[i].whole(t, s)
	}
	o := compaction.DefaultOptions()
	o.After, o.Grace, o.MaxAge, o.TempDir, o.KeepInputs = 0, 0, 100*365*24*time.Hour, t.TempDir(), true
	if report, err := compaction.Run(t.Context(), s, o); err != nil || report.Err() != nil || report.Outputs != 1 {
		t.Fatal(report, err)
	}
	name := blobnaming.OutputName("api", hour(), "", 1).String()
	var entity tableindex.Entity
	for page, err := range s.Compacted().List(t.Context(), name) {
		if err == nil && len(page) == 1 {
			entity, err = tableindex.NewEntity(page[0])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	entity.Minutes = minutesOf(t, s, entity)
	return entity
}

// What compaction leaves between its steps is no difference.
func TestCompactionSteps(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		segments := []made{newSegment(t, "api", "", hour(), 1, 5), newSegment(t, "api", "", hour().Add(30*time.Minute), 2, 6), newSegment(t, "api", "", hour(), 3, 7)}
		output := compacted(t, s, segments)
		name := output.Name.String()
		wantFound(t, s, "created")
		if left, report := reindex(t, s, audit.Options{}); len(left) > 0 || report.Written > 0 {
			t.Errorf("%q remain, %d entities written", left, report.Written)
		}

		// The index has its records only if the output has an entity.
		unindex(t, s, segments[0].entity)
		wantFound(t, s, "an input without entity", "missing-entity "+segments[0].entity.Name.String())
		remove(t, s, segments[0].entity.Name.String())
		wantFound(t, s, "an input removed", "missing-entity "+name)
		if left, report := reindex(t, s, audit.Options{}); len(left) > 0 || report.Written != 1 {
			t.Errorf("%q remain, %d entities written", left, report.Written)
		}
		wantFound(t, s, "indexed")

		unindex(t, s, segments[1].entity)
		wantFound(t, s, "inputs without entities")
		if left, report := reindex(t, s, audit.Options{}); len(left) > 0 || report.Written > 0 {
			t.Errorf("%q remain, %d entities written", left, report.Written)
		}
		remove(t, s, segments[1].entity.Name.String())
		late := newSegment(t, "api", "", hour(), 4, 8)
		create(t, s, &late, late.entity.Meta.Encode())
		wantFound(t, s, "a late segment", "missing-entity "+late.entity.Name.String())
		index(t, s, late.entity)
		unindex(t, s, segments[2].entity)
		remove(t, s, segments[2].entity.Name.String())
		wantFound(t, s, "all inputs removed")

		before := indexed(t, s)
		dropTables(t, s)
		if left, report := reindex(t, s, audit.Options{}); len(left) > 0 || report.Written != 2 {
			t.Errorf("%q remain, %d entities written", left, report.Written)
		}
		if diff := cmp.Diff(before, indexed(t, s)); diff != "" {
			t.Errorf("the index rebuilt (-before +after):\n%s", diff)
		}
	})
}

// A rejected output has no entity, whatever it holds.
func TestRejectedOutput(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, s store.Store) {
		segments := []made{newSegment(t, "api", "", hour(), 1, 5), newSegment(t, "api", "", hour(), 2, 6)}
		output := compacted(t, s, segments)
		name := output.Name.String()
		if err := compaction.Reject(t.Context(), s, name); err != nil {
			t.Fatal(err)
		}
		wantFound(t, s, "rejected")
		if left, report := reindex(t, s, audit.Options{}); len(left) > 0 || report.Written > 0 || report.Foreign > 0 {
			t.Errorf("%q remain, %d entities written, %d foreign blobs", left, report.Written, report.Foreign)
		}
		unindex(t, s, segments[0].entity)
		wantFound(t, s, "a former input without entity", "missing-entity "+segments[0].entity.Name.String())
		index(t, s, segments[0].entity)

		index(t, s, output)
		wantFound(t, s, "the entity is back", "stray-entity "+name)
		if left, report := reindex(t, s, audit.Options{}); len(left) > 0 || report.Removed != 1 {
			t.Errorf("%q remain, %d entities removed", left, report.Removed)
		}
		wantFound(t, s, "reindexed")
		dropTables(t, s)
		if left, report := reindex(t, s, audit.Options{}); len(left) > 0 || report.Written != 2 {
			t.Errorf("%q remain, %d entities written", left, report.Written)
		}
	})
}

// A damaged list of inputs is found by a listing where it matters, and the inputs need entities.
func TestDamagedList(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	segments := []made{newSegment(t, "api", "", hour(), 1, 5), newSegment(t, "api", "", hour(), 2, 6)}
	output := compacted(t, s, segments)
	name := output.Name.String()
	body, err := s.Compacted().Read(t.Context(), store.BlobRef{Name: name}, 0, output.Size)
	if err != nil {
		t.Fatal(err)
	}
	body = slices.Clone(body)
	body[output.Meta.Origins+4]++
	remove(t, s, name)
	damaged := made{output, body}
	create(t, s, &damaged, output.Meta.Encode())
	unindex(t, s, segments[0].entity)
	input := "missing-entity " + segments[0].entity.Name.String()
	wantFound(t, s, "damaged", "bad-segment "+name, "missing-entity "+name, input)
}

// A blob under the name of an output that is none, and an output under another's name, are found. What claims to be an output in the raw
// container is no difference: it is ignored and named.
func TestOutputNames(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	plain := newSegment(t, "api", "", hour(), 1, 5)
	plain.entity.Name = blobnaming.OutputName("api", hour(), "", 1)
	create(t, s, &plain, plain.entity.Meta.Encode())
	wantFound(t, s, "no output", "bad-metadata "+plain.entity.Name.String())
	remove(t, s, plain.entity.Name.String())

	output := compacted(t, s, []made{newSegment(t, "api", "", hour(), 1, 5), newSegment(t, "api", "", hour(), 2, 6)})
	body, err := s.Compacted().Read(t.Context(), store.BlobRef{Name: output.Name.String()}, 0, output.Size)
	if err != nil {
		t.Fatal(err)
	}
	copied := made{output, body}
	copied.entity.Name = blobnaming.OutputName("api", hour(), "audit", 1)
	create(t, s, &copied, output.Meta.Encode())
	wantFound(t, s, "of another class", "bad-metadata "+copied.entity.Name.String())
	remove(t, s, copied.entity.Name.String())

	misplaced := []string{output.Name.String(), "api/2026/11/19/1500/000077.log", blobnaming.RejectionOf(output.Name)}
	for _, name := range misplaced {
		if _, err := s.Blobs().Create(t.Context(), name, body, store.CreateOptions{Metadata: output.Meta.Encode()}); err != nil {
			t.Fatal(err)
		}
	}
	report, err := audit.Verify(t.Context(), s, audit.Options{OnDifference: func(d audit.Difference) { t.Error(d) }})
	slices.Sort(misplaced)
	if err != nil || report.Err() != nil || report.Misplaced != 3 || !slices.Equal(report.MisplacedNames, misplaced) {
		t.Errorf("%v, %+v", err, report)
	}
}

// Of two segments with the same Batch and different metadata, the listing tells that one is wrong, and the footers which.
func TestTwins(t *testing.T) {
	t.Parallel()
	s := storetest.OpenLocal(t)
	own := newSegment(t, "api", "", hour(), 1, 5)
	own.whole(t, s)
	same := own
	same.entity.Name.Number = 2
	same.whole(t, s)
	wantFound(t, s, "a copy")
	twin := own
	twin.entity.Name.Number = 3
	twin.entity.Meta.Seq++
	twin.whole(t, s)
	wantFound(t, s, "a twin", "wrong-metadata "+twin.entity.Name.String())
}

// minutesOf are those of a stored segment's footer.
func minutesOf(t *testing.T, s store.Store, entity tableindex.Entity) []record.Minute {
	t.Helper()
	body, err := s.Compacted().Read(t.Context(), store.BlobRef{Name: entity.Name.String()}, 0, entity.Size)
	if err != nil {
		t.Fatal(err)
	}
	footer, err := segment.Verify(t.Context(), ranges(body), entity.Size)
	if err != nil {
		t.Fatal(err)
	}
	return footer.Minutes
}
