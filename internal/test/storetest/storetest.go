// Package storetest is the conformance suite for backends of package store: each sentence of the
// interfaces' comments has a case here. [OpenLocal] opens a store for the tests of other packages.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/store"
)

// Opener opens a handle on the container of a name, which is a valid Azure container name. Two
// handles of one name see the same blobs. The container does not exist at first. The handle is
// closed when t ends.
type Opener func(t testing.TB, container string) store.Store

// Run runs all cases, each in its own containers and tables; those of blobs in both containers of a store.
func Run(t *testing.T, open Opener) {
	t.Helper()
	run := func(name string, open Opener, c testCase) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.slow {
				effort.Need(t, effort.Full, "slow")
			}
			c.run(t, open)
		})
	}
	sample := effort.NewSample(t, 4) // both containers are the same code
	for _, c := range blobCases() {
		run(c.name, open, c)
		if !sample.Has() {
			continue
		}
		run("compacted/"+c.name, func(t testing.TB, container string) store.Store { return swapped{open(t, container)} }, c)
	}
	for _, c := range storeCases() {
		run(c.name, open, c)
	}
}

// swapped is a store whose two containers are exchanged.
type swapped struct{ store.Store }

func (s swapped) Blobs() store.Blobs     { return s.Store.Compacted() }
func (s swapped) Compacted() store.Blobs { return s.Store.Blobs() }

type testCase struct {
	name string
	run  func(t *testing.T, open Opener)
	// slow cases are for make full.
	slow bool
}

// blobCases are the cases of Blobs, in the order of the interface's comments; a slow one comes first so that the
// others run in parallel to it.
func blobCases() []testCase {
	return []testCase{
		{name: "list/5001 blobs in two pages, cancelled between them", run: listPages, slow: true},

		{name: "blobs/a missing container is not a missing blob", run: missingContainer},
		{name: "blobs/two containers do not see each other", run: twoContainers},
		{name: "blobs/an ended context stops every method", run: blobsContext},
		{name: "read/exactly the range", run: readRanges},
		{name: "read/only the version listed", run: readVersion},
		{name: "read/bytes as stored whatever the encoding", run: readEncoded},
		{name: "read/a blob of 9 MiB", run: readLarge},
		{name: "list/byte order of the whole name", run: listOrder},
		{name: "list/prefix may end anywhere", run: listPrefix},
		{name: "list/what a listing contains", run: listSays},
		{name: "list/the caller may stop", run: listStop},
		{name: "list/during creates and deletes", run: listDuringWrites, slow: true},
		{name: "list/a page misses none of what replaces a deleted blob", run: listMoves},
		{name: "list prefixes/distinct, in order, without plain blobs", run: listPrefixes},
		{name: "create/a taken name", run: createTaken},
		{name: "create/two handles race for names", run: createRace},
		{name: "create/odd names", run: createOddNames},
		{name: "create/invalid names", run: createInvalidNames, slow: true},
		{name: "create/metadata comes back", run: createMetadata},
		{name: "create/invalid metadata", run: createInvalidMetadata},
		{name: "create/an empty blob", run: createEmpty},
		{name: "create/in a tier", run: createTier},
		{name: "create/from a reader", run: createFrom},
		{name: "create/in a part of the container", run: prefixedPart},
		{name: "delete/missing counts as removed", run: deleteMissing},
		{name: "delete/more than one request's names", run: deleteMany, slow: true},
		{name: "delete/tries all names", run: deleteTriesAll},
		{name: "delete/the name is free again", run: deleteThenCreate},
		{name: "delete/only the version listed", run: deleteVersion},
		{name: "remove directories/nothing happens", run: removeDirectories},
		{name: "tier/nothing else changes", run: setTier},
	}
}

