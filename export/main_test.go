package export_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"go.uber.org/goleak"

	"logstow/blobnaming"
	"logstow/compaction"
	"logstow/export"
	"logstow/export/delta"
	"logstow/internal/retry"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/open"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const day = 24 * time.Hour

// began is when the tests began.
//
//nolint:gochecknoglobals // the same in all tests, also when a day ends during one
var began = time.Now().UTC()

// dayBefore is the start of a day that ended some days ago; 1 is yesterday.
func dayBefore(n int) time.Time { return began.Truncate(day).AddDate(0, 0, -n) }

// world is a store, the records in it, and its table.
type world struct {
	tb     testing.TB
	rnd    *rand.Rand
	s      store.Store
	table  export.Destination
	number uint64
	lines  int
	// want has the rows of all records, as in row.
	want []string
}

func openLocal(tb testing.TB, dir string) store.Store {
	tb.Helper()
	s, err := open.Store(tb.Context(), dir, open.Options{Getenv: os.Getenv})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func newWorld(tb testing.TB, rnd *rand.Rand) *world {
	tb.Helper()
	dir := tb.TempDir()
	table := openLocal(tb, filepath.Join(dir, "table"))
	return &world{
		tb: tb, rnd: rnd, s: openLocal(tb, filepath.Join(dir, "store")),
		table: export.Destination{Blobs: table.Blobs(), Name: table.String()},
	}
}

// row is a record as text.
func row(service, instance string, r record.Record) string {
	attributes := ""
	for _, pair := range []string{"k", "n"} {
		if i := bytes.Index(r.Attributes, []byte(`"`+pair+`":`)); i >= 0 {
			attributes += pair + " "
		}
	}
	source, level := r.Source, r.Level.String()
	if source == "-" {
		source = ""
	}
	if r.Level == record.None {
		level = ""
	}
	message := strings.ToValidUTF8(string(r.Message), "\ufffd")
	return fmt.Sprintf("%s|%d|%s|%s|%s|%s|%s|%s", time.Unix(0, r.Time).UTC().Format(time.DateOnly), r.Time, service, instance, level, source, attributes, message)
}

// ship stores a segment of n records of an hour.
func (w *world) ship(service, instance, class string, hour time.Time, n int) {
	w.tb.Helper()
	var b bytes.Buffer
	salt := [16]byte{}
	for i := range salt {
		salt[i] = byte(w.rnd.Uint32())
	}
	out := segment.NewWriter(&b, segment.Options{
		Service: service, Instance: instance, Class: class, Salt: salt, BlockSize: 2000, BucketStart: hour.Unix(), BucketWidth: 3600,
	})
	for range n {
		w.lines++
		message := fmt.Sprintf(`user=u%d took=%d line %d`, w.rnd.IntN(5), w.rnd.IntN(100), w.lines)
		switch w.rnd.IntN(10) {
		case 0:
			message += "\n\tat main.go:1\n"
		case 1:
			message += " \xff\xfe"
		case 2:
			message = fmt.Sprintf(`{"user":"u%d","took":1.5,"line":%d}`, w.rnd.IntN(5), w.lines)
		}
		r := record.Record{
			Time: hour.UnixNano() + w.rnd.Int64N(3600*4)*250e6 + w.rnd.Int64N(2), Level: record.Level(w.rnd.IntN(record.Levels)), Source: "-", Message: []byte(message),
		}
		if w.rnd.IntN(2) == 0 {
			r.Source = "app.log"
		}
		if w.rnd.IntN(3) == 0 {
			r.Attributes = []byte(`{"k":"v","n":{"a":1}}`)
		}
		if err := out.Append(r); err != nil {
			w.tb.Fatal(err)
		}
		w.want = append(w.want, row(service, instance, r))
	}
	meta, err := out.Close(int64(w.number))
	if err != nil {
		w.tb.Fatal(err)
	}
	w.number++
	name := blobnaming.Name{Service: service, Bucket: hour, Number: w.number}
	if _, err := w.s.Blobs().Create(w.tb.Context(), name.String(), b.Bytes(), store.CreateOptions{Metadata: meta.Encode()}); err != nil {
		w.tb.Fatal(err)
	}
}

// fill stores segments of some services, instances and classes on a day.
func (w *world) fill(at time.Time, segments int) {
	w.tb.Helper()
	for range segments {
		class := ""
		if w.rnd.IntN(4) == 0 {
			class = "audit"
		}
		hour := at.Add(time.Duration(w.rnd.IntN(20)) * time.Hour)
		w.ship([]string{"api", "web"}[w.rnd.IntN(2)], fmt.Sprintf("pod-%d", w.rnd.IntN(3)), class, hour, 1+w.rnd.IntN(60))
	}
}

// compact merges all segments.
func (w *world) compact() {
	w.tb.Helper()
	o := compaction.DefaultOptions()
	o.After, o.Grace, o.Limits.LateAge, o.MaxAge, o.TempDir = 0, 0, 0, 100*day, w.tb.TempDir()
	report, err := compaction.Run(w.tb.Context(), w.s, o)
	if err != nil || report.Err() != nil {
		w.tb.Fatal(err, report.Err())
	}
}

// export exports with default options, changed by functions.
func (w *world) export(change ...func(*export.Options)) export.Report {
	w.tb.Helper()
	o := export.DefaultOptions()
	o.TempDir = w.tb.TempDir()
	for _, f := range change {
		f(&o)
	}
	report, err := export.Run(w.tb.Context(), w.s, w.table, o)
	if err != nil || report.Err() != nil {
		w.tb.Fatalf("%+v: %v, %v", report, err, report.Err())
	}
	return report
}

// load loads the log of the table.
func (w *world) load() *delta.Snapshot {
	w.tb.Helper()
	return loadTable(w.tb, w.table.Blobs)
}

func loadTable(tb testing.TB, blobs store.Blobs) *delta.Snapshot {
	tb.Helper()
	s, err := (&delta.Table{Blobs: blobs, Retry: retry.Jobs()}).Load(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// skipTo makes commits without actions until the table has a version.
func (w *world) skipTo(version int64) {
	w.tb.Helper()
	for s := w.load(); s.Version < version; {
		if err := (&delta.Table{Blobs: w.table.Blobs}).Commit(w.tb.Context(), s, delta.CommitInfo{}, nil); err != nil {
			w.tb.Fatal(err)
		}
	}
}

// tableRow is a row of a data file.
type tableRow struct {
	Time       int64              `parquet:"time"`
	Nanos      int64              `parquet:"time_nanos"`
	Service    string             `parquet:"service"`
	Level      *string            `parquet:"level,optional"`
	Instance   *string            `parquet:"instance,optional"`
	Source     *string            `parquet:"source,optional"`
	Message    string             `parquet:"message"`
	Attributes map[string]*string `parquet:"attributes,optional"`
	User       *string            `parquet:"user,optional"`
	Took       *float64           `parquet:"took,optional"`
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// fileRows returns the rows of a data file.
func fileRows(tb testing.TB, blobs store.Blobs, f delta.Add) []tableRow {
	tb.Helper()
	body, err := blobs.Read(context.WithoutCancel(tb.Context()), store.BlobRef{Name: f.Path}, 0, f.Size)
	if err != nil {
		tb.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(body), f.Size)
	if err != nil {
		tb.Fatal(err)
	}
	r := parquet.NewGenericReader[tableRow](file)
	defer func() { _ = r.Close() }()
	rows := make([]tableRow, file.NumRows())
	if n, err := r.Read(rows); n != len(rows) || err != nil && err != io.EOF { //nolint:errorlint // not wrapped
		tb.Fatal(n, err)
	}
	return rows
}

// rows returns all rows of the table, as in want.
func (w *world) rows() (all []string) {
	w.tb.Helper()
	for _, f := range w.load().Files {
		for _, r := range fileRows(w.tb, w.table.Blobs, f) {
			if r.Time != r.Nanos/1000 {
				w.tb.Fatalf("%d and %d", r.Time, r.Nanos)
			}
			attributes := ""
			for _, pair := range []string{"k", "n"} {
				if _, ok := r.Attributes[pair]; ok {
					attributes += pair + " "
				}
			}
			all = append(all, fmt.Sprintf("%s|%d|%s|%s|%s|%s|%s|%s", f.PartitionValues["date"], r.Nanos, r.Service, orEmpty(r.Instance), orEmpty(r.Level), orEmpty(r.Source), attributes, r.Message))
		}
	}
	slices.Sort(all)
	return all
}

// check compares the table with the records of days from one on.
func (w *world) check(what string, from time.Time) {
	w.tb.Helper()
	var want []string
	for _, text := range w.want {
		if text >= from.Format(time.DateOnly) {
			want = append(want, text)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, w.rows()); diff != "" {
		w.tb.Fatalf("%s (-want +got):\n%.3000s", what, diff)
	}
}
