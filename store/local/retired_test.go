package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logstow/store"
	"logstow/store/local"
)

// TestReplacedOften replaces the database of a store again and again while another Store reads it: the
// reader finds each one and keeps few of them open.
func TestReplacedOften(t *testing.T) {
	t.Parallel()
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		t.Skip("cannot list the open files: ", err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	reader := openStore(t, dir)
	for n := range 20 {
		writer, err := local.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		table := fmt.Sprintf("table%d", n)
		if err := writer.Tables().CreateTable(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		for _, err := range reader.Tables().Query(t.Context(), table, store.Query{Partition: "p"}) {
			if err != nil {
				t.Errorf("database %d: %v", n, err)
			}
		}
		if err := os.Remove(filepath.Join(dir, ".logstow", "store.db")); err != nil {
			t.Fatal(err)
		}
	}
	if open := openDatabases(t, dir); len(open) > 5 {
		t.Errorf("%d databases are open: %q", len(open), open)
	}
}

// openDatabases are the databases in dir that this process has open.
func openDatabases(t *testing.T, dir string) (all []string) {
	t.Helper()
	const fds = "/proc/self/fd"
	entries, err := os.ReadDir(fds)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		file, err := os.Readlink(filepath.Join(fds, e.Name()))
		if err == nil && strings.HasPrefix(strings.TrimSuffix(file, " (deleted)"), dir) && strings.Contains(file, "store.db") && !strings.Contains(file, "store.db-") {
			all = append(all, file)
		}
	}
	return all
}