// storeCases are all other cases.
func storeCases() []testCase {
	return []testCase{
		{name: "store/its own clock", run: ownClock},
		{name: "store/its containers do not see each other", run: twoHalves},

		{name: "tables/an ended context stops every method", run: tablesContext},
		{name: "tables/a missing table", run: tableMissing},
		{name: "tables/names", run: tableNames},
		{name: "tables/create again", run: tableCreateAgain},
		{name: "tables/list by prefix", run: tableList},
		{name: "tables/drop", run: tableDrop},
		{name: "upsert/replaces whole", run: upsertReplaces},
		{name: "upsert/all or none", run: upsertAtomic},
		{name: "upsert/values come back", run: upsertValues},
		{name: "upsert/limits", run: upsertLimits},
		{name: "upsert/keys", run: upsertKeys},
		{name: "upsert/handles at once", run: upsertConcurrent},
		{name: "remove/missing counts as removed", run: removeEntities},
		{name: "query/pages in order", run: queryPages},
		{name: "query/row range", run: queryRange},
		{name: "query/range of partitions", run: queryPartitions, slow: true},
		{name: "query/conditions", run: queryConditions},
		{name: "query/projection", run: queryProjection},
		{name: "query/times of the write and of the response", run: queryTimes},
		{name: "query/invalid", run: queryInvalid},
	}
}

// newContainer is an unused name.
func newContainer() string { return "t" + strings.ToLower(rand.Text()) }

// newTable is an unused table name.
func newTable() string { return "t" + strings.ToLower(rand.Text()) }

// openNew opens a handle on a missing container.
func openNew(t testing.TB, open Opener) store.Store {
	t.Helper()
	return open(t, newContainer())
}

// create creates blobs, with their names as bodies, and fails the test if it cannot.
func create(t testing.TB, b store.Blobs, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := b.Create(t.Context(), name, []byte(name), store.CreateOptions{}); err != nil {
			t.Fatalf("create %q: %v", name, err)
		}
	}
}

// readAll is a whole blob of size n.
func readAll(t testing.TB, b store.BlobReader, name string, n int) string {
	t.Helper()
	data, err := b.Read(t.Context(), store.BlobRef{Name: name}, 0, int64(n))
	if err != nil {
		t.Fatalf("read %q: %v", name, err)
	}
	return string(data)
}

// collect returns everything that pages yield. It fails the test on an error.
func collect[T any](t testing.TB, pages iter.Seq2[[]T, error]) []T {
	t.Helper()
	all, err := collectErr(pages)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// errAfterEnd is returned by collectErr for pages that continue after an error.
var errAfterEnd = errors.New("something was yielded after an error")

func collectErr[T any](pages iter.Seq2[[]T, error]) (all []T, err error) {
	for page, pageErr := range pages {
		if err != nil {
			return all, errAfterEnd
		}
		all, err = append(all, page...), pageErr
	}
	return all, err
}

// names of all blobs that start with prefix.
func names(t testing.TB, b store.BlobReader, prefix string) []string {
	t.Helper()
	var all []string
	for _, blob := range collect(t, b.List(t.Context(), prefix)) {
		all = append(all, blob.Name)
	}
	return all
}

// wantIs checks an error's class.
func wantIs(t testing.TB, what string, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("%s: error %v, want %v", what, err, class)
	}
}

// createTable creates a table that is dropped when t ends.
func createTable(t testing.TB, s store.Store) string {
	t.Helper()
	table := newTable()
	if err := s.Tables().CreateTable(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Tables().DropTable(ctx, table); err != nil {
			t.Errorf("drop table at the end: %v", err)
		}
	})
	return table
}

// upsert writes entities in transactions of the maximum size.
func upsert(t testing.TB, s store.Store, table string, entities ...store.Entity) {
	t.Helper()
	for len(entities) > 0 {
		n := min(len(entities), store.MaxTransaction)
		if err := s.Tables().Upsert(t.Context(), table, entities[:n]); err != nil {
			t.Fatal(err)
		}
		entities = entities[n:]
	}
}

// entity has the properties that follow its key: name, value, name, value, …
func entity(partition, row string, properties ...any) store.Entity {
	e := store.Entity{Key: store.Key{Partition: partition, Row: row}, Properties: map[string]any{}}
	for i := 0; i+1 < len(properties); i += 2 {
		e.Properties[properties[i].(string)] = properties[i+1]
	}
	return e
}

// rows are the row keys that a query returns.
func rows(t testing.TB, s store.Store, table string, q store.Query) []string {
	t.Helper()
	var all []string
	for _, e := range collect(t, s.Tables().Query(t.Context(), table, q)) {
		if e.Partition != q.Partition {
			t.Errorf("entity of partition %q in a query of %q", e.Partition, q.Partition)
		}
		all = append(all, e.Row)
	}
	return all
}
