package tableindex_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

// spy counts what reaches the tables, and fails what a test wants to fail.
type spy struct {
	inner
	mu    sync.Mutex
	calls []string
	sizes []int
	// upsert and create give an error in place of the call, or nil.
	upsert, create func(table string) error
}

func (s *spy) note(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

func (s *spy) CreateTable(ctx context.Context, table string) error {
	s.note("create " + table)
	if s.create != nil {
		if err := s.create(table); err != nil {
			return err
		}
	}
	return s.inner.CreateTable(ctx, table)
}

func (s *spy) Upsert(ctx context.Context, table string, entities []store.Entity) error {
	s.note(fmt.Sprintf("upsert %d into %s", len(entities), table))
	if s.upsert != nil {
		if err := s.upsert(table); err != nil {
			return err
		}
	}
	if err := s.inner.Upsert(ctx, table, entities); err != nil {
		return err
	}
	size := 0
	for _, e := range entities {
		size += e.Size()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = append(s.sizes, size)
	return nil
}

func TestPutCreatesATableWhenItIsMissing(t *testing.T) {
	t.Parallel()
	s := &spy{inner: openTables(t)}
	from := at(t, "2026-01-01T10:00:00Z")
	put(t, s, newEntity("x", "i", "", 1, from))
	put(t, s, newEntity("x", "i", "", 2, from))
	const table = "segments98f38f1220260101"
	want := []string{"upsert 1 into " + table, "create " + table, "upsert 1 into " + table, "upsert 1 into " + table}
	if diff := cmp.Diff(want, s.calls); diff != "" {
		t.Error(diff)
	}
}

func TestPutGroups(t *testing.T) {
	t.Parallel()
	s := &spy{inner: openTables(t)}
	from := at(t, "2026-01-01T10:00:00Z")
	var entities []tableindex.Entity
	for i := range uint64(250) { // one partition
		entities = append(entities, newEntity("x", "i", "", i+1, from))
	}
	entities = append(entities,
		newEntity("y", "i", "", 1, from),                                     // another partition
		newEntity("x", "i", "audit", 1, from),                                // another table
		newEntity("x", "i", "", 1, at(t, "2026-01-02T00:00:00Z")),            // another day
		newEntity("x", "i", "", 250, from), newEntity("x", "i", "", 7, from), // again
	)
	put(t, s, entities[250:252]...)
	put(t, s, entities[252])
	s.calls = nil
	put(t, s, entities...)
	slices.Sort(s.calls)
	const table = "segments98f38f12"
	want := []string{
		"upsert 1 into " + table + "20260101",
		"upsert 1 into " + table + "20260102",
		"upsert 1 into " + table + "audit20260101",
		"upsert 100 into " + table + "20260101",
		"upsert 100 into " + table + "20260101",
		"upsert 50 into " + table + "20260101",
	}
	if diff := cmp.Diff(want, s.calls); diff != "" {
		t.Error(diff)
	}
}

func TestPutKeepsToTheSizeOfATransaction(t *testing.T) {
	t.Parallel()
	s := &spy{inner: openTables(t)}
	from := at(t, "2026-01-01T10:00:00Z")
	var entities []tableindex.Entity
	for i := range uint64(100) {
		r := newEntity("x", "i", "", i+1, from)
		r.ETag = strings.Repeat("e", 32<<10) // 64 KiB as UTF-16
		entities = append(entities, r)
	}
	put(t, s, entities...)
	if len(s.sizes) != 2 || slices.Max(s.sizes) > store.MaxTransactionSize {
		t.Errorf("transactions of %d bytes, want 2 of at most %d", s.sizes, store.MaxTransactionSize)
	}
	if got := collect(t, tableindex.Range(t.Context(), s, "logs", "x", from, from.Add(time.Hour))); len(got) != 100 {
		t.Errorf("%d entities are read, want 100", len(got))
	}
}

func TestPutLastEntityOfAKeyWins(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	from := at(t, "2026-01-01T10:00:00Z")
	first, second := newEntity("x", "i", "", 1, from), newEntity("x", "i", "", 1, from)
	second.ETag = "second"
	put(t, tables, first, second)
	got := collect(t, tableindex.Range(t.Context(), tables, "logs", "x", from, from.Add(1)))
	if diff := cmp.Diff([]tableindex.Entity{second}, got); diff != "" {
		t.Error(diff)
	}
	put(t, tables, first) // a later call replaces
	got = collect(t, tableindex.Range(t.Context(), tables, "logs", "x", from, from.Add(1)))
	if diff := cmp.Diff([]tableindex.Entity{first}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPutJoinsErrors(t *testing.T) {
	t.Parallel()
	from := at(t, "2026-01-01T10:00:00Z")
	const busy, gone, fine = "segments98f38f1220260101", "segments98f38f1220260102", "segments98f38f1220260103"
	s := &spy{inner: openTables(t)}
	s.create = func(table string) error {
		if table == busy {
			return &store.Error{Op: "create table", Object: table, Class: store.ErrTableBusy}
		}
		return nil
	}
	s.upsert = func(table string) error {
		if table == gone {
			return &store.Error{Op: "upsert", Object: table, Class: store.ErrNoTable}
		}
		return nil
	}
	invalid := newEntity("x", "i", "", 9, from)
	invalid.Meta.End += int64(time.Hour)
	err := tableindex.Put(t.Context(), s, "logs", []tableindex.Entity{
		newEntity("x", "i", "", 1, from), invalid, newEntity("x", "i", "", 1, from.Add(24*time.Hour)), newEntity("x", "i", "", 1, from.Add(48*time.Hour)),
	})
	for _, class := range []error{store.ErrTableBusy, store.ErrNoTable, store.ErrInvalid} {
		if !errors.Is(err, class) {
			t.Errorf("the error is not %v: %v", class, err)
		}
	}
	for _, part := range []string{busy, gone, "x/2026/01/01/1000/000009.log"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), fine) {
		t.Errorf("the error names a table that is fine: %v", err)
	}
	if got := collect(t, tableindex.Range(t.Context(), s, "logs", "x", from.Add(48*time.Hour), from.Add(49*time.Hour))); len(got) != 1 {
		t.Errorf("the table that is fine has %d entities, want 1", len(got))
	}
}

func TestPutRejects(t *testing.T) {
	t.Parallel()
	from := at(t, "2026-01-01T10:30:00Z")
	for name, change := range map[string]func(*tableindex.Entity){
		"no name":              func(r *tableindex.Entity) { r.Name.Service = "" },
		"no number":            func(r *tableindex.Entity) { r.Name.Number = 0 },
		"a bucket of seconds":  func(r *tableindex.Entity) { r.Name.Bucket = r.Name.Bucket.Add(time.Second) },
		"no instance":          func(r *tableindex.Entity) { r.Meta.Instance = "" },
		"a bad class":          func(r *tableindex.Entity) { r.Meta.Class = "Audit" },
		"counts do not sum":    func(r *tableindex.Entity) { r.Meta.Records++ },
		"an earlier record":    func(r *tableindex.Entity) { r.Name.Bucket = r.Name.Bucket.Add(45 * time.Minute) },
		"a later record":       func(r *tableindex.Entity) { r.Meta.End = from.Add(30 * time.Minute).UnixNano() },
		"a negative size":      func(r *tableindex.Entity) { r.Size = -1 },
		"minutes too many":     func(r *tableindex.Entity) { r.Minutes[0].Levels[record.Info]++ },
		"minutes overflow":     func(r *tableindex.Entity) { r.Minutes[0].Levels[record.Info] += math.MaxUint64 },
		"minutes of no record": func(r *tableindex.Entity) { r.Minutes = append(r.Minutes, record.Minute{Start: from.Unix() + 300}) },
		"minutes unordered":    func(r *tableindex.Entity) { slices.Reverse(r.Minutes) },
		"a minute's second":    func(r *tableindex.Entity) { r.Minutes[0].Start++ },
		"another hour's": func(r *tableindex.Entity) {
			r.Minutes[1].Start = from.Add(30 * time.Minute).Unix()
		},
	} {
		r := newEntity("x", "i", "", 1, from, from.Add(time.Minute))
		change(&r)
		var w recorder
		if err := tableindex.Put(t.Context(), &w, "logs", []tableindex.Entity{r}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
		if len(w.written) > 0 {
			t.Errorf("%s: was written", name)
		}
	}
	before := newEntity("x", "i", "", 1, time.Unix(-1, 0))
	if err := tableindex.Put(t.Context(), &recorder{}, "logs", []tableindex.Entity{before}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("before 1970: got %v, want ErrInvalid", err)
	}
	if err := tableindex.Put(t.Context(), &recorder{}, "logs", nil); err != nil {
		t.Errorf("no entities: %v", err)
	}
}

// TestShardsSpread writes what many instances write: no partition has far more
// than its share.
func TestShardsSpread(t *testing.T) {
	t.Parallel()
	count := make(map[string]int)
	for i := range 1600 {
		_, e := entityOf(t, newEntity("x", fmt.Sprintf("web-%08x-%d", i*7919, i%10), "", 1, at(t, "2026-01-01T10:00:00Z")))
		count[e.Partition]++
	}
	if most := slices.Max(slices.Collect(maps.Values(count))); len(count) != 16 || most > 200 {
		t.Errorf("1600 instances are spread as %v", count)
	}
}

// The first transaction creates the table, and 16 of the others are written at a time. After an error no further ones begin.
func TestPutConcurrently(t *testing.T) {
	t.Parallel()
	const services = 40
	var entities []tableindex.Entity
	for i := range services {
		entities = append(entities, newEntity(fmt.Sprintf("s%02d", i), "pod-1", "", 1, at(t, "2026-11-20T15:00:00Z")))
	}
	for _, fail := range []bool{false, true} {
		var mu sync.Mutex
		upserts, inFlight, most := 0, 0, 0
		started := make(chan struct{}) // closed when 16 are in flight
		s := &spy{inner: openTables(t), upsert: func(string) error {
			mu.Lock()
			upserts++
			inFlight++
			if most = max(most, inFlight); most == 16 && inFlight == 16 {
				select {
				case <-started:
				default:
					close(started)
				}
			}
			first := upserts <= 2 // before and after the table was created
			mu.Unlock()
			if !first {
				<-started
			}
			mu.Lock()
			defer mu.Unlock()
			inFlight--
			if fail && !first {
				return store.ErrUnavailable
			}
			return nil
		}}
		err := tableindex.Put(t.Context(), s, "logs", entities)
		switch {
		case !fail && (err != nil || upserts != services+1 || most != 16 || !slices.Contains(s.calls, "create "+tableindex.TableName("logs", "", entities[0].Name.Bucket))):
			t.Errorf("%d upserts, at most %d at once, %v", upserts, most, err)
		case fail && (!errors.Is(err, store.ErrUnavailable) || upserts > 2+16+15):
			t.Errorf("%d upserts, %v", upserts, err)
		}
	}
}
