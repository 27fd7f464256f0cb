package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/store"
)

func tablesContext(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	upsert(t, s, table, entity("p", "r"))
	tables := s.Tables()
	cause := errors.New("the reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)

	_, err := collectErr(tables.Query(ctx, table, store.Query{Partition: "p"}))
	wantIs(t, "query", err, cause)
	_, err = collectErr(tables.Tables(ctx, table))
	wantIs(t, "tables", err, cause)
	wantIs(t, "create", tables.CreateTable(ctx, newTable()), cause)
	wantIs(t, "upsert", tables.Upsert(ctx, table, []store.Entity{entity("p", "never")}), cause)
	wantIs(t, "remove", tables.Remove(ctx, table, []store.Key{{Partition: "p", Row: "r"}}), cause)
	err = tables.DropTable(ctx, table)
	wantIs(t, "drop", err, cause)
	if store.Retryable(err) {
		t.Errorf("%v is retryable", err)
	}
	if diff := cmp.Diff([]string{"r"}, rows(t, s, table, store.Query{Partition: "p"})); diff != "" {
		t.Errorf("changed after cancel: %s", diff)
	}
}

func tableMissing(t *testing.T, open Opener) {
	s := openNew(t, open)
	tables := s.Tables()
	for range 2 {
		table := newTable()
		_, err := collectErr(tables.Query(t.Context(), table, store.Query{Partition: "p"}))
		wantIs(t, "query", err, store.ErrNoTable)
		err = tables.Upsert(t.Context(), table, []store.Entity{entity("p", "r")})
		wantIs(t, "upsert", err, store.ErrNoTable)
		if store.Retryable(err) {
			t.Errorf("%v is retryable", err)
		}
		wantIs(t, "remove", tables.Remove(t.Context(), table, []store.Key{{Partition: "p", Row: "r"}}), store.ErrNoTable)
		if err := tables.DropTable(t.Context(), table); err != nil {
			t.Errorf("drop: %v", err)
		}
		if got := collect(t, tables.Tables(t.Context(), table)); len(got) != 0 {
			t.Errorf("tables: %q", got)
		}
		createTable(t, s) // Again, where another table is.
	}
}

func tableNames(t *testing.T, open Opener) {
	s := openNew(t, open)
	tables := s.Tables()
	for _, name := range []string{"", "ab", "1abc", "a-b", "a_b", "ab c", "äbc", "tables", "Tables", strings.Repeat("a", 64)} {
		wantIs(t, fmt.Sprintf("create %q", name), tables.CreateTable(t.Context(), name), store.ErrInvalid)
		wantIs(t, fmt.Sprintf("drop %q", name), tables.DropTable(t.Context(), name), store.ErrInvalid)
		wantIs(t, fmt.Sprintf("upsert %q", name), tables.Upsert(t.Context(), name, []store.Entity{entity("p", "r")}), store.ErrInvalid)
		_, err := collectErr(tables.Query(t.Context(), name, store.Query{Partition: "p"}))
		wantIs(t, fmt.Sprintf("query %q", name), err, store.ErrInvalid)
	}
	table := createTable(t, s)
	if err := tables.CreateTable(t.Context(), strings.ToUpper(table)); err != nil {
		t.Errorf("create in capitals: %v", err)
	}
	upsert(t, s, strings.ToUpper(table), entity("p", "r"))
	if diff := cmp.Diff([]string{"r"}, rows(t, s, table, store.Query{Partition: "p"})); diff != "" {
		t.Error(diff)
	}
	if got := collect(t, tables.Tables(t.Context(), table)); len(got) != 1 {
		t.Errorf("tables: %q", got)
	}
}

func tableCreateAgain(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	upsert(t, s, table, entity("p", "r"))
	for range 2 {
		if err := s.Tables().CreateTable(t.Context(), table); err != nil {
			t.Errorf("create again: %v", err)
		}
	}
	if diff := cmp.Diff([]string{"r"}, rows(t, s, table, store.Query{Partition: "p"})); diff != "" {
		t.Error(diff)
	}
}

func tableList(t *testing.T, open Opener) {
	s := openNew(t, open)
	prefix := newTable()
	var want []string
	for _, suffix := range []string{"b20260102", "a20260101", "b20260101"} {
		want = append(want, prefix+suffix)
		if err := s.Tables().CreateTable(t.Context(), prefix+suffix); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, collect(t, s.Tables().Tables(t.Context(), prefix))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[1:], collect(t, s.Tables().Tables(t.Context(), prefix+"b2026"))); diff != "" {
		t.Error(diff)
	}
	if got := collect(t, s.Tables().Tables(t.Context(), prefix+"c")); len(got) != 0 {
		t.Errorf("tables: %q", got)
	}
	all := collect(t, s.Tables().Tables(t.Context(), ""))
	for _, name := range want {
		if !slices.Contains(all, name) {
			t.Errorf("%s is not among all tables", name)
		}
		if err := s.Tables().DropTable(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
}

func tableDrop(t *testing.T, open Opener) {
	s := openNew(t, open)
	table, other := createTable(t, s), createTable(t, s)
	upsert(t, s, table, entity("p", "r"))
	upsert(t, s, other, entity("p", "r"))
	for range 2 {
		err := s.Tables().DropTable(t.Context(), table)
		if err != nil && !errors.Is(err, store.ErrTableBusy) {
			t.Fatal(err)
		}
		_, err = collectErr(s.Tables().Query(t.Context(), table, store.Query{Partition: "p"}))
		wantIs(t, "query a dropped table", err, store.ErrNoTable)
	}
	if diff := cmp.Diff([]string{"r"}, rows(t, s, other, store.Query{Partition: "p"})); diff != "" {
		t.Errorf("another table: %s", diff)
	}
	// Storage may take a while to free the name.
	err := s.Tables().CreateTable(t.Context(), table)
	for tries := 0; errors.Is(err, store.ErrTableBusy) && tries < 24; tries++ {
		if !store.Retryable(err) {
			t.Errorf("%v is not retryable", err)
		}
		select {
		case <-time.After(5 * time.Second):
		case <-t.Context().Done():
		}
		err = s.Tables().CreateTable(t.Context(), table)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := rows(t, s, table, store.Query{Partition: "p"}); len(got) != 0 {
		t.Errorf("a table created again holds %q", got)
	}
}

func upsertReplaces(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	columns := []store.Column{{Name: "A", Kind: store.String}, {Name: "B", Kind: store.Int64}, {Name: "C", Kind: store.String}}
	upsert(t, s, table, entity("p", "r", "A", "1", "B", int64(2)), entity("p", "s", "A", "x"))
	upsert(t, s, table, entity("p", "r", "A", "3", "C", "4"))
	want := []store.Entity{entity("p", "r", "A", "3", "C", "4"), entity("p", "s", "A", "x")}
	got := collect(t, s.Tables().Query(t.Context(), table, store.Query{Partition: "p", Columns: columns}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func upsertAtomic(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	good := func(n int) (all []store.Entity) {
		for i := range n {
			all = append(all, entity("p", fmt.Sprintf("r%04d", i)))
		}
		return all
	}
	var heavy []store.Entity
	for i := range 5 {
		heavy = append(heavy, entitySized(fmt.Sprintf("r%d", i), store.MaxEntitySize))
	}
	for name, bad := range map[string][]store.Entity{
		"none":           nil,
		"101":            good(101),
		"a row twice":    append(good(3), entity("p", "r0001")),
		"two partitions": append(good(3), entity("q", "r")),
		"a bad key":      append(good(3), entity("p", "a/b")),
		"a bad type":     append(good(3), entity("p", "r", "A", 1.5)),
		"a nil value":    append(good(3), entity("p", "r", "A", nil)),
		"a bad name":     append(good(3), entity("p", "r", "A-B", "x")),
		"a long string":  append(good(3), entity("p", "r", "A", strings.Repeat("x", 32<<10+1))),
		"a long entity":  append(good(3), entitySized("r", store.MaxEntitySize+2)),
		"5 MiB":          heavy,
	} {
		err := s.Tables().Upsert(t.Context(), table, bad)
		wantIs(t, name, err, store.ErrInvalid)
		if store.Retryable(err) {
			t.Errorf("%s: %v is retryable", name, err)
		}
	}
	if got := rows(t, s, table, store.Query{Partition: "p"}); len(got) != 0 {
		t.Errorf("a refused transaction left %q", got)
	}
	if err := s.Tables().Upsert(t.Context(), table, good(100)); err != nil {
		t.Errorf("100: %v", err)
	}
	if got := rows(t, s, table, store.Query{Partition: "p"}); len(got) != 100 {
		t.Errorf("%d of 100", len(got))
	}
}

// entitySized is an entity of exactly size bytes, an even number, in properties
// of ASCII, which are half as long on the wire.
func entitySized(row string, size int) store.Entity {
	e := entity("p", row)
	for i := 0; e.Size() < size; i++ {
		name := fmt.Sprintf("P%02d", i)
		e.Properties[name] = ""
		e.Properties[name] = strings.Repeat("x", min(store.MaxPropertySize, max(0, size-e.Size()))/2)
	}
	return e
}

func upsertValues(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	want := []store.Entity{
		entity("p", "0", "N", int64(0), "S", "", "B", []byte{0}),
		entity("p", "1", "N", int64(math.MaxInt64), "S", "plain", "B", every),
		entity("p", "2", "N", int64(math.MinInt64), "S", "ünï 日本語 😀", "B", []byte("text")),
		entity("p", "3", "N", int64(1<<53+1), "S", "it's \"quoted\" \\ / & <b> %41 + \t\n", "B", []byte{0xFF}),
		entity("p", "4", "N", int64(-1), "S", "2026-11-20T15:04:05Z", "B", make([]byte, store.MaxPropertySize)),
		entity("p", "5", "N", int64(200), "S", strings.Repeat("x", 32<<10), "B", []byte{1}),
		entity("p", "6", "N", int64(-129), "S", "12345", "B", []byte{1}),
		entity("p", "7", "N", int64(1<<31), "S", "true", "B", []byte{1}),
	}
	upsert(t, s, table, want...)
	got := collect(t, s.Tables().Query(t.Context(), table, store.Query{
		Partition: "p",
		Columns:   []store.Column{{Name: "N", Kind: store.Int64}, {Name: "S", Kind: store.String}, {Name: "B", Kind: store.Binary}},
	}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func upsertLimits(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	e := entitySized("big", store.MaxEntitySize)
	if e.Size() != store.MaxEntitySize {
		t.Fatalf("test entity has %d bytes", e.Size())
	}
	upsert(t, s, table, e)
	q := store.Query{Partition: "p"}
	for name := range e.Properties {
		q.Columns = append(q.Columns, store.Column{Name: name, Kind: store.String})
	}
	if diff := cmp.Diff([]store.Entity{e}, collect(t, s.Tables().Query(t.Context(), table, q))); diff != "" {
		t.Errorf("an entity at the limit comes back otherwise")
	}

	wide := entity("p", "wide")
	for i := range store.MaxProperties {
		wide.Properties[fmt.Sprintf("P%03d", i)] = int64(i)
	}
	upsert(t, s, table, wide)
	wide.Properties["One_more"] = int64(1)
	wantIs(t, "253 properties", s.Tables().Upsert(t.Context(), table, []store.Entity{wide}), store.ErrInvalid)
	for _, bad := range []store.Entity{
		entity("p", "r", "A", make([]byte, store.MaxPropertySize+1)),
		entity("p", "r", "A", strings.Repeat("😀", 16<<10+1)),
		entity("p", "r", "A", "\xff"),
		entity("p", "r", "A", int32(1)),
		entity("p", "r", "", "x"),
		entity("p", "r", "1a", "x"),
		entity("p", "r", "ä", "x"),
		entity("p", "r", strings.Repeat("a", 256), "x"),
		entity("p", "r", "RowKey", "x"),
		entity("p", "r", "Timestamp", "x"),
	} {
		wantIs(t, fmt.Sprintf("%.60v", bad.Properties), s.Tables().Upsert(t.Context(), table, []store.Entity{bad}), store.ErrInvalid)
	}
}

func upsertKeys(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	odd := []string{
		"queue|0a", "7999999999999999999_1800_000001", "a b", "it's", "''", "a+b&c=d", "100%", "%41", "ü日本", "a.b-c_d~e",
		"(x)", "a,b;c:d", "$x@!*", `"q"`,
		strings.Repeat("k", store.MaxKeySize/2),
	}
	slices.Sort(odd)
	for _, partition := range odd {
		var entities []store.Entity
		for _, row := range odd {
			entities = append(entities, entity(partition, row, "Self", partition+"\n"+row))
		}
		upsert(t, s, table, entities...)
	}
	for _, partition := range odd {
		got := collect(t,
			s.Tables().Query(t.Context(), table,
				store.Query{Partition: partition, Columns: []store.Column{{Name: "Self", Kind: store.String}}}))
		if len(got) != len(odd) {
			t.Fatalf("partition %q has %d entities", partition, len(got))
		}
		for _, e := range got {
			if e.Properties["Self"] != partition+"\n"+e.Row || e.Partition != partition {
				t.Errorf("partition %q: %v", partition, e)
			}
		}
	}
	for _, bad := range []string{"a/b", `a\b`, "a#b", "a?b", "a\tb", "a\x00", "\x7f", "\u0085", "\xff", strings.Repeat("k", store.MaxKeySize/2+1)} {
		for _, e := range []store.Entity{entity(bad, "r"), entity("p", bad)} {
			wantIs(t, fmt.Sprintf("key %.20q", e.Key), s.Tables().Upsert(t.Context(), table, []store.Entity{e}), store.ErrInvalid)
			wantIs(t, fmt.Sprintf("remove %.20q", e.Key), s.Tables().Remove(t.Context(), table, []store.Key{e.Key}), store.ErrInvalid)
		}
	}
}

func upsertConcurrent(t *testing.T, open Opener) {
	container := newContainer()
	s := open(t, container)
	table := createTable(t, s)
	var wg sync.WaitGroup
	const writers, each = 4, 10
	for w := range writers {
		handle := open(t, container)
		wg.Go(func() {
			for i := range each {
				// One row all write, one of its own.
				batch := []store.Entity{entity("p", "shared"), entity("p", fmt.Sprintf("w%d-%02d", w, i))}
				if err := handle.Tables().Upsert(t.Context(), table, batch); err != nil {
					t.Errorf("upsert: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if got := rows(t, s, table, store.Query{Partition: "p"}); len(got) != writers*each+1 {
		t.Errorf("%d entities, want %d", len(got), writers*each+1)
	}
}

func removeEntities(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	upsert(t, s, table, entity("p", "1"), entity("p", "2"), entity("p", "3"))
	upsert(t, s, table, entity("q", "1"))
	key := func(row string) store.Key { return store.Key{Partition: "p", Row: row} }
	for range 2 {
		if err := s.Tables().Remove(t.Context(), table, []store.Key{key("1"), key("never"), key("3")}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"2"}, rows(t, s, table, store.Query{Partition: "p"})); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{"1"}, rows(t, s, table, store.Query{Partition: "q"})); diff != "" {
		t.Error(diff)
	}
	many := make([]store.Key, store.MaxTransaction+1)
	for i := range many {
		many[i] = key(fmt.Sprint(i))
	}
	for name, bad := range map[string][]store.Key{
		"none":           nil,
		"101":            many,
		"a row twice":    {key("2"), key("2")},
		"two partitions": {key("2"), {Partition: "q", Row: "1"}},
	} {
		wantIs(t, name, s.Tables().Remove(t.Context(), table, bad), store.ErrInvalid)
	}
	if diff := cmp.Diff([]string{"2"}, rows(t, s, table, store.Query{Partition: "p"})); diff != "" {
		t.Errorf("after refused requests: %s", diff)
	}
}
