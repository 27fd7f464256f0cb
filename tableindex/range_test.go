package tableindex_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/blobnaming"
	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/store"
	"logstow/tableindex"
)

// collect is what a range yields, in the order of names and batches; any error fails the test.
func collect(t *testing.T, seq iter.Seq2[[]tableindex.Entity, error]) []tableindex.Entity {
	t.Helper()
	var entities []tableindex.Entity
	for page, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		entities = append(entities, page...)
	}
	sortEntities(entities)
	return entities
}

func sortEntities(entities []tableindex.Entity) {
	slices.SortFunc(entities, func(a, b tableindex.Entity) int {
		return strings.Compare(a.Name.String()+a.Meta.Batch.String(), b.Name.String()+b.Meta.Batch.String())
	})
}

func put(t *testing.T, tables store.Tables, entities ...tableindex.Entity) {
	t.Helper()
	if err := tableindex.Put(t.Context(), tables, "logs", entities); err != nil {
		t.Fatal(err)
	}
}

// TestRangeIsAFilter compares ranges with a filter over all entities, for segments
// and ranges whose ends often meet, or lie at edges of hours and days.
func TestRangeIsAFilter(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many ranges")
	random := testrand.New(t)
	tables := openTables(t)
	day := at(t, "2023-12-31T00:00:00Z")
	// instant is a time of three days, often one of a few.
	instant := func() time.Time {
		switch random.IntN(4) {
		case 0: // an edge of an hour, or a nanosecond beside it
			return day.Add(time.Duration(random.IntN(72))*time.Hour + time.Duration(random.IntN(3)-1))
		case 1: // an edge of a day
			return day.Add(time.Duration(random.IntN(4))*24*time.Hour + time.Duration(random.IntN(3)-1))
		case 2: // one of the minutes of a few hours
			return day.Add(22*time.Hour + time.Duration(random.IntN(240))*time.Minute)
		default:
			return day.Add(time.Duration(random.Int64N(int64(72 * time.Hour))))
		}
	}
	var all []tableindex.Entity
	for number := range uint64(600) {
		start := instant()
		end := instant()
		if hour := start.Truncate(time.Hour); end.Before(start) || !end.Before(hour.Add(time.Hour)) {
			end = start.Add(time.Duration(random.Int64N(int64(hour.Add(time.Hour).Sub(start)))))
		}
		service := []string{"queue", "queue-2", "queue.a"}[random.IntN(3)]
		class := []string{"", "c20231231"}[random.IntN(2)]
		all = append(all, newEntity(service, fmt.Sprint("pod-", random.IntN(40)), class, number+1, start, end))
	}
	put(t, tables, all...)
	matched := 0
	for range 60 {
		from, to := instant(), instant()
		if random.IntN(8) > 0 && to.Before(from) {
			from, to = to, from
		}
		var want []tableindex.Entity
		for _, r := range all {
			start, end := time.Unix(0, r.Meta.Start), time.Unix(0, r.Meta.End)
			if r.Name.Service == "queue" && from.Before(to) && !end.Before(from) && start.Before(to) {
				want = append(want, r)
			}
		}
		sortEntities(want)
		matched += len(want)
		got := collect(t, tableindex.Range(t.Context(), tables, "logs", "queue", from, to))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("[%v, %v): %s", from, to, diff)
		}
	}
	if matched == 0 {
		t.Error("no range had an entity: this test shows nothing")
	}
}

func TestRangeOfAllTime(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	first := newEntity("x", "i", "", 1, time.Unix(0, 0), time.Unix(0, 1))
	last := newEntity("x", "i", "", 2, time.Unix(0, 1<<63-2), time.Unix(0, 1<<63-1))
	put(t, tables, first, last)
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		from, to time.Time
		want     []tableindex.Entity
	}{
		{year(-500), year(20000), []tableindex.Entity{first, last}},
		{time.Time{}, year(1970), nil},
		{time.Time{}, year(1970).Add(1), []tableindex.Entity{first}},
		{year(1970).Add(1), year(1970).Add(2), []tableindex.Entity{first}},
		{year(1970).Add(2), year(2262), nil},
		{time.Unix(0, 1<<63-1), year(2263), []tableindex.Entity{last}},
		{time.Unix(0, 1<<63-1).Add(1), year(2263), nil},
		{year(2300), year(2400), nil},
		{year(2000), year(1990), nil},
	} {
		got := collect(t, tableindex.Range(t.Context(), tables, "logs", "x", c.from, c.to))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("[%v, %v): %s", c.from, c.to, diff)
		}
	}
}

