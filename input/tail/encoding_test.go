package tail_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"logstow/input/tail"
)

// utf16le encodes a text as UTF-16LE, without a byte order mark.
func utf16le(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(unit))
		b.WriteByte(byte(unit >> 8))
	}
	return b.String()
}

// A file in UTF-16 is followed across restarts, although only its first bytes show the encoding.
func TestFollowUTF16(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.log", utf16le("\ufeffone\ntw"))
	s := newSink()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, s, tail.Options{Paths: []string{"*.log"}, FromStart: true, Resume: true})
		f.expect(time.Second, "a.log: one")
		add(t, f.path("a.log"), utf16le("o 🪵\nthr")+"e") // inside a character
		f.expect(2*time.Second, "a.log: two 🪵")
		f.stop()
		add(t, f.path("a.log"), "\x00"+utf16le("e\nfour\n"))
		f = follow(t, dir, s, tail.Options{Paths: []string{"*.log"}})
		f.expect(time.Second, "a.log: three", "a.log: four")
		put(t, dir, "a.log", "now UTF-8\n") // truncated
		f.expect(2*time.Second, "a.log: now UTF-8")
		f.stop()
	})
}

// Files that exist at first are read from their end on, in their encoding.
func TestFollowUTF16FromEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.log", utf16le("\ufeffold\n"))
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dir, newSink(), tail.Options{Paths: []string{"*.log"}})
		f.expect(time.Second)
		add(t, f.path("a.log"), utf16le("new\n"))
		f.expect(2*time.Second, "a.log: new")
		f.stop()
	})
}

// A compressed copy of a file in UTF-16 is read from the position of the file.
func TestOnceUTF16Compressed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.log")
	text := utf16le("\ufeffone\n")
	put(t, dir, "a.log", text)
	s := newSink()
	read := func(want ...string) {
		t.Helper()
		if err := newTailer(t, s, tail.Options{Paths: []string{filepath.Join(dir, "*.log")}, Once: true}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.take()); diff != "" {
			t.Error(diff)
		}
	}
	read("a.log: one")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "a.log.1.gz", zipped(t, text+utf16le("two\n")), "a.log", "next\n")
	read("a.log: two", "a.log: next")
}

// A program that does not open its file for appending writes on at its offset after the file is copied and truncated: the
// hole before its next line is skipped, also by a later run.
func TestFollowWriterWithoutAppend(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 100_000} {
		t.Run(fmt.Sprint(size, " bytes"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, err := os.Create(filepath.Join(dir, "a.log"))
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			write := func(text string) {
				t.Helper()
				if _, err := w.WriteString(text); err != nil {
					t.Fatal(err)
				}
			}
			long := strings.Repeat("x", size)
			s := newSink()
			synctest.Test(t, func(t *testing.T) {
				opts := func() tail.Options { return tail.Options{Paths: []string{"a.log"}, FromStart: true} }
				f := follow(t, dir, s, opts())
				write(long + "\n")
				f.expect(2*time.Second, "a.log: "+long)
				for i := range 3 {
					content, err := os.ReadFile(f.path("a.log"))
					if err != nil {
						t.Fatal(err)
					}
					put(t, dir, fmt.Sprintf("a.log.%d", 3-i), string(content))
					if err := os.Truncate(f.path("a.log"), 0); err != nil {
						t.Fatal(err)
					}
					write(fmt.Sprintf("after %d\n", i))
					f.expect(2*time.Second, fmt.Sprintf("a.log: after %d", i))
				}
				f.stop()
				write("later\n")
				f = follow(t, dir, s, opts())
				f.expect(time.Second, "a.log: later")
				f.stop()
			})
		})
	}
}
