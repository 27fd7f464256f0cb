package local_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/hint"
	"logstow/store"
	"logstow/store/local"
)

const outputName = "queue/2014/07/31/-/000001.log"

// createOutput creates a blob in the compacted container.
func createOutput(t *testing.T, s *local.Store, name string) {
	t.Helper()
	if _, err := s.Compacted().Create(t.Context(), name, []byte(name), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestCompactedDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	createOutput(t, s, outputName)
	if got, err := os.ReadFile(filepath.Join(dir, "_compacted", outputName)); err != nil || string(got) != outputName {
		t.Errorf("the file holds %q: %v", got, err)
	}
	for _, name := range []string{"_compacted", "_compacted/" + outputName} {
		if _, err := s.Blobs().Create(t.Context(), name, nil, store.CreateOptions{}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("create %q: %v", name, err)
		}
		if _, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: name}, 0, 1); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("read %q: %v", name, err)
		}
		if err := s.Blobs().Delete(t.Context(), store.AnyVersion(name)); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("delete %q: %v", name, err)
		}
	}
	if got := list(t, s); len(got) > 0 {
		t.Errorf("listed %v", got)
	}
	// The directory remains, with its permissions, when its last blob is deleted.
	if err := s.Compacted().Delete(t.Context(), store.AnyVersion(outputName)); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "_compacted")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestCompactedRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o775, 0o757, 0o777} {
		dir := t.TempDir()
		s := openStore(t, dir)
		createOutput(t, s, outputName)
		if err := os.Chmod(filepath.Join(dir, "_compacted"), mode); err != nil {
			t.Fatal(err)
		}
		_, err := s.Compacted().Create(t.Context(), outputName+"2", nil, store.CreateOptions{})
		for what, err := range map[string]error{
			"create": err, "delete": s.Compacted().Delete(t.Context(), store.AnyVersion(outputName)),
			"delete in the other container": s.Blobs().Delete(t.Context(), store.AnyVersion("raw")),
		} {
			if !errors.Is(err, store.ErrUnusable) || !strings.Contains(err.Error(), "users other than its owner may write to it") || !strings.Contains(hint.Of(err), "chmod -R go-w "+dir) {
				t.Errorf("%s with mode %s: %v; %s", what, mode, err, hint.Of(err))
			}
		}
		if got, err := s.Compacted().Read(t.Context(), store.BlobRef{Name: outputName}, 0, int64(len(outputName))); err != nil || string(got) != outputName {
			t.Errorf("read %q, %v", got, err)
		}
		if _, err := s.Blobs().Create(t.Context(), "raw", nil, store.CreateOptions{}); err != nil {
			t.Errorf("create in the other container: %v", err)
		}
	}
}

func TestCompactedIsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "_compacted", []byte("x"))
	s := openStore(t, dir)
	for _, err := range s.Compacted().List(t.Context(), "") {
		if !errors.Is(err, store.ErrUnusable) {
			t.Errorf("list: %v", err)
		}
	}
	if got := list(t, s); len(got) > 0 {
		t.Errorf("listed %v", got)
	}
}

// Blobs without rows are adopted in both containers, under their names in the container.
func TestCompactedAdopted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a/raw", []byte("x"))
	write(t, dir, "_compacted/a/output", []byte("y"))
	var adopted []string
	s := openStore(t, dir, local.Adopt(func(ctx context.Context, name string, size int64, read func(ctx context.Context, off, n int64) ([]byte, error)) (map[string]string, error) {
		body, err := read(ctx, 0, size)
		adopted = append(adopted, name+" "+string(body))
		return map[string]string{"body": string(body)}, err
	}))
	createOutput(t, s, "b") // makes the database
	var got []string
	for _, b := range []store.Blobs{s.Blobs(), s.Compacted(), s.Blobs(), s.Compacted()} {
		for page, err := range b.List(t.Context(), "a/") {
			if err != nil {
				t.Fatal(err)
			}
			for _, blob := range page {
				got = append(got, blob.Name+" "+blob.Metadata["body"])
			}
		}
	}
	if diff := cmp.Diff([]string{"a/raw x", "a/output y", "a/raw x", "a/output y"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a/raw x", "a/output y"}, adopted); diff != "" {
		t.Error(diff)
	}
}

// Blobs in either container make the index of a new database incomplete; an empty directory does not.
func TestCompactedPendsReindex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		pending    bool
	}{{"set up", "_compacted", false}, {"an output", "_compacted/a", true}, {"a segment", "a", true}} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, c.path), 0o755); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, dir)
		if err := s.Tables().CreateTable(t.Context(), "segments"); err != nil {
			t.Fatal(err)
		}
		if id, err := s.PendingReindex(); err != nil || (id != "") != c.pending {
			t.Errorf("%s: pending %q, %v", c.name, id, err)
		}
	}
}

// Copying a store may change the times of its files. Listings still show the ETags in the database.
func TestReadsListedInCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	createOutput(t, s, "a")
	if err := os.Chtimes(filepath.Join(dir, "_compacted", "a"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for page, err := range s.Compacted().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, blob := range page {
			if got, err := s.Compacted().Read(t.Context(), blob.Ref(), 0, 1); err != nil || string(got) != "a" {
				t.Errorf("read %q, %v", got, err)
			}
			blob.ETag += "0"
			if _, err := s.Compacted().Read(t.Context(), blob.Ref(), 0, 1); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "replaced since it was listed") {
				t.Errorf("read another version: %v", err)
			}
		}
	}
}
