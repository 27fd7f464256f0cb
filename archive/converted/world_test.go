package converted_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	gocmp "github.com/google/go-cmp/cmp"

	"logstow/archive/converted"
	"logstow/layout"
	"logstow/query"
	"logstow/store"
	"logstow/store/local"
)

// day is the day of the blobs.
func day() time.Time { return time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC) }

// row is a record, with canonical JSON where a text is JSON.
type row struct {
	Time                                        int64
	Level, Service, Source, Attributes, Message string
}

// canonical is a JSON object in canonical form; another text is returned as it is.
func canonical(text string) string {
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	var v map[string]any
	if in.Decode(&v) != nil {
		return text
	}
	made, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(made)
}

func sortRows(all []row) []row {
	slices.SortFunc(all, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Level, b.Level))
	})
	return all
}

// world is a directory with the blobs of other programs.
type world struct {
	t    testing.TB
	dir  string
	rnd  *rand.Rand
	opts converted.Options
	// wrap wraps the blobs that are read.
	wrap func(store.BlobReader) store.BlobReader
}

func newWorld(t testing.TB, rnd *rand.Rand) *world {
	return &world{
		t: t, dir: t.TempDir(), rnd: rnd, wrap: func(r store.BlobReader) store.BlobReader { return r },
		opts: converted.Options{Name: "archive", Container: "archive", Directory: true, TempDir: t.TempDir(), Now: func() time.Time { return day().Add(72 * time.Hour) }},
	}
}

// write writes a blob as it was at a time.
func (w *world) write(name string, at time.Time, body []byte) {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, body, 0o600)
	}
	if err == nil {
		err = os.Chtimes(path, at, at)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// answer is what a query returns.
type answer struct {
	rows   []row
	report query.Report
}

// ask returns all records of a range.
func (w *world) ask(l *layout.Layout, from, to time.Time) answer {
	w.t.Helper()
	s, err := local.Open(w.t.Context(), w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	return w.askStore(s, l, from, to)
}

func (w *world) askStore(s store.Store, l *layout.Layout, from, to time.Time) answer {
	w.t.Helper()
	made := converted.New(l, w.opts)
	defer made.Close()
	reading := query.ReadOnly(s)
	reading.Blobs, reading.Archive, reading.Free = w.wrap(reading.Blobs), made, w.opts.Directory
	q, err := query.New([]query.Store{reading}, query.Selection{From: from, To: to, Now: w.opts.Now()}, query.Options{TempDir: w.opts.TempDir})
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := q.Plan(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	var all []row
	err = q.Run(w.t.Context(), p, func(m query.Match) error {
		all = append(all, row{m.Time, m.Level().String(), m.Segment.Name.Service, string(m.Source()), canonical(string(m.Attributes())), canonical(string(m.Message()))})
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{sortRows(all), q.Report()}
}

// check compares the answer for a range with what a reader returns.
func (w *world) check(l *layout.Layout, from, to time.Time, read func(name string, body []byte) []row, damaged int) {
	w.t.Helper()
	var want []row
	blobs := 0
	err := filepath.WalkDir(w.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		name, _ := filepath.Rel(w.dir, path)
		blobs++
		for _, r := range read(filepath.ToSlash(name), body) {
			if r.Time >= from.UnixNano() && r.Time < to.UnixNano() {
				want = append(want, r)
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	got := w.ask(l, from, to)
	if diff := gocmp.Diff(sortRows(want), got.rows); diff != "" {
		w.t.Errorf("from %s to %s: %d records, want %d (- want + got):\n%.6000s", from, to, len(got.rows), len(want), diff)
	}
	if blobs < 30 || len(want) == 0 {
		w.t.Errorf("%d blobs with %d records are too few for a test", blobs, len(want))
	}
	if n := len(got.report.Problems); n != damaged {
		w.t.Errorf("%d problems, want %d: %v", n, damaged, got.report.Problems)
	}
}

func parse(t testing.TB, text string, opts layout.Options) *layout.Layout {
	t.Helper()
	if opts.Zone == nil {
		opts.Zone = time.UTC
	}
	l, err := layout.Parse(text, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// gzipped compresses parts of a text as members of their own.
func gzipped(t testing.TB, parts ...[]byte) []byte {
	var b bytes.Buffer
	for _, part := range parts {
		z := gzip.NewWriter(&b)
		if _, err := z.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func zstandard(t testing.TB, text []byte) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(text, nil)
}

// plain decompresses a text as far as it can be.
func plain(body []byte) []byte {
	var b bytes.Buffer
	switch {
	case bytes.HasPrefix(body, []byte("\x1f\x8b")):
		if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			_, _ = b.ReadFrom(z)
		}
		return b.Bytes()
	case bytes.HasPrefix(body, []byte("\x28\xb5\x2f\xfd")):
		if z, err := zstd.NewReader(bytes.NewReader(body)); err == nil {
			_, _ = b.ReadFrom(z)
			z.Close()
		}
		return b.Bytes()
	}
	return body
}

// objects returns the objects of a text of lines or of an array, and the text of lines that are none.
func objects(text []byte) (all []map[string]any, others []string) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	decode := func(b []byte, to any) error {
		in := json.NewDecoder(bytes.NewReader(b))
		in.UseNumber()
		return in.Decode(to)
	}
	if bytes.HasPrefix(text, []byte("[")) && decode(text, &all) == nil {
		return all, nil
	}
	all = nil
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		var one map[string]any
		if err := decode(line, &one); err == nil {
			all = append(all, one)
		} else if len(line) > 0 {
			others = append(others, string(line))
		}
	}
	return all, others
}

func marshal(t testing.TB, v any) []byte {
	made, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// instant is the time of a text in RFC 3339.
func instant(text any) int64 {
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(text))
	if err != nil {
		return 0
	}
	return at.UnixNano()
}

// watched reports the reads of blobs.
type watched struct {
	store.BlobReader
	read func(name string)
}

func (w watched) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	w.read(ref.Name)
	return w.BlobReader.Read(ctx, ref, off, n)
}

// count returns the number of records of a range.
func (w *world) count(l *layout.Layout, from, to time.Time) uint64 {
	w.t.Helper()
	s, err := local.Open(w.t.Context(), w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	made := converted.New(l, w.opts)
	defer made.Close()
	reading := query.ReadOnly(s)
	reading.Blobs, reading.Archive, reading.Free = w.wrap(reading.Blobs), made, true
	q, err := query.New([]query.Store{reading}, query.Selection{From: from, To: to, Now: w.opts.Now()}, query.Options{TempDir: w.opts.TempDir})
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := q.Plan(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	n, err := q.Count(w.t.Context(), p)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
