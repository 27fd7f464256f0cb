package storetest

import (
	"path/filepath"
	"testing"

	"logstow/store"
	"logstow/store/local"
)

// OpenLocal opens a new store in a directory, which is closed when t ends.
func OpenLocal(t testing.TB) store.Store {
	t.Helper()
	s, err := local.Open(t.Context(), filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	Close(t, s)
	return s
}

// Close closes a store when t ends.
func Close(t testing.TB, s store.Store) {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
