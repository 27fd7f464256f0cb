package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logstow/store"
)

// TestGone takes a store away from a process that writes to it, as an unmounted file system does: nothing is written in its place, and
// the process continues when the store is back.
func TestGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		mount bool // the directory stays, empty
	}{{"removed", false}, {"mount point", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			s := openStore(t, dir)
			create := func(name string) error {
				_, err := s.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{})
				return err
			}
			if err := create("a"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(dir, dir+".away"); err != nil {
				t.Fatal(err)
			}
			if c.mount {
				if err := os.Mkdir(dir, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			const want = "cannot write to "
			if err := create("b"); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("created a blob: %v, want %q", err, want)
			}
			if err := s.Tables().CreateTable(t.Context(), "table"); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("created a table: %v", err)
			}
			if entries, err := os.ReadDir(dir); len(entries) > 0 || err == nil != c.mount {
				t.Errorf("%d entries were created, %v", len(entries), err)
			}
			if c.mount {
				if err := os.Remove(dir); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Rename(dir+".away", dir); err != nil {
				t.Fatal(err)
			}
			if err := create("b"); err != nil {
				t.Error(err)
			}
		})
	}
}
