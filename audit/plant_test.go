package audit_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"logstow/audit"
	"logstow/blobnaming"
	"logstow/store"
	"logstow/tableindex"
)

// runner is [audit.Verify] or [audit.Reindex].
type runner = func(ctx context.Context, s store.Store, o audit.Options) (audit.Report, error)

// whole stores and indexes a segment.
func (m *made) whole(t *testing.T, s store.Store) {
	t.Helper()
	create(t, s, m, m.entity.Meta.Encode())
	index(t, s, m.entity)
}

// misplace puts a whole segment's entity under another key.
func (g *garden) misplace(t *testing.T, m made, change func(k *store.Key)) {
	t.Helper()
	m.whole(t, g.s)
	key := m.entity.Key()
	change(&key)
	tamper(t, g.s, m.entity, func(e *store.Entity) { e.Key = key })
	g.expect(m.entity.Name.String(), repaired(missing, missing, missing))
	g.expect(key.Partition, repaired(stray, stray, stray))
}

// move moves an entity to another table.
func (g *garden) move(t *testing.T, m made, table string) {
	t.Helper()
	if err := g.s.Tables().CreateTable(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	tamper(t, g.s, m.entity, func(e *store.Entity) {
		if err := g.s.Tables().Upsert(t.Context(), table, []store.Entity{*e}); err != nil {
			t.Fatal(err)
		}
	})
	unindex(t, g.s, m.entity)
}

// flip stores and indexes a segment with one bit wrong between two offsets. The footer, if it can
// be read, determines which part is then wrong.
func (g *garden) flip(t *testing.T, m made, from, to int64) {
	t.Helper()
	if from >= to {
		t.Fatalf("the segment has nothing from %d to %d", from, to)
	}
	m.body = slices.Clone(m.body)
	m.body[from+g.rng.Int64N(to-from)] ^= 1 << g.rng.IntN(8)
	m.whole(t, g.s)
	e := lasting("", "", badBytes)
	if from == m.entity.Meta.Footer {
		e = lasting("", badBytes, badBytes)
	}
	g.expect(m.entity.Name.String(), e)
}

// changeMetadata makes one value of metadata wrong, such that all of it can be read still.
func changeMetadata(t *testing.T, rng *rand.Rand, name blobnaming.Name, metadata map[string]string) {
	t.Helper()
	number := func(key string, by int64) {
		n, err := strconv.ParseInt(metadata[key], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		metadata[key] = strconv.FormatInt(n+by, 10)
	}
	meta, err := blobnaming.ParseMetadata(metadata)
	if err != nil {
		t.Fatal(err)
	}
	switch rng.IntN(10) {
	case 0:
		metadata["EndTime"] = blobnaming.FormatTime(meta.End + 1 + rng.Int64N(1e9))
	case 1:
		metadata["EndTime"] = blobnaming.FormatTime(meta.End + 1)
		metadata["StartTime"] = metadata["EndTime"]
	case 2:
		number("RawBytes", 1+rng.Int64N(100))
	case 3:
		meta.Records++
		meta.Levels[rng.IntN(len(meta.Levels))]++
		metadata["Records"], metadata["Levels"] = meta.Encode()["Records"], meta.Encode()["Levels"]
	case 4:
		meta.Batch[rng.IntN(len(meta.Batch))] ^= 1
		metadata["Batch"] = meta.Encode()["Batch"]
	case 5:
		metadata["Instance"] += "x"
	case 6:
		number("Seq", 1)
	case 7:
		metadata["Class"] = "another"
	case 8:
		number("Footer", 1-2*rng.Int64N(2))
	default:
		meta.Filter.SliceLength++
		metadata["Filter"] = meta.Encode()["Filter"]
	}
}

// dropTables drops all tables of a store.
func dropTables(t testing.TB, s store.Store) {
	t.Helper()
	tables, err := tableindex.Tables(t.Context(), s.Tables(), s.Container())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if err := s.Tables().DropTable(t.Context(), table.Name); err != nil {
			t.Fatal(err)
		}
	}
}
