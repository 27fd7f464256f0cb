package local_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"logstow/store"
)

// TestDeleteKeepsOthers deletes names that are not those of blobs: what has them is kept. The name of a
// directory is invalid, any other blob is missing and counts as removed.
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
	for _, name := range []string{"a", "a/b"} {
		if err := s.Blobs().Delete(t.Context(), store.AnyVersion(name, "none")); !errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrExists) {
			t.Errorf("delete %s: %v, want %v", name, err, store.ErrInvalid)
		}
	}
	if err := s.Blobs().Delete(t.Context(), store.AnyVersion("link", "a/b/1/none", "none")); err != nil {
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
