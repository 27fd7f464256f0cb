package tableindex_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/store"
	"logstow/tableindex"
)

// The hours of a day, however it is divided, have each of its entities once, those of other keys too,
// and each hour the entities of its segments.
func TestHours(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many ranges")
	rng, tables := testrand.New(t), openTables(t)
	midnight := at(t, "2026-11-20T00:00:00Z")
	var entities []tableindex.Entity
	for n := range uint64(600) {
		start := midnight.Add(time.Duration(rng.Int64N(int64(24 * time.Hour))))
		switch rng.IntN(5) {
		case 0:
			start = start.Truncate(time.Hour)
		case 1:
			start = start.Truncate(time.Hour).Add(time.Hour - 1)
		}
		entities = append(entities, newEntity([]string{"a", "a-b"}[rng.IntN(2)], fmt.Sprint(rng.IntN(40)), "", n+1, start))
	}
	put(t, tables, entities...)
	all, err := tableindex.Tables(t.Context(), tables, "logs")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	for _, row := range []string{"0", "~", "5000000000000000000", entities[0].Key().Row + "x"} {
		odd := store.Entity{Key: store.Key{Partition: "a|07", Row: row}, Properties: map[string]any{"Type": "segment"}}
		if err := tables.Upsert(t.Context(), all[0].Name, []store.Entity{odd}); err != nil {
			t.Fatal(err)
		}
	}
	wanted := entities[:0]
	for _, entity := range entities {
		if entity.Name.Service == "a" {
			wanted = append(wanted, entity)
		}
	}
	sortEntities(wanted)
	for range 20 {
		cuts := []int{0, 24}
		for range rng.IntN(5) {
			cuts = append(cuts, rng.IntN(25))
		}
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		var got []tableindex.Entity
		malformed := 0
		for i := range cuts[1:] {
			for page, err := range tableindex.Hours(t.Context(), tables, "logs", all[0], "a", cuts[i], cuts[i+1]) {
				var entity *tableindex.EntityError
				switch {
				case errors.As(err, &entity):
					malformed++
				case err != nil:
					t.Fatal(err)
				}
				for _, entity := range page {
					if hour := entity.Name.Bucket.Hour(); hour < cuts[i] || hour >= cuts[i+1] {
						t.Errorf("%s is of the hours from %d to %d", entity.Name, cuts[i], cuts[i+1])
					}
				}
				got = append(got, page...)
			}
		}
		sortEntities(got)
		if diff := cmp.Diff(wanted, got); diff != "" || malformed != 4 {
			t.Fatalf("divided at %v: %d malformed, %s", cuts, malformed, diff)
		}
	}
}

// asked counts the requests of queries.
type asked struct {
	inner
	pages atomic.Int64
}

func (a *asked) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return func(yield func([]store.Entity, error) bool) {
		for page, err := range a.inner.Query(ctx, table, q) {
			a.pages.Add(1)
			if !yield(page, err) {
				return
			}
		}
	}
}

// An entity with a property of another type, which makes storage's whole answer unreadable, is
// named, and all others come, in few requests more.
func TestWrongTypes(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many ranges")
	rng, tables := testrand.New(t), &asked{inner: openTables(t)}
	noon := at(t, "2026-11-20T12:00:00Z")
	var entities []tableindex.Entity
	for n := range uint64(2500) {
		entities = append(entities, newEntity("a", []string{"i", "j"}[rng.IntN(2)], "", n+1, noon.Add(time.Duration(n))))
	}
	put(t, tables, entities...)
	var wrong []store.Key
	last := max(newEntity("a", "i", "", 1, noon).Key().Partition, newEntity("a", "j", "", 1, noon).Key().Partition)
	for len(wrong) < 3 {
		i := rng.IntN(len(entities))
		if entities[i].Key().Partition != last {
			continue // so that whole pages come before
		}
		spoil(t, tables, entities[i], map[string]any{"Records": "many"})
		wrong = append(wrong, entities[i].Key())
		entities = slices.Delete(entities, i, i+1)
	}
	sortEntities(entities)
	sortKeys := func(a, b store.Key) int {
		return slices.Compare([]string{a.Partition, a.Row}, []string{b.Partition, b.Row})
	}
	slices.SortFunc(wrong, sortKeys)
	table := entities[0].Table("logs")
	for name, read := range map[string]iter.Seq2[[]tableindex.Entity, error]{
		"entities": tableindex.Entities(t.Context(), tables, "logs", table, ""),
		"hours":    tableindex.Hours(t.Context(), tables, "logs", tableindex.Table{Name: table, Day: noon.Truncate(24 * time.Hour)}, "a", 12, 13),
		"range":    tableindex.Range(t.Context(), tables, "logs", "a", noon, noon.Add(time.Hour)),
	} {
		tables.pages.Store(0)
		var got []tableindex.Entity
		var named []store.Key
		for page, err := range read {
			var entity *tableindex.EntityError
			switch {
			case errors.As(err, &entity) && entity.Table == table:
				named = append(named, entity.Key)
			case err != nil:
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, page...)
		}
		sortEntities(got)
		slices.SortFunc(named, sortKeys)
		if diff := cmp.Diff(entities, got) + cmp.Diff(wrong, named); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if n := tables.pages.Load(); n > 100 {
			t.Errorf("%s: %d requests", name, n)
		}
	}

	// The loop may end at any point.
	for range tableindex.Entities(t.Context(), tables, "logs", table, "") {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var failed error
	for _, err := range tableindex.Entities(ctx, tables, "logs", table, "") {
		cancel()
		failed = err
	}
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("ended: %v", failed)
	}
}

