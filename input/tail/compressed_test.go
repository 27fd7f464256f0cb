package tail_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/input/tail"
	"logstow/internal/hint"
)

// bzip2Head is the beginning of a file compressed with bzip2.
const bzip2Head = "BZh91AY&SY\x00\n\x01\n\x02"

// Zero bytes after the end of compressed data are padding.
func TestOnceReadsPaddedGzip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.gz", zipped(t, "1\n")+zipped(t, "2\n")+strings.Repeat("\x00", 512))
	s := newSink()
	for _, want := range [][]string{{"a.gz: 1", "a.gz: 2"}, nil} {
		if err := newTailer(t, s, tail.Options{Paths: []string{filepath.Join(dir, "*")}, Once: true}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.take()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestOnceRejectsOtherCompressions(t *testing.T) {
	t.Parallel()
	tar := "a.log" + strings.Repeat("\x00", 252) + "ustar\x0000" + strings.Repeat("\x00", 247) + "1\n"
	for name, c := range map[string]struct{ head, err, hint string }{
		"bzip2":         {bzip2Head, "compressed with bzip2", "bzip2 -dc"},
		"xz":            {"\xfd7zXZ\x00\x00\x04\n", "compressed with xz", "xz -dc"},
		"zstd":          {"\x28\xb5\x2f\xfd\x04\n", "compressed with zstd", "zstd -dc"},
		"tar":           {tar, "a tar archive", "tar -xf"},
		"tar.gz":        {zipped(t, tar), "a tar archive", "tar -xf"},
		"gzip in gzip":  {zipped(t, zipped(t, "1\n")), "compressed twice", "gzip -dc"},
		"bzip2 in gzip": {zipped(t, bzip2Head), "compressed twice", "gzip -dc"},
	} {
		dir := t.TempDir()
		put(t, dir, "a.log", "1\n", "b.log", c.head)
		s := newSink()
		err := newTailer(t, s, tail.Options{Paths: []string{filepath.Join(dir, "*.log")}, Once: true}).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "b.log: "+c.err) || !strings.Contains(hint.Of(err), c.hint) {
			t.Errorf("%s: error %v, hint %q", name, err, hint.Of(err))
		}
		if diff := cmp.Diff([]string{"a.log: 1"}, s.take()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A compressed file that a pattern matches is skipped, also if it is empty when it is found. This is logged once.
func TestFollowSkipsOtherCompressions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.log", "1\n", "a.log.1.bz2", bzip2Head)
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		opts := tail.Options{Paths: []string{"*"}, FromStart: true}
		opts.Log = slog.New(slog.NewTextHandler(&out, nil))
		f := follow(t, dir, newSink(), opts)
		f.expect(time.Second, "a.log: 1")
		put(t, dir, "a.log.2.bz2", "")
		f.expect(10 * time.Second)
		add(t, f.path("a.log.2.bz2"), bzip2Head)
		f.expect(10 * time.Second)
		add(t, f.path("a.log.2.bz2"), "\nmore\n")
		add(t, f.path("a.log"), "2\n")
		f.expect(10*time.Second, "a.log: 2")
		f.stop()
	})
	if n := strings.Count(out.String(), "file skipped"); n != 1 || !strings.Contains(out.String(), "compressed with bzip2") {
		t.Errorf("logged %d times: %s", n, &out)
	}
}
