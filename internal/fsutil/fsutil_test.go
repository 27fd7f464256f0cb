package fsutil

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// files are the names in dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// WriteNew is [Files.Replace], but a taken path is [fs.ErrExist] and untouched.
func (f Files) WriteNew(tempDir, path string, body []byte) error {
	t, err := f.NewTemp(tempDir, body)
	if err != nil {
		return err
	}
	defer t.Discard()
	top, err := t.Link(path)
	if err != nil {
		return err
	}
	return f.SyncDirs(filepath.Dir(path), top)
}

func TestWriteNew(t *testing.T) {
	t.Parallel()
	temp, dir := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "a", "b", "c")
	if err := (Files{}).WriteNew(temp, path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := (Files{}).WriteNew(temp, path, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a taken name: %v", err)
	}
	if got := read(t, path); got != "one" {
		t.Errorf("holds %q", got)
	}
	if left := files(t, temp); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	temp, dir := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "a", "b")
	for _, body := range []string{"one", "two"} {
		if err := Replace(temp, path, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != body {
			t.Errorf("holds %q, want %q", got, body)
		}
	}
	if left := files(t, temp); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestFaults fails the first step, the second and so on: the name holds the
// whole file or what it held before, the error comes back, and nothing is left behind.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, publish := range map[string]func(f Files, tempDir, path string, body []byte) error{"new": Files.WriteNew, "replace": Files.Replace} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault := errors.New("injected")
			want := []string{"create", "write", "sync", "close", "mkdir", "publish", "sync directory"}
			if name == "replace" { // the directory is there
				want = slices.Delete(want, 4, 5)
			}
			var steps []string
			for n := 1; ; n++ {
				temp, dir := t.TempDir(), t.TempDir()
				path := filepath.Join(dir, "sub", "file")
				if name == "replace" {
					if err := (Files{}).WriteNew(temp, path, []byte("old")); err != nil {
						t.Fatal(err)
					}
				}
				var failed string
				count := 0
				err := publish(Files{Fault: func(step string) error {
					if count++; count == n {
						failed = step
						return fault
					}
					return nil
				}}, temp, path, []byte("new"))
				if failed == "" {
					if err != nil || read(t, path) != "new" {
						t.Errorf("without a fault: %v", err)
					}
					break
				}
				steps = append(steps, failed)
				if !errors.Is(err, fault) {
					t.Errorf("%s failed, the error is %v", failed, err)
				}
				if left := files(t, temp); len(left) != 0 {
					t.Errorf("%s failed and left %q", failed, left)
				}
				got, readErr := os.ReadFile(path)
				published := failed == "sync directory"
				switch {
				case published && string(got) != "new":
					t.Errorf("%s failed: the file holds %q", failed, got)
				case !published && name == "replace" && string(got) != "old":
					t.Errorf("%s failed: the file holds %q", failed, got)
				case !published && name == "new" && !errors.Is(readErr, fs.ErrNotExist):
					t.Errorf("%s failed: the file is there: %q", failed, got)
				}
			}
			if diff := cmp.Diff(want, steps); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPruned makes a directory disappear as often as it is made.
func TestPruned(t *testing.T) {
	t.Parallel()
	temp, dir := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "sub", "file")
	pruned := 0
	err := Files{Fault: func(step string) error {
		if step == "publish" && pruned < 5 {
			pruned++
			return os.Remove(filepath.Join(dir, "sub"))
		}
		return nil
	}}.WriteNew(temp, path, []byte("x"))
	if err != nil || pruned != 5 || read(t, path) != "x" {
		t.Errorf("after %d times: %v", pruned, err)
	}

	// Without end, and where it is the temporary file that is gone, it gives up.
	path = filepath.Join(dir, "other", "file")
	for name, remove := range map[string]string{"directory": filepath.Join(dir, "other"), "temporary file": ""} {
		err = Files{Fault: func(step string) error {
			if step != "publish" {
				return nil
			}
			if remove != "" {
				return os.Remove(remove)
			}
			for _, f := range files(t, temp) {
				if err := os.Remove(filepath.Join(temp, f)); err != nil {
					return err
				}
			}
			return nil
		}}.WriteNew(temp, path, []byte("x"))
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s removed: %v", name, err)
		}
	}
}

// TestRenameNew races for names without hard links.
func TestRenameNew(t *testing.T) {
	t.Parallel()
	temp, dir := t.TempDir(), t.TempDir()
	const racers, rounds = 8, 30
	var (
		mu   sync.Mutex
		wins = map[string]string{}
		wg   sync.WaitGroup
	)
	for r := range racers {
		wg.Go(func() {
			for i := range rounds {
				body := fmt.Sprint(r)
				tmp, err := Files{}.NewTemp(temp, []byte(body))
				if err != nil {
					t.Error(err)
					return
				}
				path := filepath.Join(dir, fmt.Sprint(i))
				err = renameNew(tmp.Path(), path)
				tmp.Discard()
				if errors.Is(err, fs.ErrExist) {
					continue
				}
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				if other, won := wins[path]; won {
					t.Errorf("%s was won by %s and %s", path, other, body)
				}
				wins[path] = body
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(wins) != rounds {
		t.Errorf("%d names, want %d", len(wins), rounds)
	}
	for path, body := range wins {
		if got := read(t, path); got != body {
			t.Errorf("%s holds %q, want %q", path, got, body)
		}
	}
}

func TestRemoveStale(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now()
	old := now.Add(-48 * time.Hour)
	for name, written := range map[string]time.Time{"a.tmp": old, "b.tmp-wal": old, "c.tmp": now, "store.db": old} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveStale(dir, now.Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c.tmp", "store.db"}, files(t, dir)); diff != "" {
		t.Error(diff)
	}
}
