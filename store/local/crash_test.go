package local_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/store"
	"logstow/store/local"
)

// TestKilled kills a process that creates, indexes and deletes, again and
// again, in one directory: what was reported as done is done, and no blob is torn.
func TestKilled(t *testing.T) {
	t.Parallel()
	random := testrand.New(t)
	dir := filepath.Join(t.TempDir(), "store")
	done := map[string]string{} // The last that was reported of a name.
	indexed := map[string]bool{}
	for round := range (effort.Cases{Test: 5, Full: 20}).N() {
		prefix := "round" + string(rune('a'+round))
		for _, line := range runUntil(t, helper(t, "churn", dir, prefix), time.Duration(1+random.IntN(150_000))*time.Microsecond) {
			what, name, _ := strings.Cut(line, " ")
			if what == "indexed" {
				indexed[strings.ReplaceAll(name, "/", "_")] = true
			} else {
				done[name] = what
			}
		}
		checkKilled(t, dir, done, indexed)
	}
	t.Logf("%d blobs, %d entities", len(done), len(indexed))
	if len(done) < 20 {
		t.Errorf("only %d blobs: the helpers were killed before they worked", len(done))
	}
}

func checkKilled(t *testing.T, dir string, done map[string]string, indexed map[string]bool) {
	t.Helper()
	s, err := local.Open(t.Context(), dir, local.Adopt(adoptSelf))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	listed := list(t, s)
	for name, what := range done {
		_, there := listed[name]
		if what == "created" && !there {
			t.Errorf("%s was created and is not listed", name)
		}
		if what == "deleted" && there {
			t.Errorf("%s was deleted and is listed", name)
		}
	}
	for name, blob := range listed {
		want := selfBody(name)
		if done[name] == "" {
			t.Errorf("%s is listed but was not created", name)
		}
		if blob.Size != int64(len(want)) {
			t.Errorf("%s has %d bytes, want %d", name, blob.Size, len(want))
			continue
		}
		if diff := cmp.Diff(selfMetadata(name), blob.Metadata); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		got, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: name}, 0, blob.Size)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s holds other bytes: %v", name, err)
		}
	}
	missing := maps.Clone(indexed)
	for page, err := range s.Tables().Query(t.Context(), "churn", store.Query{Partition: "p"}) {
		if err != nil {
			if len(indexed) > 0 {
				t.Error(err)
			}
			return
		}
		for _, e := range page {
			delete(missing, e.Row)
		}
	}
	for row := range missing {
		t.Errorf("%s was indexed and is not in the table", row)
	}
}

func TestProcessesRace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	racers := []string{"one", "two", "three", "four"}
	won := make([][]string, len(racers))
	var wg sync.WaitGroup
	for i, racer := range racers {
		wg.Go(func() { won[i] = runUntil(t, helper(t, "race", dir, racer), 0) })
	}
	wg.Wait()
	want := map[string]string{}
	for i, names := range won {
		for _, name := range names {
			if other, twice := want[name]; twice {
				t.Errorf("%s was won by %s and %s", name, other, racers[i])
			}
			want[name] = racers[i]
		}
	}
	s := openStore(t, dir)
	got := map[string]string{}
	for name, blob := range list(t, s) {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(body) != blob.Metadata["Racer"] {
			t.Errorf("%s holds %q and is listed as %+v: %v", name, body, blob, err)
		}
		got[name] = string(body)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(got) != 40 {
		t.Errorf("%d names, want 40", len(got))
	}
	if left, err := os.ReadDir(filepath.Join(dir, ".logstow", "tmp")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestPruneRace creates blobs in a directory that deletes keep emptying.
func TestPruneRace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	var wg sync.WaitGroup
	for _, racer := range []string{"x", "y", "z"} {
		s := openStore(t, dir)
		wg.Go(func() {
			for range 60 {
				name := "a/b/c/" + racer
				if _, err := s.Blobs().Create(t.Context(), name, []byte(racer), store.CreateOptions{}); err != nil {
					t.Errorf("create %s: %v", name, err)
				}
				if got, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: name}, 0, 1); string(got) != racer {
					t.Errorf("read %s: %q, %v", name, got, err)
				}
				if err := s.Blobs().Delete(t.Context(), store.AnyVersion(name)); err != nil {
					t.Errorf("delete %s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != ".logstow" {
		t.Errorf("left: %v, %v", left, err)
	}
}
