package local_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"logstow/store"
	"logstow/store/local"
)

// TestExistsIsDurable lets the disk fail when the name of a new blob is synced. The blob is there, but
// the next Create must not find it as long as its name is not durable: its writer would take it for
// stored.
func TestExistsIsDurable(t *testing.T) {
	t.Parallel()
	for name, earlier := range map[string]bool{"in a new directory": false, "in a used one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			fails, synced := false, 0
			s := openStore(t, dir, local.Faults(func(step string) error {
				switch {
				case step != "sync directory":
				case fails:
					return &fs.PathError{Op: step, Path: dir, Err: syscall.EIO}
				default:
					synced++
				}
				return nil
			}))
			create := func(name string) error {
				_, err := s.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{})
				return err
			}
			// The database is created before.
			for _, name := range map[bool][]string{false: {"b/0"}, true: {"b/0", "a/0"}}[earlier] {
				if err := create(name); err != nil {
					t.Fatal(err)
				}
			}
			fails = true
			for try := range 3 {
				if err := create("a/1"); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("try %d: %v, want %v", try, err, store.ErrUnavailable)
				}
			}
			fails, synced = false, 0
			if err := create("a/1"); !errors.Is(err, store.ErrExists) || synced == 0 {
				t.Errorf("%v after %d syncs, want %v", err, synced, store.ErrExists)
			}
		})
	}
}
