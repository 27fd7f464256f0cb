package tail_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/input/tail"
)

// The newline of a line that was read without it is no empty line; other newlines are.
func TestFollowNewlineLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.log", "old", "b.log", utf16le("\ufeffold"))
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, newSink(), tail.Options{Paths: []string{"*.log"}, PartialWait: 5 * time.Second})
		defer f.stop()
		f.expect(time.Second)
		add(t, f.path("a.log"), "\none") // old was there before
		f.expect(8*time.Second, "a.log: one")
		add(t, f.path("a.log"), "\r")
		f.expect(8 * time.Second)
		add(t, f.path("a.log"), "\n\ntwo\n")
		f.expect(2*time.Second, "a.log: ", "a.log: two")
		add(t, f.path("a.log"), "\n")
		f.expect(2*time.Second, "a.log: ")
		add(t, f.path("b.log"), utf16le("\none"))
		f.expect(8*time.Second, "b.log: one")
		add(t, f.path("b.log"), utf16le("\n\ntwo\n"))
		f.expect(2*time.Second, "b.log: ", "b.log: two")
	})
}

// A later run, and one that reads a compressed copy, treat the newline likewise.
func TestOnceNewlineLater(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), newSink()
	path := filepath.Join(dir, "a.log")
	put(t, dir, "a.log", "one")
	read := func(want ...string) {
		t.Helper()
		if err := newTailer(t, s, tail.Options{Paths: []string{path}, Once: true}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.take()); diff != "" {
			t.Error(diff)
		}
	}
	read("a.log: one")
	add(t, path, "\ntwo\n\nthree")
	read("a.log: two", "a.log: ", "a.log: three")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "a.log.1.gz", zipped(t, string(text)+"\n\nfour\n"), "a.log", "next\n")
	read("a.log: ", "a.log: four", "a.log: next")
}
