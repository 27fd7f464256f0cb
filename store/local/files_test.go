package local_test

import (
	"context"
	"errors"
	"fmt"
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

func TestFileIsBlob(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	s := openStore(t, dir)
	const name = "queue/2014/07/31/1800/000001.log"
	if _, err := s.Blobs().Create(t.Context(), name, []byte("body"), store.CreateOptions{ContentEncoding: "zstd"}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != "body" {
		t.Errorf("the file holds %q: %v", got, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, ".logstow", "tmp")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if s.String() != dir {
		t.Errorf("String is %q", s)
	}
}

// TestReadingMakesNothing reads directories that are no stores yet.
func TestReadingMakesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a/file", []byte("x"))
	if err := os.Symlink(dir, filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "a", "file"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir, local.Adopt(adoptSelf))
	if got := list(t, s); len(got) != 1 || got["a/file"].Size != 1 {
		t.Errorf("listed %v", got)
	}
	for page, err := range s.Tables().Tables(t.Context(), "") {
		if err != nil || len(page) > 0 {
			t.Errorf("tables %v, %v", page, err)
		}
	}
	if err := s.Tables().DropTable(t.Context(), "segments"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".logstow")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the hidden folder was made: %v", err)
	}
	missing := filepath.Join(dir, "missing")
	s = openStore(t, missing)
	for _, err := range s.Blobs().List(t.Context(), "") {
		var e *store.Error
		if !errors.As(err, &e) || !errors.Is(err, store.ErrNoContainer) || e.Hint == "" {
			t.Errorf("list: %v", err)
		}
	}
	for _, err := range s.Tables().Query(t.Context(), "segments", store.Query{}) {
		if !errors.Is(err, store.ErrNoTable) {
			t.Errorf("query: %v", err)
		}
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
}

func TestNamesInvalidForFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	mustCreate := func(name string) {
		t.Helper()
		if _, err := s.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mustCreate("a/b")
	mustCreate("c")
	mustCreate("x/.logstow/y")
	for _, name := range []string{
		".logstow", ".logstow/store.db", ".logstow/tmp/x", strings.Repeat("x", 256), "y/" + strings.Repeat("x", 256) + "/z",
		"a", "a/b/c", "c/d", "c/d/e",
	} {
		_, err := s.Blobs().Create(t.Context(), name, []byte("y"), store.CreateOptions{})
		if !errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrExists) {
			t.Errorf("create %.20q: %v", name, err)
		}
	}
	for _, name := range []string{".logstow/store.db", ".logstow/../c", "../" + filepath.Base(dir) + "/c"} {
		if got, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: name}, 0, 1); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("read %q: %q, %v", name, got, err)
		}
		if err := s.Blobs().Delete(t.Context(), store.AnyVersion(name)); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("delete %q: %v", name, err)
		}
	}
	if err := s.Blobs().Delete(t.Context(), store.AnyVersion("c/d", "a")); err == nil {
		t.Error("a directory of blobs was deleted as a blob")
	}
	for _, prefix := range []string{".logstow", ".logstow/", ".logstow/s", "x/../"} {
		for page, err := range s.Blobs().List(t.Context(), prefix) {
			t.Errorf("prefix %q: %v, %v", prefix, page, err)
		}
	}
	var names []string
	for name := range list(t, s) {
		names = append(names, name)
	}
	if len(names) != 3 {
		t.Errorf("listed %q", names)
	}

	// An empty directory is no blob's and not in the way.
	if err := os.MkdirAll(filepath.Join(dir, "empty", "too"), 0o777); err != nil {
		t.Fatal(err)
	}
	for page, err := range s.Blobs().ListPrefixes(t.Context(), "") {
		if diff := cmp.Diff([]string{"a/", "x/"}, page); diff != "" || err != nil {
			t.Errorf("%v, %s", err, diff)
		}
	}
	mustCreate("empty/too")
}

// TestDirectoryIsFile opens a file as a store.
func TestDirectoryIsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "file", []byte("x"))
	s := openStore(t, filepath.Join(dir, "file"))
	for _, err := range s.Blobs().List(t.Context(), "") {
		if !errors.Is(err, store.ErrNoContainer) || !strings.Contains(err.Error(), "it is a file") || !strings.Contains(hint.Of(err), "--file") {
			t.Errorf("list: %v, hint %q", err, hint.Of(err))
		}
	}
	_, err := s.Blobs().Create(t.Context(), "a", nil, store.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("create: %v", err)
	}
}

// TestOddDirectory keeps a store in a directory whose name a URI would read otherwise.
func TestOddDirectory(t *testing.T) {
	t.Parallel()
	s := openStore(t, filepath.Join(t.TempDir(), "a b?c#d%41&e=f;g"))
	if _, err := s.Blobs().Create(t.Context(), "a", []byte("x"), store.CreateOptions{Metadata: map[string]string{"K": "v"}}); err != nil {
		t.Fatal(err)
	}
	again := openStore(t, s.String())
	if got := list(t, again)["a"].Metadata["K"]; got != "v" {
		t.Errorf("metadata %q", got)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 3 {
		s, err := local.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Tables().CreateTable(t.Context(), "abc"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Tables().CreateTable(t.Context(), "abc"); err == nil {
			t.Error("a closed store works")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := local.Open(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("open: %v", err)
	}
}

// TestManyTables lists more tables than a page has.
func TestManyTables(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir())
	var want []string
	for i := range 1003 {
		name := fmt.Sprintf("table%04d", i)
		want = append(want, name)
		if err := s.Tables().CreateTable(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	pages := 0
	for page, err := range s.Tables().Tables(t.Context(), "Table") {
		if err != nil {
			t.Fatal(err)
		}
		pages++
		got = append(got, page...)
	}
	if diff := cmp.Diff(want, got); diff != "" || pages != 2 {
		t.Errorf("%d pages: %s", pages, diff)
	}
}

// TestDeleteInCopy deletes, as listed, in a store that was copied as a
// directory: its files are younger than its database has them.
func TestDeleteInCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	names := []string{"a/1", "a/2", "b/1"}
	for _, name := range names {
		if _, err := s.Blobs().Create(t.Context(), name, []byte("x"), store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(filepath.Join(dir, name), later, later); err != nil {
			t.Fatal(err)
		}
	}
	var versions []store.BlobRef
	for _, blob := range list(t, s) {
		versions = append(versions, blob.Ref())
	}
	if err := s.Blobs().Delete(t.Context(), versions); err != nil {
		t.Fatal(err)
	}
	if left := list(t, s); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
