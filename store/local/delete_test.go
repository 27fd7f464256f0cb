package local_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"logstow/store"
)

// TestDeleteKeepsOthers deletes names that are not those of blobs: a missing blob counts as removed,
// and what has its name is kept.
func TestDeleteKeepsOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := openStore(t, dir)
	if _, err := s.Blobs().Create(t.Context(), "a/b/1", []byte("x"), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := s.Blobs().Delete(t.Context(), store.AnyVersion("a", "a/b", "link", "a/b/1/none")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "link")); err != nil {
		t.Error(err)
	}
	if left := list(t, s); len(left) != 1 || left["a/b/1"].Size != 1 {
		t.Errorf("left %v", left)
	}
}

// TestDeleteErrors has an invalid name and a database that fails: neither error hides the other.
func TestDeleteErrors(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := openStore(t, dir)
	if _, err := s.Blobs().Create(t.Context(), "a/1", []byte("x"), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, ".logstow", "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "DROP TABLE blobs"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	err = s.Blobs().Delete(t.Context(), store.AnyVersion("../1", "a/1"))
	if !errors.Is(err, store.ErrInvalid) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v, want %v and %v", err, store.ErrInvalid, store.ErrUnavailable)
	}
}
