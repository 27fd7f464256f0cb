package cache_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"logstow/query/cache"
)

func open(t *testing.T, dir string, size int64) *cache.Cache {
	t.Helper()
	c, err := cache.Open(dir, size)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestPutGet(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	c := open(t, dir, 0)
	if _, ok := c.Get("x"); ok {
		t.Error("found what was never put")
	}
	c.Put("x", []byte("one"))
	c.Put("y", nil)
	again := open(t, dir, 0)
	if data, ok := again.Get("x"); !ok || string(data) != "one" {
		t.Errorf("%q %v", data, ok)
	}
	if data, ok := again.Get("y"); !ok || len(data) != 0 {
		t.Errorf("%q %v", data, ok)
	}
	for _, path := range files(t, dir) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// Whatever becomes of a file, no other bytes come out.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"empty":   func([]byte) []byte { return nil },
		"flipped": func(b []byte) []byte { b[2] ^= 1; return b },
		"longer":  func(b []byte) []byte { return append(b, 0) },
	} {
		dir := t.TempDir()
		c := open(t, dir, 0)
		c.Put("x", []byte("some bytes"))
		path := files(t, dir)[0]
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if data, ok := c.Get("x"); ok {
			t.Errorf("%s: %q", name, data)
		}
	}
}

// What was not used for longest goes first.
func TestSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir, 10_000)
	for i := range 20 {
		c.Put(fmt.Sprint(i), bytes.Repeat([]byte{byte(i)}, 1000))
		if _, ok := c.Get("0"); !ok {
			t.Fatal("gone too early")
		}
		for _, path := range files(t, dir) { // a day older than those that follow
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			at := info.ModTime().Add(-24 * time.Hour)
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, ok := c.Get("0"); !ok {
		t.Fatal("gone too early")
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		want := i == 0 || i > 12 // used last, or put last
		if _, ok := c.Get(fmt.Sprint(i)); ok != want {
			t.Errorf("%d: there: %v", i, ok)
		}
	}
	c.Put("huge", make([]byte, 5000))
	if _, ok := c.Get("huge"); ok {
		t.Error("half of the cache is one entry")
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			c, err := cache.Open(dir, 50_000)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 300 {
				key := fmt.Sprint(i % 40)
				if data, ok := c.Get(key); ok && !bytes.Equal(data, bytes.Repeat([]byte(key), 500)) {
					t.Errorf("%s: %q", key, data[:min(20, len(data))])
				}
				c.Put(key, bytes.Repeat([]byte(key), 500))
				if i%50 == 0 {
					if err := c.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}