func TestContainersAreApart(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	from := at(t, "2026-01-01T10:00:00Z")
	for _, container := range []string{"logs", "logs2"} {
		r := newEntity("x", "i", "", 1, from)
		r.ETag = container
		if err := tableindex.Put(t.Context(), tables, container, []tableindex.Entity{r}); err != nil {
			t.Fatal(err)
		}
	}
	for _, container := range []string{"logs", "logs2"} {
		got := collect(t, tableindex.Range(t.Context(), tables, container, "x", from, from.Add(time.Hour)))
		if len(got) != 1 || got[0].ETag != container {
			t.Errorf("%s has %+v", container, got)
		}
	}
	if got := collect(t, tableindex.Range(t.Context(), tables, "other", "x", from, from.Add(time.Hour))); got != nil {
		t.Errorf("a container without tables has %+v", got)
	}
}

func TestRangeFollowsPages(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many pages")
	tables := openTables(t)
	from := at(t, "2026-01-01T10:00:00Z")
	var all []tableindex.Entity
	for i := range 2100 { // all in one partition
		all = append(all, newEntity("x", "i", "", uint64(i)+1, from.Add(time.Duration(i)*time.Second)))
	}
	put(t, tables, all...)
	if diff := cmp.Diff(all, collect(t, tableindex.Range(t.Context(), tables, "logs", "x", from, from.Add(time.Hour)))); diff != "" {
		t.Error(diff)
	}
	// A loop that ends early ends the requests: the leak check of this package finds what stays.
	for range tableindex.Range(t.Context(), tables, "logs", "x", from, from.Add(time.Hour)) {
		break
	}
}

// inner is embedded where a test changes some methods; the name Tables is a method's.
type inner = store.Tables

// spoiled are tables whose queries a test changes.
type spoiled struct {
	inner
	query func(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error]
}

func (s spoiled) Query(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
	return s.query(ctx, table, q)
}

func TestRangeContinuesAfterMalformedEntities(t *testing.T) {
	t.Parallel()
	from := at(t, "2026-01-01T10:00:00Z")
	for name, c := range map[string]struct {
		spoil map[string]any // nil deletes
		want  string
	}{
		"another version":  {map[string]any{"V": int64(2)}, "V: unknown log version 2"},
		"no version":       {map[string]any{"V": nil}, "V is missing"},
		"no size":          {map[string]any{"Size": nil}, "Size is missing"},
		"no etag":          {map[string]any{"ETag": nil}, "ETag is missing"},
		"minutes empty":    {map[string]any{"Minutes": []byte{}}, "Minutes: empty"},
		"negative size":    {map[string]any{"Size": int64(-1)}, "size -1"},
		"no batch":         {map[string]any{"Batch": nil}, "Batch: missing"},
		"bad levels":       {map[string]any{"Levels": "INFO=x"}, "Levels"},
		"no blob":          {map[string]any{"Blob": nil}, `blob name ""`},
		"another blob":     {map[string]any{"Blob": "x/2026/01/01/1000/000009.log"}, "its keys are not those of blob x/2026/01/01/1000/000009.log"},
		"another hour":     {map[string]any{"Blob": "x/2026/01/01/1100/000002.log"}, "not in the bucket"},
		"another class":    {map[string]any{"Class": "audit"}, "its keys are not those"},
		"another instance": {map[string]any{"Instance": "somebody"}, "its keys are not those"},
		"minutes cut off":  {map[string]any{"Minutes": []byte{0}}, "Minutes: cut off"},
		"minutes too few":  {map[string]any{"Minutes": []byte{0, 1 << 3, 1}}, "fewer records"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tables := openTables(t)
			whole := newEntity("x", "i", "", 1, from, from.Add(time.Minute))
			bad := newEntity("x", "i", "", 2, from, from.Add(2*time.Minute))
			put(t, tables, whole, bad)
			spoil(t, tables, bad, c.spoil)
			var entities []tableindex.Entity
			var errs []error
			for page, err := range tableindex.Range(t.Context(), tables, "logs", "x", from, from.Add(time.Hour)) {
				entities = append(entities, page...)
				if err != nil {
					errs = append(errs, err)
				}
			}
			if diff := cmp.Diff([]tableindex.Entity{whole}, entities); diff != "" {
				t.Error(diff)
			}
			var entity *tableindex.EntityError
			if len(errs) != 1 || !errors.As(errs[0], &entity) {
				t.Fatalf("errors are %v, want one EntityError", errs)
			}
			text := errs[0].Error()
			for _, part := range []string{c.want, entity.Table, entity.Key.Partition, entity.Key.Row} {
				if part == "" || !strings.Contains(text, part) {
					t.Errorf("the error does not contain %q: %s", part, text)
				}
			}
			if errors.Is(errs[0], blobnaming.ErrVersion) != (name == "another version") {
				t.Errorf("errors.Is ErrVersion is wrong for %v", errs[0])
			}
		})
	}
}

