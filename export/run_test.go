package export_test

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/catalog"
	"logstow/compaction"
	"logstow/export"
	"logstow/export/datafile"
	"logstow/export/delta"
	"logstow/internal/test/testrand"
	"logstow/store"
)

// Days, services, classes and later generations are in the table once each; a run with nothing to do writes nothing.
func TestExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for n := 1; n <= 3; n++ {
		w.fill(dayBefore(n), 12)
	}
	w.compact()
	if r := w.export(func(o *export.Options) { o.DryRun = true }); r.Units == 0 || r.Version != -1 || !r.Created || r.Files != 0 || int(r.Records) != len(w.want) {
		t.Errorf("dry run: %+v", r)
	}
	if s := w.load(); s.Version != -1 {
		t.Fatal("a dry run created the table")
	}
	r := w.export()
	if !r.Created || r.Version != 0 || r.Days != 3 || int(r.Records) != len(w.want) || r.Changed == 0 {
		t.Errorf("%+v", r)
	}
	w.check("first", dayBefore(9))
	if r := w.export(); r.Units != 0 || r.Version != 0 || r.Requests.Create != 0 {
		t.Errorf("nothing to do: %+v", r)
	}
	w.fill(dayBefore(2), 9)
	if r := w.export(); r.Waiting != 9 || r.Units != 0 {
		t.Errorf("not compacted: %+v", r)
	}
	w.compact()
	if r := w.export(); r.Waiting != 0 || r.Version != 1 || r.Days != 1 {
		t.Errorf("a later generation: %+v", r)
	}
	w.check("a later generation", dayBefore(9))
}

// Statistics of each file are right, rows are in order, and files end at their size.
func TestFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.fill(dayBefore(1), 60)
	w.compact()
	r := w.export(func(o *export.Options) { o.FileSize = 20_000 })
	if r.Files < 3 {
		t.Errorf("%d files", r.Files)
	}
	w.check("small files", dayBefore(9))
	for _, f := range w.load().Files {
		rows := fileRows(t, w.table.Blobs, f)
		least, most := int64(math.MaxInt64), int64(0)
		for i, row := range rows {
			least, most = min(least, row.Nanos), max(most, row.Nanos)
			if i > 0 && (row.Service < rows[i-1].Service || row.Service == rows[i-1].Service && row.Nanos < rows[i-1].Nanos) {
				t.Fatalf("row %d is out of order", i)
			}
		}
		var want strings.Builder
		for _, part := range []string{`"numRecords":`, `"time_nanos":`, `"service":"`, `"attributes":`} {
			if !strings.Contains(*f.Stats, part) {
				want.WriteString(part)
			}
		}
		for name, nanos := range map[string]int64{`"minValues":{`: least, `"maxValues":{`: most} {
			_, rest, _ := strings.Cut(*f.Stats, name)
			rest, _, _ = strings.Cut(rest, "}")
			bound := delta.MinTime(nanos)
			if name == `"maxValues":{` {
				bound = delta.MaxTime(nanos)
			}
			if !strings.Contains(rest, bound) || strings.Contains(rest, "attributes") {
				want.WriteString(name + bound)
			}
		}
		if want.Len() > 0 {
			t.Errorf("%s is missing in %s", &want, *f.Stats)
		}
	}
}

