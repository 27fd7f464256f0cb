package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logstow/store"
	"logstow/store/open"
	"logstow/watch"
)

// TestWatchTable runs everything that maintains a store, and looks whether the table of watches is as it was.
func TestWatchTable(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s target) {
		log := filepath.Join(t.TempDir(), "old.log")
		if err := os.WriteFile(log, []byte("2024-03-05T16:00:00Z one\n2024-03-06T16:00:00Z two\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.must(t, "shipper", "run", "--once", "--service", "web", "--instance", "vm-1", log)
		s.must(t, "shipper", "run", "--once", "--service", "web", "--instance", "vm-2", log)
		opened, err := open.Store(t.Context(), s.store, open.Options{Getenv: func(name string) string {
			for _, v := range s.env {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		table := watch.Table(opened.Container())
		if err := opened.Tables().CreateTable(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		written := []store.Entity{
			{Key: store.Key{Partition: "watch|", Row: "web"}, Properties: map[string]any{"V": int64(1), "Shippers": int64(2)}},
			{Key: store.Key{Partition: "web", Row: "shipper|vm-1"}, Properties: map[string]any{"V": int64(1), "Flushed": int64(1)}},
		}
		for i := range written { // of several partitions
			if err := opened.Tables().Upsert(t.Context(), table, written[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		entities := func() (all []string) {
			t.Helper()
			q := store.Query{PartitionTo: "~", Times: true, Columns: []store.Column{{Name: "V", Kind: store.Int64}, {Name: "Shippers", Kind: store.Int64}, {Name: "Flushed", Kind: store.Int64}}}
			for page, err := range opened.Tables().Query(t.Context(), table, q) {
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page {
					all = append(all, fmt.Sprint(e.Key, e.Properties, e.Written))
				}
			}
			return all
		}
		want := entities()
		if len(want) != len(written) {
			t.Fatalf("%q", want)
		}
		for _, args := range [][]string{
			{"verify", "--full"},
			{"reindex", "--deep"},
			{"compact", "--max-age", "36500d", "--grace", "0s"},
			{"verify", "--deep"},
			{"retain", "--keep", "1d"},
			{"reindex"},
			{"verify"},
		} {
			r := s.command(t, nil, append([]string{"shipper"}, args...)...)
			if r.status != 0 || strings.Contains(r.errs, "watch") || strings.Contains(string(r.out), "watch") {
				t.Errorf("%s: status %d\n%s%s", args, r.status, r.out, r.errs)
			}
			if got := entities(); !slices.Equal(got, want) {
				t.Errorf("after %s: %q, want %q", args, got, want)
			}
		}
		if r := s.command(t, nil, "logq", "services"); strings.Contains(string(r.out), "web") {
			t.Errorf("retain left %s", r.out)
		}
	})
}