// Entities in no service's partition are returned separately.
func TestSurvey(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	entity := newEntity("a", "i", "", 1, at(t, "2026-11-20T12:00:00Z"))
	put(t, tables, entity, newEntity("b", "i", "", 1, at(t, "2026-11-20T12:00:00Z")))
	var want []store.Key
	for _, partition := range []string{"A|00", "a", "a|", "a|0", "a|0A", "a|11", "a|zz", "|00"} {
		odd := store.Entity{Key: store.Key{Partition: partition, Row: "x"}, Properties: map[string]any{"Type": "segment"}}
		if err := tables.Upsert(t.Context(), entity.Table("logs"), []store.Entity{odd}); err != nil {
			t.Fatal(err)
		}
		want = append(want, odd.Key)
	}
	services, lost, err := tableindex.Survey(t.Context(), tables, entity.Table("logs"))
	slices.SortFunc(lost, func(a, b store.Key) int { return slices.Compare([]string{a.Partition}, []string{b.Partition}) })
	slices.SortFunc(want, func(a, b store.Key) int { return slices.Compare([]string{a.Partition}, []string{b.Partition}) })
	if diff := cmp.Diff([]string{"a", "b"}, services) + cmp.Diff(want, lost); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	if services, lost, err := tableindex.Survey(t.Context(), tables, "segments98f38f1219700101"); len(services)+len(lost) != 0 || err != nil {
		t.Errorf("a missing table: %v, %v, %v", services, lost, err)
	}
}

type underlying = store.Tables

// compacting replaces the entities of a day by one of an output while the first of them are read.
type compacting struct {
	underlying
	once    sync.Once
	compact func()
}

func (c *compacting) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	c.once.Do(c.compact)
	return c.underlying.Query(ctx, table, q)
}

// The first output of a day has a table that did not exist when the query began.
func TestFirstOutputMeanwhile(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	hour := at(t, "2026-11-20T15:00:00Z")
	input, output := newEntity("x", "pod-1", "", 1, hour.Add(time.Minute)), newOutput("x", 1, hour, hour.Add(time.Hour))
	put(t, tables, input)
	c := &compacting{underlying: tables, compact: func() {
		put(t, tables, output)
		if err := tableindex.Remove(t.Context(), tables, input.Table("logs"), []store.Key{input.Key()}); err != nil {
			t.Error(err)
		}
	}}
	var got []blobnaming.Name
	for page, err := range tableindex.Range(t.Context(), c, "logs", "x", hour, hour.Add(time.Hour)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			got = append(got, e.Name)
		}
	}
	if len(got) != 1 || got[0] != output.Name {
		t.Errorf("%v, want the output", got)
	}
}

// Entities of outputs are read after those of their inputs, from tables of their own: an entity that compaction removes meanwhile is in
// an output that is read later.
func TestOutputsComeLast(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	hour := at(t, "2026-11-20T15:00:00Z")
	output := newOutput("x", 1, hour.Add(-10*time.Hour), hour.Add(2*time.Hour)) // ends in a later hour than the range
	entities := []tableindex.Entity{output}
	for i := range 40 { // in all partitions
		entities = append(entities, newEntity("x", fmt.Sprintf("pod-%d", i), "", uint64(i+1), hour.Add(time.Minute)))
	}
	if err := tableindex.Put(t.Context(), tables, "logs", entities); err != nil {
		t.Fatal(err)
	}
	var got []tableindex.Entity
	for page, err := range tableindex.Range(t.Context(), tables, "logs", "x", hour, hour.Add(time.Hour)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page...)
	}
	if len(got) != len(entities) || got[len(got)-1].Name != output.Name {
		t.Errorf("%d entities, the last %v", len(got), got[len(got)-1].Name)
	}
	of, err := tableindex.Tables(t.Context(), tables, "logs")
	if err != nil || len(of) != 2 || of[0].Outputs || !of[1].Outputs || of[1].Name != output.Table("logs") || !of[1].Day.Equal(output.Name.Bucket) {
		t.Fatalf("%+v, error %v", of, err)
	}
	for i, want := range []int{40, 1} {
		n := 0
		for page, err := range tableindex.Entities(t.Context(), tables, "logs", of[i].Name, "x") {
			if err != nil {
				t.Fatal(err)
			}
			n += len(page)
		}
		if n != want {
			t.Errorf("%s has %d entities", of[i].Name, n)
		}
	}
}