// spoil changes properties of an entity in its table.
func spoil(t *testing.T, tables store.Tables, r tableindex.Entity, change map[string]any) {
	t.Helper()
	table, e := entityOf(t, r)
	for key, value := range change {
		if e.Properties[key] = value; value == nil {
			delete(e.Properties, key)
		}
	}
	if err := tables.Upsert(t.Context(), table, []store.Entity{e}); err != nil {
		t.Fatal(err)
	}
}

// recorder takes what Put writes.
type recorder struct {
	inner
	mu      sync.Mutex
	table   string
	written []store.Entity
}

func (r *recorder) Upsert(_ context.Context, table string, entities []store.Entity) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.table = table
	r.written = append(r.written, entities...)
	return nil
}

// entityOf is what Put writes for an entity of the container "logs", and the table.
func entityOf(tb testing.TB, r tableindex.Entity) (string, store.Entity) {
	tb.Helper()
	var w recorder
	if err := tableindex.Put(tb.Context(), &w, "logs", []tableindex.Entity{r}); err != nil {
		tb.Fatal(err)
	}
	return w.table, w.written[0]
}

func TestRangeOfOtherEntityTypes(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	from := at(t, "2026-01-01T10:00:00Z")
	put(t, tables, newEntity("x", "i", "", 1, from))
	spoil(t, tables, newEntity("x", "i", "", 2, from), map[string]any{"Type": "summary", "Batch": nil})
	if got := collect(t, tableindex.Range(t.Context(), tables, "logs", "x", from, from.Add(time.Hour))); len(got) != 1 {
		t.Errorf("got %+v, want one entity", got)
	}
}

func TestRangeWhenATableVanishes(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	from := at(t, "2026-01-01T23:00:00Z")
	stays, goes := newEntity("x", "i", "", 1, from), newEntity("x", "i", "", 1, from.Add(time.Hour))
	put(t, tables, stays, goes)
	gone, _ := entityOf(t, goes)
	for _, class := range []error{store.ErrNoTable, store.ErrTableBusy} {
		s := spoiled{tables, func(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
			if table != gone {
				return tables.Query(ctx, table, q)
			}
			return func(yield func([]store.Entity, error) bool) {
				yield(nil, &store.Error{Op: "query", Object: table, Class: class})
			}
		}}
		got := collect(t, tableindex.Range(t.Context(), s, "logs", "x", from, from.Add(3*time.Hour)))
		if diff := cmp.Diff([]tableindex.Entity{stays}, got); diff != "" {
			t.Errorf("%v: %s", class, diff)
		}
	}
}

func TestRangeEndsWithAStorageError(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	from := at(t, "2026-01-01T10:00:00Z")
	put(t, tables, newEntity("x", "i", "", 1, from))
	refused := &store.Error{Op: "query", Object: "t", Class: store.ErrAccessDenied}
	s := spoiled{tables, func(context.Context, string, store.Query) iter.Seq2[[]store.Entity, error] {
		return func(yield func([]store.Entity, error) bool) { yield(nil, refused) }
	}}
	var errs []error
	for _, err := range tableindex.Range(t.Context(), s, "logs", "x", from, from.Add(time.Hour)) {
		errs = append(errs, err)
	}
	if len(errs) != 1 || !errors.Is(errs[0], store.ErrAccessDenied) {
		t.Errorf("got %v, want the error once", errs)
	}
}

