package logql_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/compaction"
	"logstow/internal/test/azurite"
	"logstow/internal/test/effort"
	"logstow/logql/engine"
	"logstow/logql/storage"
	logs "logstow/query"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/local"
	"logstow/store/open"
	"logstow/tableindex"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }

// The table over segments of the embedded store: a segment for each instance, with blocks of few records.
func TestLongQueriesOverSegments(t *testing.T) {
	t.Parallel()
	checkQueries(t, func(t testing.TB, records []*refRecord) engine.Source {
		s := embedded(t)
		ship(t, s, records, 1000)
		return view(s)
	}, every(shorter(4), slices.Concat(logQueries(), templateQueries(), metricQueries())))
}

// The same over an output of compaction, with columns, of segments of two records each.
func TestLongQueriesOverCompaction(t *testing.T) {
	t.Parallel()
	checkQueries(t, func(t testing.TB, records []*refRecord) engine.Source {
		s := embedded(t)
		ship(t, s, records, 2)
		o := compaction.DefaultOptions()
		o.From, o.To, o.MaxAge = refStart(), refStart().Add(24*time.Hour), time.Since(refStart())+24*time.Hour
		o.After, o.Grace, o.Limits.LateAge, o.TempDir = 0, 0, 0, t.TempDir()
		report, err := compaction.Run(t.Context(), s, o)
		if err != nil || report.Outputs == 0 {
			t.Fatal(err, report)
		}
		return view(s)
	}, every(shorter(4), slices.Concat(logQueries(), metricQueries())))
}

// A part of the table over Azurite.
func TestQueriesOverAzurite(t *testing.T) {
	t.Parallel()
	some := every(effort.Cases{Test: 150, Full: 25}.N(), slices.Concat(logQueries(), metricQueries()))
	checkQueries(t, func(t testing.TB, records []*refRecord) engine.Source {
		a := azurite.Start(t)
		s, err := open.Store(t.Context(), "azblob://"+a.Container(), open.Options{Getenv: func(name string) string {
			if name == "AZURE_STORAGE_CONNECTION_STRING" {
				return a.ConnectionString()
			}
			return ""
		}})
		closeAtEnd(t, s, err)
		ship(t, s, records, 5)
		return view(s)
	}, some)
}

// shorter is 6n for what make test tests, n for make full, and 1 in the long form of the tests.
func shorter(n int) int { return effort.Cases{Short: 10 * n, Test: 6 * n, Full: n, Long: 1}.N() }

// every is each n-th query, from a place that differs from day to day.
func every(n int, queries []query) (some []query) {
	for i := time.Now().YearDay() % n; i < len(queries); i += n {
		some = append(some, queries[i])
	}
	return some
}

// embedded is a store in a directory of the test's own.
func embedded(t testing.TB) store.Store {
	s, err := open.Store(t.Context(), filepath.Join(t.TempDir(), "store"), open.Options{Getenv: os.Getenv})
	closeAtEnd(t, s, err)
	return s
}

func closeAtEnd(t testing.TB, s store.Store, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// view is a request over a store.
func view(s store.Store) *storage.View {
	reading := logs.ReadOnly(s)
	_, reading.Free = s.(*local.Store)
	now := func() time.Time { return refStart().Add(24 * time.Hour) }
	return storage.New([]logs.Store{reading}, logs.Options{}, now).View(storage.Access{})
}

// ship stores records in segments of at most n of one instance.
func ship(t testing.TB, s store.Store, records []*refRecord, n int) {
	t.Helper()
	type stream struct{ service, instance string }
	byStream := map[stream][]*refRecord{}
	for _, r := range records {
		key := stream{r.Service, r.Instance}
		byStream[key] = append(byStream[key], r)
	}
	number := uint64(0)
	for key, all := range byStream {
		for part := range slices.Chunk(all, n) {
			number++
			body, meta := encode(t, key.service, key.instance, part, number)
			name := blobnaming.Name{Service: key.service, Bucket: refStart(), Number: number}
			etag, err := s.Blobs().Create(t.Context(), name.String(), body, store.CreateOptions{Metadata: meta.Encode()})
			if err != nil {
				t.Fatal(err)
			}
			row := tableindex.Entity{Name: name, Meta: meta, ETag: etag, Size: int64(len(body))}
			if err := tableindex.Put(t.Context(), s.Tables(), s.Container(), []tableindex.Entity{row}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// encode makes a segment.
func encode(t testing.TB, service, instance string, records []*refRecord, number uint64) ([]byte, blobnaming.Metadata) {
	t.Helper()
	var b bytes.Buffer
	w := segment.NewWriter(&b, segment.Options{
		Service: service, Instance: instance, Salt: [16]byte{byte(number), byte(number >> 8), 1},
		BlockSize: 700, BucketStart: refStart().Unix(), BucketWidth: int64(time.Hour / time.Second),
	})
	for _, r := range records {
		level := record.None
		if r.Level != "unknown" {
			var err error
			if level, err = record.ParseLevel(strings.ToUpper(r.Level)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Append(record.Record{Time: r.time(), Level: level, Source: r.Source, Message: []byte(r.Line)}); err != nil {
			t.Fatal(fmt.Errorf("%q: %w", r.Line, err))
		}
	}
	meta, err := w.Close(int64(number))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), meta
}