// Named columns are added, keep their types, and have the values of fields.
func TestColumns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.fill(dayBefore(2), 10)
	w.compact()
	w.export()
	w.fill(dayBefore(1), 10)
	w.compact()
	named := func(columns ...export.Column) func(*export.Options) {
		return func(o *export.Options) { o.Columns = columns }
	}
	r := w.export(named(export.Column{Field: "user", Kind: datafile.String}, export.Column{Field: "took", Kind: datafile.Number}, export.Column{Field: "LEVEL", Kind: datafile.String}))
	if r.Conflicts != 0 || r.Version != 1 {
		t.Errorf("%+v", r)
	}
	s := w.load()
	if !strings.Contains(s.Metadata.Schema, `"name":"LEVEL_"`) || !strings.Contains(s.Metadata.Schema, `"name":"took","type":"double","nullable":true`) {
		t.Error(s.Metadata.Schema)
	}
	users := 0
	for _, f := range s.Files {
		for _, row := range fileRows(t, w.table.Blobs, f) {
			if f.PartitionValues["date"] == dayBefore(2).Format(time.DateOnly) {
				if row.User != nil {
					t.Fatal("a value in a file from before the column")
				}
				continue
			}
			if row.User == nil || row.Took == nil || !strings.Contains(row.Message, *row.User) {
				t.Fatalf("%+v", row)
			}
			users++
		}
	}
	if users == 0 {
		t.Error("no values")
	}
	o := export.DefaultOptions()
	o.Columns = []export.Column{{Field: "took", Kind: datafile.Integer}}
	if _, err := export.Run(t.Context(), w.s, w.table, o); err == nil || !strings.Contains(err.Error(), "it is a double") {
		t.Errorf("another type: %v", err)
	}
	w.ship("web", "pod-0", "", dayBefore(1), 5)
	w.compact()
	if w.export().Version != 2 { // without flags: the columns stay
		t.Error("no commit")
	}
	if got := w.load().Metadata.Schema; got != s.Metadata.Schema {
		t.Errorf("schema %s", got)
	}
}

// Days past --keep leave the table, and do not come back.
func TestKeep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for n := 1; n <= 6; n++ {
		w.fill(dayBefore(n), 3)
	}
	w.compact()
	w.export()
	r := w.export(func(o *export.Options) { o.Keep = 3 * day })
	if r.ExpiredDays == 0 || r.ExpiredFiles == 0 || r.Version != 1 {
		t.Errorf("%+v", r)
	}
	w.check("kept", dayBefore(3))
	if r := w.export(func(o *export.Options) { o.Keep = 3 * day }); r.Version != 1 {
		t.Errorf("again: %+v", r)
	}
	if s := w.load(); len(s.Removed) == 0 {
		t.Error("no tombstones")
	}
}

// A table of another store, of another program, or of a newer protocol is not written to.
func TestOtherTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.fill(dayBefore(1), 3)
	w.compact()
	w.export()
	other := newWorld(t, testrand.New(t))
	other.fill(dayBefore(1), 3)
	if _, err := export.Run(t.Context(), other.s, w.table, export.DefaultOptions()); err == nil || !strings.Contains(err.Error(), "it is the table of ") {
		t.Errorf("another store: %v", err)
	}
	s := w.load()
	table := &delta.Table{Blobs: w.table.Blobs}
	if err := table.Commit(t.Context(), s, delta.CommitInfo{}, []delta.Action{{Protocol: &delta.Protocol{Reader: 3, Writer: 7}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := export.Run(t.Context(), w.s, w.table, export.DefaultOptions()); !errors.Is(err, delta.ErrUnsupported) {
		t.Errorf("a newer protocol: %v", err)
	}
}

// Two exports at once commit each output once.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	for range 4 {
		w.fill(dayBefore(1), 6)
		w.fill(dayBefore(2), 6)
		w.compact()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				report, err := export.Run(t.Context(), w.s, w.table, export.DefaultOptions())
				if err != nil || report.Err() != nil {
					t.Error(err, report.Err())
				}
			})
		}
		both.Wait()
		w.check("two exports", dayBefore(9))
	}
}

// reject makes readers ignore an output, and restores its inputs.
func (w *world) reject(name string, inputs map[string]store.Blob, bodies map[string][]byte) {
	w.tb.Helper()
	for _, b := range inputs {
		if _, err := w.s.Blobs().Create(w.tb.Context(), b.Name, bodies[b.Name], store.CreateOptions{Metadata: b.Metadata}); err != nil && !errors.Is(err, store.ErrExists) {
			w.tb.Fatal(err)
		}
	}
	if err := compaction.Reject(w.tb.Context(), w.s, name); err != nil {
		w.tb.Fatal(err)
	}
}

