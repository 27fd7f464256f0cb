package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/await"
	"logstow/store"
)

func queryPages(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	const count = 2003
	var (
		entities []store.Entity
		want     []string
	)
	for i := range count {
		want = append(want, fmt.Sprintf("%019d", i*7))
		// Written from the last to the first.
		entities = append(entities, entity("p", fmt.Sprintf("%019d", (count-1-i)*7), "I", int64(i)))
	}
	upsert(t, s, table, entities...)
	upsert(t, s, table, entity("o", "1"), entity("o", "2"))
	upsert(t, s, table, entity("p0", "1"))

	pages := 0
	var got []string
	for page, err := range s.Tables().Query(t.Context(), table, store.Query{Partition: "p"}) {
		if err != nil {
			t.Fatal(err)
		}
		if pages++; len(page) > 1000 {
			t.Errorf("a page of %d", len(page))
		}
		for _, e := range page {
			got = append(got, e.Row)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if pages < 3 {
		t.Errorf("%d pages", pages)
	}
	ranged := rows(t, s, table, store.Query{Partition: "p", RowFrom: want[1], RowTo: want[count-1]})
	if diff := cmp.Diff(want[1:count-1], ranged); diff != "" {
		t.Errorf("range over pages: %s", diff)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err error
	for _, pageErr := range s.Tables().Query(ctx, table, store.Query{Partition: "p"}) {
		err = pageErr
		cancel()
	}
	wantIs(t, "query cancelled after its first page", err, context.Canceled)
	for range s.Tables().Query(t.Context(), table, store.Query{Partition: "p"}) {
		break
	}
}

func queryRange(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	for _, row := range []string{"a", "b", "b1", "c", "d", "d_", "e"} {
		upsert(t, s, table, entity("p", row))
	}
	upsert(t, s, table, entity("q", "c"))
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"", "", []string{"a", "b", "b1", "c", "d", "d_", "e"}},
		{"b", "", []string{"b", "b1", "c", "d", "d_", "e"}},
		{"", "b", []string{"a"}},
		{"b", "d", []string{"b", "b1", "c"}},
		{"b", "b1", []string{"b"}},
		{"b0", "d_", []string{"b1", "c", "d"}},
		{"c", "c", nil},
		{"d", "a", nil},
		{"f", "", nil},
	} {
		if diff := cmp.Diff(c.want, rows(t, s, table, store.Query{Partition: "p", RowFrom: c.from, RowTo: c.to})); diff != "" {
			t.Errorf("from %q to %q: %s", c.from, c.to, diff)
		}
	}
	if got := rows(t, s, table, store.Query{Partition: "nobody"}); len(got) != 0 {
		t.Errorf("an empty partition holds %q", got)
	}
}

func queryPartitions(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	var entities []store.Entity
	for i := range 1500 {
		entities = append(entities, entity("b|0a", fmt.Sprintf("%04d", i), "Type", "x"))
	}
	upsert(t, s, table, entities...)
	for _, partition := range []string{"a|00", "a|0f", "ab|01", "b|01", "b-c|00", "c|00"} {
		upsert(t, s, table, entity(partition, "0000", "Type", "x"), entity(partition, "0001", "Type", "y"))
	}
	for _, c := range []struct {
		from, to string
		row      string
		want     []string
	}{
		{"a|", "a}", "", []string{"a|00 0000", "a|00 0001", "a|0f 0000", "a|0f 0001"}},
		{"a|", "a}", "0001", []string{"a|00 0001", "a|0f 0001"}},
		{"a|00", "a|0f", "", []string{"a|00 0000", "a|00 0001"}},
		{"b-", "b-d", "", []string{"b-c|00 0000", "b-c|00 0001"}},
		{"d", "~", "", nil},
		{"c", "a", "", nil},
	} {
		var got []string
		q := store.Query{Partition: c.from, PartitionTo: c.to, RowFrom: c.row}
		for _, e := range collect(t, s.Tables().Query(t.Context(), table, q)) {
			got = append(got, e.Partition+" "+e.Row)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("from %q to %q: %s", c.from, c.to, diff)
		}
	}
	pages := 0
	last := store.Key{}
	n := 0
	for page, err := range s.Tables().Query(t.Context(), table, store.Query{PartitionTo: "~"}) {
		if err != nil {
			t.Fatal(err)
		}
		if pages++; len(page) > 1000 {
			t.Errorf("a page of %d", len(page))
		}
		for _, e := range page {
			if e.Partition < last.Partition || e.Partition == last.Partition && e.Row <= last.Row {
				t.Fatalf("%v after %v", e.Key, last)
			}
			last = e.Key
			n++
		}
	}
	if n != 1512 || pages < 2 {
		t.Errorf("%d entities on %d pages", n, pages)
	}
}

func queryConditions(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	upsert(t, s, table,
		entity("p", "1", "Start", "2026-01-01", "Class", "x"),
		entity("p", "2", "Start", "2026-01-02", "Class", "it's"),
		entity("p", "3", "Start", "2026-01-03"),
		entity("p", "4", "Class", "x", "Number", int64(5)),
	)
	for _, c := range []struct {
		where []store.Condition
		want  []string
	}{
		{nil, []string{"1", "2", "3", "4"}},
		{[]store.Condition{{Column: "Start", Op: "eq", Value: "2026-01-02"}}, []string{"2"}},
		{[]store.Condition{{Column: "Start", Op: "lt", Value: "2026-01-02"}}, []string{"1"}},
		{[]store.Condition{{Column: "Start", Op: "le", Value: "2026-01-02"}}, []string{"1", "2"}},
		{[]store.Condition{{Column: "Start", Op: "gt", Value: "2026-01-02"}}, []string{"3"}},
		{[]store.Condition{{Column: "Start", Op: "ge", Value: "2026-01-02"}}, []string{"2", "3"}},
		{[]store.Condition{{Column: "Class", Op: "eq", Value: "it's"}}, []string{"2"}},
		{[]store.Condition{{Column: "Class", Op: "eq", Value: "x' or 'x' eq 'x"}}, nil},
		{[]store.Condition{{Column: "Class", Op: "eq", Value: "x"}, {Column: "Start", Op: "ge", Value: "2000"}}, []string{"1"}},
		{[]store.Condition{{Column: "Missing", Op: "eq", Value: "x"}}, nil},
	} {
		if diff := cmp.Diff(c.want, rows(t, s, table, store.Query{Partition: "p", Where: c.where})); diff != "" {
			t.Errorf("%v: %s", c.where, diff)
		}
	}
	got := rows(t, s, table, store.Query{
		Partition: "p", RowFrom: "2", RowTo: "4",
		Where:   []store.Condition{{Column: "Start", Op: "ge", Value: "2026-01-01"}},
		Columns: []store.Column{{Name: "Class", Kind: store.String}},
	})
	if diff := cmp.Diff([]string{"2", "3"}, got); diff != "" {
		t.Errorf("condition on a column that is not returned: %s", diff)
	}
}

func queryProjection(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	upsert(t, s, table,
		entity("p", "1", "A", "a", "B", int64(2), "C", []byte("c")),
		entity("p", "2", "B", int64(3)),
	)
	for _, c := range []struct {
		columns []store.Column
		want    []store.Entity
	}{
		{nil, []store.Entity{entity("p", "1"), entity("p", "2")}},
		{[]store.Column{{Name: "A", Kind: store.String}}, []store.Entity{entity("p", "1", "A", "a"), entity("p", "2")}},
		{[]store.Column{{Name: "B", Kind: store.Int64}, {Name: "C", Kind: store.Binary}}, []store.Entity{entity("p", "1", "B", int64(2), "C", []byte("c")), entity("p", "2", "B", int64(3))}},
		{[]store.Column{{Name: "Missing", Kind: store.String}}, []store.Entity{entity("p", "1"), entity("p", "2")}},
	} {
		got := collect(t, s.Tables().Query(t.Context(), table, store.Query{Partition: "p", Columns: c.columns}))
		for i := range got {
			if got[i].Properties == nil {
				got[i].Properties = map[string]any{}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: %s", c.columns, diff)
		}
	}
}

// The times are storage's own: those of two entities differ by the time between their writes, each write renews its entity's,
// and no property that a writer may set has an effect on them.
func queryTimes(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	read := func() (first, second store.Entity) {
		t.Helper()
		all := collect(t, s.Tables().Query(t.Context(), table, store.Query{
			Partition: "p", Columns: []store.Column{{Name: "N", Kind: store.Int64}}, Times: true,
		}))
		if len(all) != 2 || all[0].Properties["N"] != int64(7) {
			t.Fatalf("%v", all)
		}
		return all[0], all[1]
	}
	const pause = 100 * time.Millisecond
	began := time.Now()
	upsert(t, s, table, entity("p", "1", "N", int64(7)))
	time.Sleep(pause + pause/10) // the time that is measured, by storage's clock
	upsert(t, s, table, entity("p", "2", "Written", "9999-12-31T23:59:59Z", "Read", "9999-12-31T23:59:59Z"))
	first, second := read()
	took := time.Since(began)
	if between := second.Written.Sub(first.Written); between < pause || between > took {
		t.Errorf("written %v apart, within %v", between, took)
	}
	// Read may be rounded down to a second.
	if age := first.Read.Sub(first.Written); age < pause-time.Second || age > took {
		t.Errorf("age %v after %v", age, took)
	}
	await.Until(t, time.Minute, "a write renews the times", func() bool {
		upsert(t, s, table, entity("p", "1", "N", int64(7)))
		again, other := read()
		if !other.Written.Equal(second.Written) {
			t.Errorf("the other was written at %v, then at %v", second.Written, other.Written)
		}
		return again.Written.After(second.Written) && again.Read.After(first.Read)
	})
	for _, e := range collect(t, s.Tables().Query(t.Context(), table, store.Query{Partition: "p"})) {
		if !e.Written.IsZero() || !e.Read.IsZero() {
			t.Errorf("times without Times: %v", e)
		}
	}
	bad := entity("p", "3", "Timestamp", "9999-12-31T23:59:59Z")
	wantIs(t, "own Timestamp", s.Tables().Upsert(t.Context(), table, []store.Entity{bad}), store.ErrInvalid)
}

func queryInvalid(t *testing.T, open Opener) {
	s := openNew(t, open)
	table := createTable(t, s)
	upsert(t, s, table, entity("p", "1", "A", "text", "B", int64(2)))
	for name, q := range map[string]store.Query{
		"operator":      {Partition: "p", Where: []store.Condition{{Column: "A", Op: "like", Value: "x"}}},
		"column's name": {Partition: "p", Columns: []store.Column{{Name: "A,B", Kind: store.String}}},
		"condition's":   {Partition: "p", Where: []store.Condition{{Column: "A eq 'x' or B", Op: "eq", Value: "x"}}},
		"string as int": {Partition: "p", Columns: []store.Column{{Name: "A", Kind: store.Int64}}},
		"int as binary": {Partition: "p", Columns: []store.Column{{Name: "B", Kind: store.Binary}}},
		"partition":     {Partition: "a/b"},
		"row from":      {Partition: "p", RowFrom: "a\x00"},
		"partition to":  {Partition: "p", PartitionTo: "q#"},
		"unknown kind":  {Partition: "p", Columns: []store.Column{{Name: "A", Kind: store.Kind(9)}}},
	} {
		_, err := collectErr(s.Tables().Query(t.Context(), table, q))
		wantIs(t, name, err, store.ErrInvalid)
	}
}
