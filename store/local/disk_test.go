package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/store"
	"logstow/store/local"
)

// script makes a blob, a table and rows, then deletes a blob, trying each call
// again until it succeeds, as a shipper does. try gets each error and returns
// false to give up, which script then returns.
type script struct {
	s   *local.Store
	try func(err error) bool
	// done are the blobs that exist by what Create and Delete returned; maybe are those
	// of which the last call failed.
	done, maybe map[string]bool
	indexed     map[string]bool
}

func newScript(s *local.Store, try func(err error) bool) *script {
	return &script{s: s, try: try, done: map[string]bool{}, maybe: map[string]bool{}, indexed: map[string]bool{}}
}

// run makes blobs from..to and their rows; false means that it gave up.
func (c *script) run(t *testing.T, from, to int) bool {
	t.Helper()
	ctx := t.Context()
	for i := from; i < to; i++ {
		name := fmt.Sprintf("s/%d/%d", i/4, i)
		tried := false
		create := func() error {
			_, err := c.s.Blobs().Create(ctx, name, selfBodyOf(name, 2000), store.CreateOptions{Metadata: selfMetadata(name)})
			if errors.Is(err, store.ErrExists) && tried {
				return nil // an earlier try made it
			}
			tried = true
			return err
		}
		c.maybe[name] = true
		if !c.until(create) {
			return false
		}
		delete(c.maybe, name)
		c.done[name] = true
		rows := []store.Entity{{Key: store.Key{Partition: "p", Row: fmt.Sprint(i)}, Properties: map[string]any{"Text": strings.Repeat("x", 100)}}}
		if !c.until(func() error { return c.s.Tables().CreateTable(ctx, "script") }) ||
			!c.until(func() error { return c.s.Tables().Upsert(ctx, "script", rows) }) {
			return false
		}
		c.indexed[fmt.Sprint(i)] = true
		if i%5 == 4 {
			delete(c.done, name)
			c.maybe[name] = true
			if !c.until(func() error { return c.s.Blobs().Delete(ctx, store.AnyVersion(name)) }) {
				return false
			}
			delete(c.maybe, name)
		}
	}
	return true
}

func (c *script) until(f func() error) bool {
	for {
		err := f()
		if err == nil {
			return true
		}
		if !c.try(err) {
			return false
		}
	}
}

// selfBodyOf is a body that adoptSelf recognizes.
func selfBodyOf(name string, size int) []byte {
	return append(fmt.Appendf(nil, "%-80s", name), bytes.Repeat([]byte("y"), size-80)...)
}

// check compares a directory's store with what the script did.
func (c *script) check(t *testing.T, what, dir string) {
	t.Helper()
	s, err := local.Open(t.Context(), dir, local.Adopt(adoptSelf), local.Check())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	listed := list(t, s)
	for name := range c.done {
		b, ok := listed[name]
		if !ok || !cmp.Equal(b.Metadata, selfMetadata(name)) {
			t.Errorf("%s: %s is listed as %+v", what, name, b)
			continue
		}
		if body, err := s.Blobs().Read(t.Context(), store.BlobRef{Name: name}, 0, b.Size); err != nil || !bytes.Equal(body, selfBodyOf(name, 2000)) {
			t.Errorf("%s: %s holds other bytes: %v", what, name, err)
		}
	}
	for name := range listed {
		if !c.done[name] && !c.maybe[name] {
			t.Errorf("%s: %s is there and should not be", what, name)
		}
	}
	missing := len(c.indexed)
	for page, err := range s.Tables().Query(t.Context(), "script", store.Query{Partition: "p"}) {
		if err != nil && missing > 0 {
			t.Errorf("%s: query: %v", what, err)
		}
		for _, e := range page {
			if c.indexed[e.Row] {
				missing--
			}
		}
	}
	if missing > 0 {
		t.Errorf("%s: %d of %d rows are missing", what, missing, len(c.indexed))
	}
	if broken, _ := filepath.Glob(filepath.Join(dir, ".logstow", "*broken*")); len(broken) > 0 {
		t.Errorf("%s: a database was damaged: %q", what, broken)
	}
	temp, err := os.ReadDir(filepath.Join(dir, ".logstow", "tmp"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(temp) > 0 {
		t.Errorf("%s: left in tmp: %v, %v", what, temp, err)
	}
}

// checkMoved checks that a damaged database was moved aside, and removes it.
func (c *script) checkMoved(t *testing.T, what, dir string) {
	t.Helper()
	broken, _ := filepath.Glob(filepath.Join(dir, ".logstow", "store.db.broken-*"))
	if len(broken) == 0 {
		t.Errorf("%s: the damaged database is gone", what)
	}
	if id, err := c.s.PendingReindex(); id == "" || err != nil {
		t.Errorf("%s: no reindex is pending: %v", what, err)
	}
	for _, path := range broken {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// TestFileCallsFail lets each file call of a script fail once, and then each and
// all after it for a while, with a full and a failing disk, in a new store and in one
// with a damaged database: the error is of the
// store as a whole and worth another try, and once it succeeds all is there, once.
func TestFileCallsFail(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "fails at many calls")
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EDQUOT} {
		for length, damaged := range map[int]bool{1: false, 7: false, 2: true} {
			t.Run(fmt.Sprintf("%v, %d times, damaged %t", errno, length, damaged), func(t *testing.T) {
				t.Parallel()
				steps := map[string]int{}
				sample := effort.NewSample(t, 8)
				for n := sample.Next(-1); ; n = sample.Next(n) {
					dir := filepath.Join(t.TempDir(), "deep", "store")
					if damaged {
						write(t, dir, ".logstow/store.db", []byte("no database"))
						write(t, dir, ".logstow/store.db-wal", []byte("no log"))
						write(t, dir, "older/1", selfBodyOf("older/1", 2000))
					}
					calls, failed := 0, ""
					s, err := local.Open(t.Context(), dir, local.Adopt(adoptSelf), local.Repair(slog.New(slog.DiscardHandler)), local.Faults(func(step string) error {
						calls++
						if calls > n && calls <= n+length {
							steps[step]++
							failed = step
							return &fs.PathError{Op: step, Path: dir, Err: errno}
						}
						return nil
					}))
					if err != nil {
						t.Fatal(err)
					}
					errs := 0
					c := newScript(s, func(err error) bool {
						errs++
						if !errors.Is(err, store.ErrUnavailable) {
							t.Errorf("%s failed: %v, want %v", failed, err, store.ErrUnavailable)
						}
						return errs < 20
					})
					what := fmt.Sprintf("call %d (%s)", n, failed)
					if !c.run(t, 0, 6) {
						t.Fatalf("%s: does not succeed", what)
					}
					if err := s.Close(); err != nil {
						t.Errorf("%s: close: %v", what, err)
					}
					if damaged {
						c.done["older/1"] = true
						c.checkMoved(t, what, dir)
					}
					c.check(t, what, dir)
					if failed == "" {
						break
					}
				}
				t.Log(steps)
				want := []string{"mkdir", "open", "create", "write", "sync", "close", "publish", "sync directory", "remove"}
				if damaged {
					want = append(want, "rename")
				}
				for _, step := range want {
					if steps[step] == 0 && effort.Of() >= effort.Full {
						t.Errorf("%s never failed", step)
					}
				}
			})
		}
	}
}
