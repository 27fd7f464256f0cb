package local_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"logstow/store"
	"logstow/store/local"
)

// A file that its file system holds is held, as a blob under a legal hold is; the others
// of the same deletion go, and it does once it is free.
func TestHeldFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, name := range []string{"a/1", "a/2", "a/3"} {
		if _, err := s.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "a", "2")
	attribute := func(change string) error { return exec.Command("chattr", change, file).Run() }
	if err := attribute("+i"); err != nil {
		t.Skip("files cannot be made immutable here: ", err)
	}
	defer func() { _ = attribute("-i") }()
	all := store.AnyVersion("a/1", "a/2", "a/3")
	if err := s.Blobs().Delete(t.Context(), all); !errors.Is(err, store.ErrHeld) || !strings.Contains(err.Error(), "a/2") {
		t.Errorf("delete: %v", err)
	}
	for page, err := range s.Blobs().List(t.Context(), "") {
		if err != nil || len(page) != 1 || page[0].Name != "a/2" {
			t.Errorf("left: %v, %v", page, err)
		}
	}
	if err := attribute("-i"); err != nil {
		t.Fatal(err)
	}
	if err := s.Blobs().Delete(t.Context(), all); err != nil {
		t.Error(err)
	}
}
