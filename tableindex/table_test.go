package tableindex_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
	"logstow/tableindex"
)

func TestTables(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	noon := at(t, "2026-11-20T12:00:00Z")
	entities := []tableindex.Entity{
		newEntity("a", "i", "", 1, noon),
		newEntity("a", "j", "", 2, noon),
		newEntity("a-b", "i", "", 1, noon),
		newEntity("ab", "i", "", 1, noon),
		newEntity("a", "i", "audit", 1, noon.AddDate(0, 0, 1)),
	}
	if err := tableindex.Put(t.Context(), tables, "logs", entities); err != nil {
		t.Fatal(err)
	}
	if err := tableindex.Put(t.Context(), tables, "other", entities[:1]); err != nil {
		t.Fatal(err)
	}
	if err := tables.CreateTable(t.Context(), "segments98f38f12NO20261120"); err != nil {
		t.Fatal(err)
	}
	all, err := tableindex.Tables(t.Context(), tables, "logs")
	want := []tableindex.Table{
		{Name: "segments98f38f1220261120", Day: at(t, "2026-11-20T00:00:00Z")},
		{Name: "segments98f38f12audit20261121", Class: "audit", Day: at(t, "2026-11-21T00:00:00Z")},
	}
	if diff := cmp.Diff(want, all); diff != "" || err != nil {
		t.Fatalf("%v, %s", err, diff)
	}
	if got := entities[4].Table("logs"); got != want[1].Name {
		t.Errorf("table %s, want %s", got, want[1].Name)
	}
	services, err := tableindex.Services(t.Context(), tables, want[0].Name)
	if diff := cmp.Diff([]string{"a", "a-b", "ab"}, services); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	for service, count := range map[string]int{"": 4, "a": 2, "a-b": 1, "b": 0} {
		got, err := collectEntities(t, tables, want[0].Name, service)
		if len(got) != count || err != nil {
			t.Errorf("service %q: %d entities, %v; want %d", service, len(got), err, count)
		}
	}

	// An entity of another form is reported, and the others still come.
	stranger := store.Entity{Key: store.Key{Partition: "a|05", Row: "x"}, Properties: map[string]any{"Type": "segment"}}
	if err := tables.Upsert(t.Context(), want[0].Name, []store.Entity{stranger}); err != nil {
		t.Fatal(err)
	}
	got, err := collectEntities(t, tables, want[0].Name, "")
	var malformed *tableindex.EntityError
	if len(got) != 4 || !errors.As(err, &malformed) || malformed.Key != stranger.Key {
		t.Errorf("%d entities, %v", len(got), err)
	}

	keys := []store.Key{stranger.Key, entities[0].Key(), entities[1].Key(), entities[0].Key(), entities[3].Key()}
	for range 2 {
		if err := tableindex.Remove(t.Context(), tables, want[0].Name, keys); err != nil {
			t.Fatal(err)
		}
	}
	got, err = collectEntities(t, tables, want[0].Name, "")
	if diff := cmp.Diff(entities[2:3], got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	if got, err := collectEntities(t, tables, "segments98f38f1219700101", ""); len(got) != 0 || err != nil {
		t.Errorf("a missing table has %v, %v", got, err)
	}
	if err := tableindex.Remove(t.Context(), tables, "segments98f38f1219700101", keys); err != nil {
		t.Errorf("remove from a missing table: %v", err)
	}
}

// collectEntities are a table's entities and what could not be read.
func collectEntities(t *testing.T, tables store.TableReader, table, service string) (all []tableindex.Entity, err error) {
	t.Helper()
	for entities, rowErr := range tableindex.Entities(t.Context(), tables, "logs", table, service) {
		all, err = append(all, entities...), errors.Join(err, rowErr)
	}
	return all, err
}

func TestNewEntity(t *testing.T) {
	t.Parallel()
	want := newEntity("a", "i", "audit", 1, at(t, "2026-11-20T12:00:00Z"))
	blob := store.Blob{Name: want.Name.String(), ETag: want.ETag, Size: want.Size, Metadata: want.Meta.Encode()}
	got, err := tableindex.NewEntity(blob)
	want.Minutes = nil
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v, %s", err, diff)
	}
	foreign, moved, bare := blob, blob, blob
	foreign.Name, moved.Name, bare.Metadata = "a/readme.txt", "a/2026/11/20/1300/000001.log", nil
	for _, b := range []store.Blob{foreign, moved, bare} {
		if _, err := tableindex.NewEntity(b); err == nil {
			t.Errorf("%s is an entity", b.Name)
		}
	}
}