// TestRangeWhenCancelled ends the context while every partition waits; the end
// must be reported, and by then 16 requests and no more were made.
func TestRangeWhenCancelled(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	from := at(t, "2026-01-01T10:00:00Z")
	put(t, tables, newEntity("x", "i", "", 1, from), newEntity("x", "i", "", 1, from.Add(24*time.Hour)))
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	var mu sync.Mutex
	running := 0
	s := spoiled{tables, func(ctx context.Context, table string, q store.Query) iter.Seq2[[]store.Entity, error] {
		return func(yield func([]store.Entity, error) bool) {
			mu.Lock()
			if running++; running == 16 {
				cancel(stop)
			}
			mu.Unlock()
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		}
	}}
	var errs []error
	for _, err := range tableindex.Range(ctx, s, "logs", "x", from, from.Add(48*time.Hour)) {
		errs = append(errs, err)
	}
	if len(errs) != 1 || !errors.Is(errs[0], stop) {
		t.Errorf("got %v, want the cause of the end once", errs)
	}
}

func TestRangeReadsKeysAndColumns(t *testing.T) {
	t.Parallel()
	tables := openTables(t)
	from := at(t, "2026-01-01T23:00:00Z")
	r := newEntity("x", "i", "", 1, from)
	put(t, tables, r, newEntity("x", "i", "", 1, from.Add(-24*time.Hour)), newEntity("x", "i", "", 1, from.Add(time.Hour)))
	table, entity := entityOf(t, r)
	var mu sync.Mutex
	partitions := make(map[string]bool)
	s := spoiled{tables, func(ctx context.Context, got string, q store.Query) iter.Seq2[[]store.Entity, error] {
		mu.Lock()
		defer mu.Unlock()
		partitions[q.Partition] = true
		newest := strconv.FormatInt(math.MaxInt64-from.Add(time.Hour-1).UnixNano(), 10)
		if got != table || q.RowFrom != newest || q.RowTo <= entity.Row {
			t.Errorf("%s is read from %q to %q, want from %q to beyond %q", got, q.RowFrom, q.RowTo, newest, entity.Row)
		}
		for _, c := range q.Columns {
			if c.Name == "Type" {
				t.Error("Type is a condition, not a column")
			}
		}
		if len(q.Columns) != 21 {
			t.Errorf("%d columns are read, want 21", len(q.Columns))
		}
		return tables.Query(ctx, got, q)
	}}
	got := collect(t, tableindex.Range(t.Context(), s, "logs", "x", from, from.Add(time.Hour)))
	if diff := cmp.Diff([]tableindex.Entity{r}, got); diff != "" {
		t.Error(diff)
	}
	if len(partitions) != 16 || !partitions["x|00"] || !partitions["x|0f"] || !partitions[entity.Partition] {
		t.Errorf("partitions read are %v; want x|00 to x|0f", partitions)
	}
}

func BenchmarkRange(b *testing.B) {
	var w recorder
	random := rand.New(rand.NewPCG(1, 2))
	from := at(b, "2026-01-01T10:00:00Z")
	for i := range 1000 {
		r := newEntity("x", "i", "", uint64(i)+1, from.Add(time.Duration(random.IntN(3600))*time.Second))
		if err := tableindex.Put(b.Context(), &w, "logs", []tableindex.Entity{r}); err != nil {
			b.Fatal(err)
		}
	}
	partition := w.written[0].Partition
	s := oneTable{spoiled{nil, func(_ context.Context, _ string, q store.Query) iter.Seq2[[]store.Entity, error] {
		return func(yield func([]store.Entity, error) bool) {
			if q.Partition == partition {
				yield(w.written, nil)
			}
		}
	}}, w.table}
	b.ReportAllocs()
	for b.Loop() {
		entities := 0
		for page, err := range tableindex.Range(b.Context(), s, "logs", "x", from, from.Add(time.Hour)) {
			if err != nil {
				b.Fatal(err)
			}
			entities += len(page)
		}
		if entities != 1000 {
			b.Fatalf("%d entities", entities)
		}
	}
}

// oneTable lists one table.
type oneTable struct {
	spoiled
	name string
}

func (o oneTable) Tables(context.Context, string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) { yield([]string{o.name}, nil) }
}
