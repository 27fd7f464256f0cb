package tableindex_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/store"
	"logstow/tableindex"
)

var update = flag.Bool("update", false, "rewrite testdata/entities.json")

// goldenEntity is an entity as the table service shows it, with the properties' types.
type goldenEntity struct {
	Case   string
	Table  string
	Entity map[string]string
}

// goldenCases are what the entities of testdata/entities.json mean.
func goldenCases(tb testing.TB) map[string]tableindex.Entity {
	full := tableindex.Entity{
		Name: blobnaming.Name{Service: "queue", Bucket: at(tb, "2014-07-31T18:30:00Z"), Number: 1234567},
		Meta: blobnaming.Metadata{
			Start:    at(tb, "2014-07-31T18:30:00Z").UnixNano(),
			End:      at(tb, "2014-07-31T18:59:59.999999999Z").UnixNano(),
			Records:  1028,
			RawBytes: 9_000_000_000,
			Levels:   record.Counts{1, 2, 3, 4, 5, 6, 1007},
			Batch:    blobnaming.Batch{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
			Instance: "Web-7F9c_1.example",
			Seq:      1406833200000000001,
			Class:    "audit",
			Footer:   8388608,
			Filter:   blobnaming.Filter{Offset: 1 << 20, Partitions: 256, SliceLength: 4096},
		},
		ETag: `"0x8D1AB2C3D4E5F60"`,
		Size: 8400000,
		Minutes: []record.Minute{
			{Start: at(tb, "2014-07-31T18:30:00Z").Unix(), Levels: record.Counts{1, 2, 3, 4, 5, 6, 1000}},
			{Start: at(tb, "2014-07-31T18:59:00Z").Unix(), Levels: record.Counts{record.Fatal: 7}},
		},
	}
	last := newEntity("z", "-", "", 1, time.Unix(0, math.MaxInt64))
	last.Minutes, last.ETag, last.Size, last.Meta.Seq = nil, "", 0, 0
	parsed := newEntity("queue", "pod-1", "", 43, at(tb, "2026-11-20T15:04:05Z"))
	parsed.Meta.Parse = "pattern/1 '<ip> <_>'"
	output := newOutput("queue", 1, at(tb, "2014-07-31T18:30:00Z"))
	return map[string]tableindex.Entity{
		"everything": full,
		"output":     output,
		"parsed":     parsed,
		"hour":       newEntity("a-b_c.d", "pod-1", "", 42, at(tb, "2026-11-20T15:04:05.123456789Z")),
		"first":      newEntity("x", "i", "", 1, time.Unix(0, 0)),
		"last":       last,
	}
}

// shown is an entity as text: keys, and each property as "type value".
func shown(tb testing.TB, e store.Entity) map[string]string {
	tb.Helper()
	m := map[string]string{"PartitionKey": e.Partition, "RowKey": e.Row}
	for name, value := range e.Properties {
		switch v := value.(type) {
		case string:
			m[name] = "String " + v
		case int64:
			m[name] = "Int64 " + strconv.FormatInt(v, 10)
		case []byte:
			m[name] = "Binary " + base64.StdEncoding.EncodeToString(v)
		default:
			tb.Fatalf("%s is a %T", name, value)
		}
	}
	return m
}

func TestGoldenEntities(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "testdata", "entities.json")
	if *update {
		var entities []goldenEntity
		for _, name := range []string{"everything", "hour", "first", "last", "output", "parsed"} {
			table, e := entityOf(t, goldenCases(t)[name])
			entities = append(entities, goldenEntity{name, table, shown(t, e)})
		}
		text, err := json.MarshalIndent(entities, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var golden []goldenEntity
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	cases := goldenCases(t)
	if len(golden) != len(cases) {
		t.Errorf("the golden file has %d entities, the test %d", len(golden), len(cases))
	}
	for _, g := range golden {
		table, e := entityOf(t, cases[g.Case])
		if diff := cmp.Diff(g, goldenEntity{g.Case, table, shown(t, e)}); diff != "" {
			t.Errorf("%s: %s", g.Case, diff)
		}
		entities, err := readEntity(t, table, e)
		if err != nil || len(entities) != 1 {
			t.Errorf("%s: read as %v, %v", g.Case, entities, err)
			continue
		}
		if diff := cmp.Diff(cases[g.Case], entities[0]); diff != "" {
			t.Errorf("%s: %s", g.Case, diff)
		}
	}
}

// readEntity is what Range makes of an entity of the container "logs".
func readEntity(tb testing.TB, table string, e store.Entity) (entities []tableindex.Entity, err error) {
	tb.Helper()
	s := oneTable{spoiled{nil, func(_ context.Context, _ string, q store.Query) iter.Seq2[[]store.Entity, error] {
		return func(yield func([]store.Entity, error) bool) {
			if q.Partition == e.Partition {
				yield([]store.Entity{e}, nil)
			}
		}
	}}, table}
	from, to := time.Unix(0, 0), time.Unix(0, math.MaxInt64).Add(1)
	service := e.Partition[:max(len(e.Partition)-3, 0)]
	for page, got := range tableindex.Range(tb.Context(), s, "logs", service, from, to) {
		entities, err = append(entities, page...), got
	}
	return entities, err
}

// FuzzEntity reads entities whose properties are damaged. What is read must be
// written as it was.
func FuzzEntity(f *testing.F) {
	for _, r := range goldenCases(f) {
		_, e := entityOf(f, r)
		for name, value := range e.Properties {
			switch v := value.(type) {
			case string:
				f.Add(name, v, int64(0))
			case int64:
				f.Add(name, "", v)
			case []byte:
				f.Add(name, string(v), int64(0))
			}
		}
	}
	f.Fuzz(func(t *testing.T, name, text string, number int64) {
		if name == "Type" {
			return // a condition of the query, which storage decides
		}
		for _, r := range goldenCases(t) {
			table, e := entityOf(t, r)
			switch e.Properties[name].(type) {
			case string:
				e.Properties[name] = text
			case int64:
				e.Properties[name] = number
			case []byte:
				e.Properties[name] = []byte(text)
			default:
				continue
			}
			entities, err := readEntity(t, table, e)
			if err != nil {
				continue
			}
			againTable, again := entityOf(t, entities[0])
			if diff := cmp.Diff(shown(t, e), shown(t, again)); diff != "" || againTable != table {
				t.Errorf("%s with %q and %d: %s", name, text, number, diff)
			}
		}
	})
}
