package watch

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
	"logstow/store/local"
)

var update = flag.Bool("update", false, "rewrite testdata/watches.json")

// golden is an entity of testdata/watches.json.
type golden struct {
	Case   string
	Table  string
	Entity map[string]string
}

func goldenOf(name, container string, e store.Entity) golden {
	g := golden{Case: name, Table: Table(container), Entity: map[string]string{"PartitionKey": e.Partition, "RowKey": e.Row}}
	for _, property := range slices.Sorted(maps.Keys(e.Properties)) {
		kind := map[bool]string{true: "Int64", false: "String"}[isInt(e.Properties[property])]
		g.Entity[property] = fmt.Sprintf("%s %v", kind, e.Properties[property])
	}
	return g
}

func isInt(v any) bool {
	_, ok := v.(int64)
	return ok
}

func goldenFlushed() time.Time { return time.Date(2026, 11, 20, 15, 4, 5, 123456789, time.UTC) }

// goldenEntities are the entities of testdata/watches.json.
func goldenEntities() map[string]store.Entity {
	return map[string]store.Entity{
		"1 watch that was just created": watchEntity("web", 0, true),
		"2 watch with 20 shippers":      watchEntity("web", 20, false),
		"3 shipper that responds":       shipperEntity(Shipper{Service: "web", Instance: "pod-1"}),
		"4 shipper that has flushed":    shipperEntity(Shipper{Service: "web", Instance: "Web-7F9c_1.example", Flushed: goldenFlushed()}),
	}
}

// The entities are those of testdata/watches.json, which docs/format/watches.md describes.
func TestGolden(t *testing.T) {
	t.Parallel()
	entities := goldenEntities()
	var got []golden
	for _, name := range slices.Sorted(maps.Keys(entities)) {
		e := entities[name]
		if err := store.CheckEntities([]store.Entity{e}); err != nil {
			t.Error(err)
		}
		got = append(got, goldenOf(name[2:], "logs", e))
	}
	path := filepath.Join("..", "testdata", "watches.json")
	if *update {
		text, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want []golden
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Readers understand what writers wrote, and ignore other entities.
func TestReadBack(t *testing.T) {
	t.Parallel()
	s, err := local.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table := Table(s.Container())
	put := func(e store.Entity) {
		t.Helper()
		if err := s.Tables().Upsert(t.Context(), table, []store.Entity{e}); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := readWatches(t.Context(), s.Tables(), table, "a", "z"); err != nil || len(all) > 0 {
		t.Errorf("%v, %v without a table", all, err)
	}
	if err := s.Tables().CreateTable(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	for _, e := range goldenEntities() {
		put(e)
	}
	put(watchEntity("web", 20, false))
	put(watchEntity("web-2", 3, false))
	put(watchEntity("zoo", 1, true))
	put(store.Entity{Key: store.Key{Partition: "web", Row: "watch"}, Properties: map[string]any{propVersion: int64(version)}})
	put(store.Entity{Key: store.Key{Partition: watchPartition, Row: "api"}, Properties: map[string]any{propVersion: int64(2), propShippers: int64(9)}})
	for _, c := range []struct {
		first, last string
		want        []string
	}{
		{"web", "web", []string{"web 20"}},
		{"a", "web-2", []string{"web 20", "web-2 3"}},
		{"a", "zoo", []string{"web 20", "web-2 3", "zoo 1"}},
		{"x", "y", nil},
	} {
		all, err := readWatches(t.Context(), s.Tables(), table, c.first, c.last)
		var got []string
		for _, w := range all {
			if _, live := w.live(); !live {
				t.Errorf("%s is not live: written %v, read %v", w.Service, w.Written, w.Clock)
			}
			got = append(got, fmt.Sprintf("%s %d", w.Service, w.Shippers))
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s to %s: %q, %v, want %q", c.first, c.last, got, err, c.want)
		}
	}
	all, err := readShippers(context.Background(), s.Tables(), table, "web")
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if one, other := all[0], all[1]; one.Instance != "Web-7F9c_1.example" || !one.Flushed.Equal(goldenFlushed()) ||
		other.Instance != "pod-1" || !other.Flushed.IsZero() || !one.live() {
		t.Errorf("%+v", all)
	}
}