// A rejected output that is in the table leaves it, and its inputs are there once.
func TestRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.ship("web", "pod-0", "", dayBefore(1), 30)
	w.ship("web", "pod-1", "", dayBefore(1), 30)
	inputs, bodies := make(map[string]store.Blob), make(map[string][]byte)
	for page, err := range w.s.Blobs().List(t.Context(), "web/") {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			body, err := w.s.Blobs().Read(t.Context(), b.Ref(), 0, b.Size)
			if err != nil {
				t.Fatal(err)
			}
			inputs[b.Name], bodies[b.Name] = b, body
		}
	}
	w.ship("api", "pod-1", "", dayBefore(1), 30)
	w.compact()
	w.export()
	w.reject(blobnaming.OutputName("web", dayBefore(1), "", 1).String(), inputs, bodies)
	if r := w.export(); r.Rebuilt != 1 {
		t.Errorf("%+v", r)
	}
	if rows := w.rows(); len(rows) != 30 {
		t.Errorf("%d rows while nothing contains the inputs", len(rows))
	}
	w.compact()
	if r := w.export(); r.Rebuilt != 0 || r.Units != 1 {
		t.Errorf("%+v", r)
	}
	w.check("merged again", dayBefore(9))
	if r := w.export(); r.Commits != 0 {
		t.Errorf("again: %+v", r)
	}
}

// A damaged output is reported, with later ones of its chain; others are exported, and all are once it is rejected.
func TestDamaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.ship("api", "pod-1", "", dayBefore(1), 30)
	w.ship("web", "pod-0", "", dayBefore(1), 300)
	w.compact()
	damage(t, w.s.Compacted(), blobnaming.OutputName("web", dayBefore(1), "", 1).String())
	w.ship("web", "pod-1", "", dayBefore(1), 30)
	w.compact()
	report, err := export.Run(t.Context(), w.s, w.table, export.DefaultOptions())
	if err != nil || len(report.Damaged) != 1 || report.Err() == nil || report.Records != 30 {
		t.Errorf("%+v: %v", report, err)
	}
	if rows := w.rows(); len(rows) != 30 || !strings.Contains(rows[0], "|api|") {
		t.Errorf("%q", rows)
	}
	if s := w.load(); len(s.Files) != 1 {
		t.Errorf("%d files", len(s.Files))
	}
}

// damage flips a byte of a blob.
func damage(t *testing.T, blobs store.Blobs, name string) {
	t.Helper()
	b, found, err := catalog.Lookup(t.Context(), blobs, name)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	body, err := blobs.Read(t.Context(), b.Ref(), 0, b.Size)
	if err == nil {
		err = blobs.Delete(t.Context(), []store.BlobRef{b.Ref()})
	}
	if err == nil {
		body[len(body)/8] ^= 1
		_, err = blobs.Create(t.Context(), name, body, store.CreateOptions{Metadata: b.Metadata})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A day that the table may not know any more is not exported twice when --max-age is raised; others are.
func TestRaisedMaxAge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testrand.New(t))
	w.fill(dayBefore(20), 3)
	w.fill(dayBefore(1), 3)
	w.compact()
	w.export()
	w.fill(dayBefore(25), 3)
	w.compact()
	w.export(func(o *export.Options) { o.MaxAge = 2 * day })
	s := w.load()
	for id := range s.Txns { // as when they have expired
		if strings.Contains(id, dayBefore(20).Format("2006/01/02")) {
			actions := []delta.Action{{Txn: &delta.Txn{AppID: id, Version: 0}}}
			if err := (&delta.Table{Blobs: w.table.Blobs}).Commit(t.Context(), s, delta.CommitInfo{}, actions); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		if r := w.export(func(o *export.Options) { o.MaxAge = 40 * day }); r.Sealed != 1 {
			t.Errorf("%+v", r)
		}
		w.check("raised", dayBefore(40))
	}
}
