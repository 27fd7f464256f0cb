package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
	"logstow/store/local"
)

// TestAdopt puts files into a store that no Create made.
func TestAdopt(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	asked := map[string]int{}
	adopt := func(ctx context.Context, name string, size int64, read func(ctx context.Context, off, n int64) ([]byte, error)) (map[string]string, error) {
		asked[name]++
		if name == "q/damaged" {
			return nil, errors.New("damaged")
		}
		return adoptSelf(ctx, name, size, read)
	}
	s := openStore(t, dir, local.Adopt(adopt))
	if _, err := s.Blobs().Create(t.Context(), "q/made", selfBody("q/made"), store.CreateOptions{Metadata: selfMetadata("q/made")}); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "q/found", selfBody("q/found"))
	write(t, dir, "q/foreign", []byte("some other program's"))
	write(t, dir, "q/damaged", selfBody("q/damaged"))

	for round := range 2 {
		listed := list(t, s)
		for _, name := range []string{"q/made", "q/found"} {
			if diff := cmp.Diff(selfMetadata(name), listed[name].Metadata); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		for _, name := range []string{"q/foreign", "q/damaged"} {
			blob, there := listed[name]
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || !there || len(blob.Metadata) != 0 || blob.Size != info.Size() || blob.ETag == "" || !blob.Created.Equal(info.ModTime()) {
				t.Errorf("%s: %+v", name, blob)
			}
			if asked[name] != round+1 {
				t.Errorf("%s was read %d times, want each time: it may be growing", name, asked[name])
			}
		}
		if len(listed) != 4 {
			t.Errorf("%d listed", len(listed))
		}
	}
	if asked["q/made"] != 0 || asked["q/found"] != 1 {
		t.Errorf("read %v, want one read where the row was missing", asked)
	}

	before := list(t, s)["q/found"]
	plain := openStore(t, dir)
	if diff := cmp.Diff(before, list(t, plain)["q/found"]); diff != "" {
		t.Errorf("the row that was written differs: %s", diff)
	}
}

func TestAdoptCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "q/found", selfBody("q/found"))
	ctx, cancel := context.WithCancel(t.Context())
	s := openStore(t, dir, local.Adopt(func(ctx context.Context, name string, size int64, read func(ctx context.Context, off, n int64) ([]byte, error)) (map[string]string, error) {
		cancel()
		_, err := read(ctx, 0, 1)
		return nil, err
	}))
	for page, err := range s.Blobs().List(ctx, "") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("listed %v, error %v", page, err)
		}
	}
}

// TestDatabaseLost loses the cache in several ways: the blobs are all there.
func TestDatabaseLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"removed": os.Remove,
		"garbage": func(path string) error {
			return os.WriteFile(path, []byte("this is not a database, and never was one, whatever its name may say"), 0o666)
		},
		"cut": func(path string) error { return os.Truncate(path, 5000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			want := map[string]map[string]string{}
			first, err := local.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a/1", "a/2", "b/c/3"} {
				if _, err := first.Blobs().Create(t.Context(), name, selfBody(name), store.CreateOptions{Metadata: selfMetadata(name)}); err != nil {
					t.Fatal(err)
				}
				want[name] = selfMetadata(name)
			}
			before := list(t, first)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			if err := lose(filepath.Join(dir, ".logstow", "store.db")); err != nil {
				t.Fatal(err)
			}
			s := openStore(t, dir, local.Adopt(adoptSelf))
			if diff := cmp.Diff(before, list(t, s)); diff != "" {
				t.Error(diff)
			}
			_, err = s.Blobs().Create(t.Context(), "new", []byte("x"), store.CreateOptions{})
			if name == "removed" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *store.Error
			if !errors.As(err, &e) || !errors.Is(err, store.ErrUnusable) || store.Retryable(err) || !strings.Contains(e.Hint, "shipper reindex --store "+dir) {
				t.Errorf("create: %v", err)
			}
		})
	}
}

// TestNewerDatabase refuses to write where a newer program keeps the store.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := local.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Blobs().Create(t.Context(), "a", selfBody("a"), store.CreateOptions{Metadata: selfMetadata("a")}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// user_version is the big-endian number at byte 60.
	db, err := os.OpenFile(filepath.Join(dir, ".logstow", "store.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.WriteAt([]byte{0, 0, 0, 99}, 60); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir, local.Adopt(adoptSelf))
	if diff := cmp.Diff(selfMetadata("a"), list(t, s)["a"].Metadata); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Blobs().Create(t.Context(), "b", nil, store.CreateOptions{}); !errors.Is(err, store.ErrUnusable) || store.Retryable(err) {
		t.Errorf("create: %v", err)
	}
}

// TestRemovedByHand removes a file and makes another of the name: the old one's
// row has nothing of the new one.
func TestRemovedByHand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	for _, version := range []string{"1", "22"} {
		tag, err := s.Blobs().Create(t.Context(), "a/b", []byte(version), store.CreateOptions{Metadata: map[string]string{"Version": version}})
		if err != nil {
			t.Fatal(err)
		}
		blob := list(t, s)["a/b"]
		if blob.Metadata["Version"] != version || blob.Size != int64(len(version)) || blob.ETag != tag {
			t.Errorf("listed %+v", blob)
		}
		if err := os.Remove(filepath.Join(dir, "a", "b")); err != nil {
			t.Fatal(err)
		}
		if got := list(t, s); len(got) != 0 {
			t.Errorf("listed without its file: %v", got)
		}
		if err := os.Remove(filepath.Join(dir, "a")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStaleTemporaryFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	temp := filepath.Join(dir, ".logstow", "tmp")
	write(t, dir, ".logstow/tmp/OLD.tmp", []byte("torn"))
	write(t, dir, ".logstow/tmp/NEW.tmp", []byte("torn"))
	old := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(filepath.Join(temp, "OLD.tmp"), old, old); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	if got := list(t, s); len(got) != 0 {
		t.Errorf("listed: %v", got)
	}
	if _, err := s.Blobs().Create(t.Context(), "a", nil, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) != 1 || left[0].Name() != "NEW.tmp" {
		t.Errorf("left: %v, %v", left, err)
	}
}
