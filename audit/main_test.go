package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/audit"
	"logstow/blobnaming"
	"logstow/internal/test/azurite"
	"logstow/internal/test/catalogtest"
	"logstow/internal/test/effort"
	"logstow/internal/test/storetest"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/azure"
	"logstow/tableindex"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }

// backends runs a test on both stores at [effort.Full], below on one of them.
func backends(t *testing.T, f func(t *testing.T, s store.Store)) {
	t.Helper()
	open := map[string]func(testing.TB) store.Store{
		"local":   storetest.OpenLocal,
		"azurite": openAzure,
	}
	kinds := effort.Some(t, "local", "azurite")
	if effort.Of() < effort.Test {
		kinds = []string{"local"}
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f(t, open[kind](t))
		})
	}
}

func openAzure(t testing.TB) store.Store {
	t.Helper()
	a := azurite.Start(t)
	cred, err := azure.FromEnv(func(name string) string {
		if name == "AZURE_STORAGE_CONNECTION_STRING" {
			return a.ConnectionString()
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := azure.Open(t.Context(), azure.Options{Container: a.Container(), Credential: cred})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Close(t, s)
	return s
}

// hour is when all segments of the tests begin, or whole days and hours later.
func hour() time.Time { return time.Date(2026, 11, 19, 15, 0, 0, 0, time.UTC) }

// made is a segment with all that is known of it.
type made struct {
	entity tableindex.Entity
	body   []byte
}

// newSegment makes a segment of some records.
func newSegment(t testing.TB, service, class string, bucket time.Time, number uint64, records int) made {
	t.Helper()
	var b bytes.Buffer
	w := segment.NewWriter(&b, segment.Options{
		Service: service, Instance: fmt.Sprintf("pod-%d", number), Class: class,
		Salt:        [16]byte{byte(number), byte(records), byte(len(service)), service[0]},
		BucketStart: bucket.Unix(), BucketWidth: int64(bucket.Truncate(time.Hour).Add(time.Hour).Sub(bucket) / time.Second),
	})
	for i := range records {
		err := w.Append(record.Record{
			Time:    bucket.Add(time.Duration(i) * 7 * time.Second).UnixNano(),
			Level:   record.Level(i % record.Levels),
			Source:  "app.log",
			Message: []byte(fmt.Sprintf("message %d of %s", i, service)),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	meta, err := w.Close(int64(number))
	if err != nil {
		t.Fatal(err)
	}
	footer, err := segment.Verify(t.Context(), ranges(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return made{
		tableindex.Entity{
			Name: blobnaming.Name{Service: service, Bucket: bucket, Number: number},
			Meta: meta, Size: int64(b.Len()), Minutes: footer.Minutes,
		},
		b.Bytes(),
	}
}

// create stores a blob with metadata and sets its entity's ETag and size.
func create(t testing.TB, s store.Store, m *made, metadata map[string]string) {
	t.Helper()
	etag, err := catalogtest.Container(s, m.entity.Name.String()).Create(t.Context(), m.entity.Name.String(), m.body, store.CreateOptions{Metadata: metadata})
	if err != nil {
		t.Fatal(err)
	}
	m.entity.ETag, m.entity.Size = etag, int64(len(m.body))
}

// index writes entities.
func index(t testing.TB, s store.Store, entities ...tableindex.Entity) {
	t.Helper()
	if err := tableindex.Put(t.Context(), s.Tables(), s.Container(), entities); err != nil {
		t.Fatal(err)
	}
}

// tamper changes an entity, of which the key too may be changed, directly in its table.
func tamper(t testing.TB, s store.Store, entity tableindex.Entity, change func(e *store.Entity)) {
	t.Helper()
	columns := []store.Column{
		{Name: "Minutes", Kind: store.Binary},
	}
	for _, name := range []string{"Type", "ETag", "Blob", "StartTime", "EndTime", "LogVersion", "Levels", "Batch", "Instance", "Class", "Filter"} {
		columns = append(columns, store.Column{Name: name})
	}
	for _, name := range []string{"V", "Size", "Records", "RawBytes", "Seq", "Footer"} {
		columns = append(columns, store.Column{Name: name, Kind: store.Int64})
	}
	table, key := entity.Table(s.Container()), entity.Key()
	done := 0
	for page, err := range s.Tables().Query(t.Context(), table, store.Query{
		Partition: key.Partition, RowFrom: key.Row, RowTo: key.Row + " ", Columns: columns,
	}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			change(&e)
			if err := s.Tables().Upsert(t.Context(), table, []store.Entity{e}); err != nil {
				t.Fatal(err)
			}
			if e.Key != key {
				unindex(t, s, entity)
			}
			done++
		}
	}
	if done != 1 {
		t.Fatalf("%d entities of %s", done, entity.Name)
	}
}

// unindex removes an entity.
func unindex(t testing.TB, s store.Store, entity tableindex.Entity) {
	t.Helper()
	if err := tableindex.Remove(t.Context(), s.Tables(), entity.Table(s.Container()), []store.Key{entity.Key()}); err != nil {
		t.Fatal(err)
	}
}

// remove deletes a blob.
func remove(t testing.TB, s store.Store, name string) {
	t.Helper()
	if err := catalogtest.Container(s, name).Delete(t.Context(), store.AnyVersion(name)); err != nil {
		t.Fatal(err)
	}
}

// indexed are all of the index, by table, key and properties.
func indexed(t testing.TB, s store.Store) []string {
	t.Helper()
	tables, err := tableindex.Tables(t.Context(), s.Tables(), s.Container())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, table := range tables {
		for entities, err := range tableindex.Entities(t.Context(), s.Tables(), s.Container(), table.Name, "") {
			if err != nil {
				all = append(all, err.Error())
			}
			for _, entity := range entities {
				all = append(all, fmt.Sprint(table.Name, entity.Key(), entity))
			}
		}
	}
	slices.Sort(all)
	return all
}

// found runs and returns the kinds and objects of differences.
func found(t testing.TB, s store.Store, o audit.Options, run func(audit.Options) (audit.Report, error)) ([]string, audit.Report) {
	t.Helper()
	differences := []string{}
	o.Settle = time.Millisecond
	o.OnDifference = func(d audit.Difference) {
		if strings.Contains(d.String(), "\n") {
			t.Errorf("%q is more than a line", d)
		}
		differences = append(differences, string(d.Kind)+" "+d.Object)
	}
	report, err := run(o)
	if err != nil || report.Err() != nil {
		t.Fatal(err, report.Err())
	}
	if int(report.Differences) != len(differences) {
		t.Errorf("%d differences, the report has %d", len(differences), report.Differences)
	}
	slices.Sort(differences)
	return differences, report
}

func verify(t testing.TB, s store.Store, o audit.Options) []string {
	t.Helper()
	all, _ := found(t, s, o, func(o audit.Options) (audit.Report, error) { return audit.Verify(t.Context(), s, o) })
	return all
}

func reindex(t testing.TB, s store.Store, o audit.Options) ([]string, audit.Report) {
	t.Helper()
	return found(t, s, o, func(o audit.Options) (audit.Report, error) { return audit.Reindex(t.Context(), s, o) })
}

// ranges reads from a blob in memory.
func ranges(blob []byte) segment.Range {
	return func(_ context.Context, off, n int64) ([]byte, error) {
		if off < 0 || n <= 0 || off > int64(len(blob)) || n > int64(len(blob))-off {
			return nil, store.ErrRange
		}
		return blob[off : off+n], nil
	}
}
