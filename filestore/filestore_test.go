package filestore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"

	"logstow/filestore"
	"logstow/internal/test/testrand"
	"logstow/query"
	"logstow/record"
	"logstow/store"
)

func now() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func newStore(t *testing.T) *filestore.Store {
	t.Helper()
	s, err := filestore.New(filestore.Options{Now: now, TempDir: t.TempDir(), RunSize: 4000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// found are the records of a store as a query prints them: time, source and message.
func found(t *testing.T, s *filestore.Store, patterns ...string) (lines []string) {
	t.Helper()
	return selected(t, s, query.Selection{Patterns: patterns})
}

// selected are the records of a selection without a range.
func selected(t *testing.T, s *filestore.Store, sel query.Selection) (lines []string) {
	t.Helper()
	sel.From, sel.To = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	q, err := query.New([]query.Store{{Name: "files", Blobs: s, Tables: s, Free: true}}, sel, query.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = q.Run(t.Context(), p, func(m query.Match) error {
		at := time.Unix(0, m.Time).UTC().Format("01-02T15:04:05")
		lines = append(lines, fmt.Sprint(at, " ", m.Level(), " ", string(m.Source()), " ", string(record.AppendMessage(nil, m.Message()))))
		return nil
	})
	if r := q.Report(); err != nil || len(r.Problems)+len(r.Notes) > 0 {
		t.Fatal(err, r.Problems, r.Notes)
	}
	return lines
}

func add(t *testing.T, s *filestore.Store, name string, text io.Reader) {
	t.Helper()
	if err := s.Add(t.Context(), name, text, now()); err != nil {
		t.Fatal(err)
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	text := "Nov 20 10:00:01 host app: ERROR one\n\tat x.Y.z(Y.java:1)\n2026-11-20T10:00:00Z INFO zero\nno time\n\n2026-11-19T23:00:00Z last, no newline"
	var zipped, packed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	p, _ := zstd.NewWriter(&packed)
	for _, w := range []io.WriteCloser{z, p} {
		_, _ = io.WriteString(w, text)
		_ = w.Close()
	}
	for name, r := range map[string]io.Reader{"plain": strings.NewReader(text), "gzip": &zipped, "zstd": iotest.OneByteReader(&packed), "bytes": iotest.OneByteReader(strings.NewReader(text))} {
		s := newStore(t)
		add(t, s, "a/b.log", r)
		add(t, s, "\t", strings.NewReader("2026-11-20T10:00:00Z WARN other"))
		add(t, s, "empty", strings.NewReader(""))
		want := []string{
			"11-19T23:00:00 - a/b.log 2026-11-19T23:00:00Z last, no newline",
			"11-20T10:00:00 INFO a/b.log 2026-11-20T10:00:00Z INFO zero",
			"11-20T10:00:00 - a/b.log no time",
			"11-20T10:00:00 - a/b.log ",
			"11-20T10:00:00 WARN _ 2026-11-20T10:00:00Z WARN other",
			"11-20T10:00:01 ERROR a/b.log Nov 20 10:00:01 host app: ERROR one\n\tat x.Y.z(Y.java:1)",
		}
		if got := found(t, s); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s", name, strings.Join(got, "\n"))
		}
		if got := found(t, s, "zero"); len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Lines in any order of time come out in that of time, those of one time in that of the file.
func TestOrder(t *testing.T) {
	t.Parallel()
	rnd := testrand.New(t)
	for range 20 {
		s := newStore(t)
		var want []string
		for file := range 1 + rnd.IntN(3) {
			var text strings.Builder
			span := 1 + rnd.IntN(5*24*3600)
			for i := range rnd.IntN(400) {
				at := now().Add(-time.Duration(rnd.IntN(span)) * time.Second)
				message := fmt.Sprintf("%s %d %s", at.Format(time.RFC3339), i, strings.Repeat("x", rnd.IntN(80)))
				text.WriteString(message + "\n")
				want = append(want, fmt.Sprintf("%s - f%d %s", at.Format("01-02T15:04:05"), file, message))
			}
			add(t, s, fmt.Sprint("f", file), strings.NewReader(text.String()))
		}
		slices.SortStableFunc(want, func(a, b string) int { return strings.Compare(a[:14], b[:14]) })
		if got := found(t, s); !slices.Equal(got, want) {
			t.Fatalf("%d records, want %d:\n%s\nwant\n%s", len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, strings.Repeat("line\n", 10_000))
	_ = z.Close()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		r    io.Reader
		want error
		some bool
	}{
		"truncated": {bytes.NewReader(zipped.Bytes()[:zipped.Len()-20]), io.ErrUnexpectedEOF, true},
		"head only": {bytes.NewReader(zipped.Bytes()[:4]), io.ErrUnexpectedEOF, false},
		"later":     {io.MultiReader(strings.NewReader("one\ntwo"), iotest.ErrReader(broken)), broken, true},
		"at once":   {iotest.ErrReader(broken), broken, false},
	} {
		s := newStore(t)
		err := s.Add(t.Context(), "x", c.r, now())
		var readErr *filestore.ReadError
		if !errors.As(err, &readErr) || !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := found(t, s); (len(got) > 0) != c.some {
			t.Errorf("%s: %d records", name, len(got))
		}
		add(t, s, "y", strings.NewReader("2026-11-20T10:00:00Z and goes on\n"))
		if got := found(t, s, "goes on"); len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	s := newStore(t)
	read := 0
	r := readerFunc(func(p []byte) (int, error) {
		if read++; read == 3 {
			cancel(stopped)
		}
		return copy(p, "x\n"), nil
	})
	if err := s.Add(ctx, "x", r, now()); !errors.Is(err, stopped) {
		t.Errorf("%v", err)
	}
}

// What is changed in a file is noted once.
func TestNotes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	add(t, s, "plain", strings.NewReader("2026-11-20T10:00:00Z one\n"))
	add(t, s, "hole", strings.NewReader(strings.Repeat("\x00", 2_000_000)+"2026-11-20T10:00:01Z WARN two\n"))
	add(t, s, "utf16", strings.NewReader("\xff\xfea\x00\n\x00b\x00\n\x00"))
	want := []string{"hole: skipped 2000000 NUL bytes at the start of lines", "utf16: converted from UTF-16LE to UTF-8"}
	if got := s.Notes(); !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q", got, want)
	}
	if got := found(t, s, "two"); !slices.Equal(got, []string{"11-20T10:00:01 WARN hole 2026-11-20T10:00:01Z WARN two"}) {
		t.Errorf("found %q", got)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestLongLine(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	add(t, s, "x", strings.NewReader("2026-11-20T10:00:00Z "+strings.Repeat("y", record.MaxSize-21)+"\n"))
	if got := found(t, s); len(got) != 1 || len(got[0]) < record.MaxSize || len(s.Notes()) != 0 {
		t.Fatalf("%d records, %q", len(got), s.Notes())
	}
	add(t, s, "x", strings.NewReader("2026-11-20T11:00:00Z "+strings.Repeat("y", record.MaxSize)+"\n"))
	if got := found(t, s); len(got) != 2 || !strings.Contains(got[1][len(got[1])-40:], "cut ") || !slices.Equal(s.Notes(), []string{"truncated 1 line longer than 16.8 MB"}) {
		t.Fatalf("%d records, %q", len(got), s.Notes())
	}
}

// It reads as stores do.
func TestReader(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	add(t, s, "x", strings.NewReader("2026-11-20T10:00:00Z a\n2026-11-20T11:00:00Z b\n2025-01-01T00:00:00Z c\n"))
	ctx := t.Context()
	var blobs []store.Blob
	for page, err := range s.List(ctx, "file/2026/") {
		if err != nil {
			t.Fatal(err)
		}
		blobs = append(blobs, page...)
	}
	if len(blobs) != 2 || blobs[0].Name >= blobs[1].Name {
		t.Fatalf("%+v", blobs)
	}
	whole, err := s.Read(ctx, store.BlobRef{Name: blobs[1].Name}, 0, blobs[1].Size)
	if err != nil {
		t.Fatal(err)
	}
	if part, err := s.Read(ctx, store.BlobRef{Name: blobs[1].Name}, 3, blobs[1].Size-3); err != nil || !bytes.Equal(part, whole[3:]) {
		t.Error(err)
	}
	for _, c := range []struct {
		name   string
		off, n int64
		want   error
	}{
		{blobs[0].Name, 0, blobs[0].Size + 1, store.ErrRange},
		{blobs[0].Name, blobs[0].Size, 1, store.ErrRange},
		{blobs[0].Name, -1, 1, store.ErrInvalid},
		{blobs[0].Name, 0, 0, store.ErrInvalid},
		{"file/x", 0, 1, store.ErrNotFound},
	} {
		if _, err := s.Read(ctx, store.BlobRef{Name: c.name}, c.off, c.n); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for prefix, want := range map[string]string{"": "file/", "file/": "file/2025/ file/2026/", "file/2026/": "file/2026/11/", "none": ""} {
		var got []string
		for page, err := range s.ListPrefixes(ctx, prefix) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page...)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v", prefix, got)
		}
	}
	for _, err := range s.Query(ctx, "t", store.Query{}) {
		if !errors.Is(err, store.ErrNoTable) {
			t.Error(err)
		}
	}
	ended, cancel := context.WithCancelCause(ctx)
	cause := errors.New("ended")
	cancel(cause)
	if _, err := s.Read(ended, blobs[0].Ref(), 0, 1); !errors.Is(err, cause) {
		t.Error(err)
	}
	for _, err := range s.List(ended, "") {
		if !errors.Is(err, cause) {
			t.Error(err)
		}
	}
}

// What is in memory is bounded: records of one hour are several segments. A temporary file that cannot be
// written ends adding.
func TestRuns(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("2026-11-20T10:00:00Z "+strings.Repeat("y", 79)+"\n", 100)
	s := newStore(t)
	add(t, s, "x", strings.NewReader(text))
	for page, err := range s.List(t.Context(), "") {
		if err != nil || len(page) < 5 || len(page) > 6 {
			t.Errorf("%d segments, %v", len(page), err)
		}
	}
	for _, text := range []string{text, "one"} {
		s, err := filestore.New(filestore.Options{Now: now, TempDir: t.TempDir(), RunSize: 4000})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var readErr *filestore.ReadError
		if err := s.Add(t.Context(), "x", strings.NewReader(text), now()); err == nil || errors.As(err, &readErr) {
			t.Errorf("%v", err)
		}
	}
}
