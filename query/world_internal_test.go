package query

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/querytest"

	"go.uber.org/goleak"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/query/cache"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/local"
	"logstow/tableindex"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a container of blobs in memory.
type memory struct {
	blobs  map[string]store.Blob
	bodies map[string][]byte
	fail   func(op, object string) error // nil is no failure
}

func newMemory() *memory {
	return &memory{blobs: map[string]store.Blob{}, bodies: map[string][]byte{}}
}

func (m *memory) failure(ctx context.Context, op, object string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m.fail != nil {
		return m.fail(op, object)
	}
	return nil
}

func (m *memory) Read(ctx context.Context, ref store.BlobRef, off, n int64) ([]byte, error) {
	if err := m.failure(ctx, "read", ref.Name); err != nil {
		return nil, err
	}
	body, ok := m.bodies[ref.Name]
	if !ok {
		return nil, &store.Error{Op: "read", Object: ref.Name, Class: store.ErrNotFound}
	}
	if off < 0 || n <= 0 || off+n > int64(len(body)) {
		return nil, &store.Error{Op: "read", Object: ref.Name, Class: store.ErrRange}
	}
	return body[off : off+n], nil
}

func (m *memory) List(ctx context.Context, prefix string) iter.Seq2[[]store.Blob, error] {
	return func(yield func([]store.Blob, error) bool) {
		if err := m.failure(ctx, "list", prefix); err != nil {
			yield(nil, err)
			return
		}
		var page []store.Blob
		for _, name := range m.names(prefix) {
			if page = append(page, m.blobs[name]); len(page) == 3 {
				if !yield(page, nil) {
					return
				}
				page = nil
			}
		}
		yield(page, nil)
	}
}

func (m *memory) ListPrefixes(ctx context.Context, prefix string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		if err := m.failure(ctx, "list", prefix); err != nil {
			yield(nil, err)
			return
		}
		var found []string
		for _, name := range m.names(prefix) {
			if i := strings.IndexByte(name[len(prefix):], '/'); i >= 0 {
				found = append(found, name[:len(prefix)+i+1])
			}
		}
		yield(slices.Compact(found), nil)
	}
}

func (m *memory) names(prefix string) []string {
	var names []string
	for name := range m.blobs {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (m *memory) put(name string, body []byte, meta map[string]string) {
	m.blobs[name] = store.Blob{Name: name, Size: int64(len(body)), ETag: name, Metadata: meta}
	m.bodies[name] = body
}

// world is a random store, and what is in it.
type world struct {
	plain    bool // records have no attributes
	t        testing.TB
	rnd      *rand.Rand
	memory   *memory
	tables   store.Store
	cache    *cache.Cache // nil is none
	rows     []tableindex.Entity
	segments []*built
	numbers  map[string]uint64
	seq      int64
	parse    string // of the segments that are added
	// share is the part of the stored size that columns of added segments take; 0 is drawn.
	share float64
	last  *Query // of gotFunctions
}

// built is a segment in the world; copies share it.
type built struct {
	name   blobnaming.Name
	meta   blobnaming.Metadata
	bodies [][]byte
}

// worlds is n with make full, below a third of it, and an eighth under the race detector: for tests that ask many questions of each world.
func worlds(n int) int { return effort.Cases{Short: max(1, n/8), Test: max(1, n/3), Full: n}.N() }

// rounds is n with make full, below a 25th of it, and an 80th under the race detector: for tests that ask few.
func rounds(n int) int { return effort.Cases{Short: max(1, n/80), Test: max(1, n/25), Full: n}.N() }

func newWorld(t testing.TB, rnd *rand.Rand, index bool) *world {
	w := &world{t: t, rnd: rnd, memory: newMemory(), numbers: map[string]uint64{}}
	if index {
		tables, err := local.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tables.Close() }) // without w: package testing retains the closures of parallel tests
		w.tables = tables
	}
	return w
}

func (w *world) salt() (b [16]byte) {
	for i := range b {
		b[i] = byte(w.rnd.Uint32())
	}
	return b
}

// add writes a segment of records, all of one hour.
func (w *world) add(service, instance string, blockSize int, salt [16]byte, records []record.Record) *built {
	w.t.Helper()
	bucket := time.Unix(0, records[0].Time).UTC().Truncate(time.Hour)
	var body bytes.Buffer
	sw := segment.NewWriter(&body, segment.Options{
		Service: service, Instance: instance, Salt: salt, Parse: w.parse, Columns: w.columns(),
		BucketStart: bucket.Unix(), BucketWidth: 3600, BlockSize: blockSize,
	})
	for _, r := range records {
		if err := sw.Append(r); err != nil {
			w.t.Fatal(err)
		}
	}
	w.seq++
	meta, err := sw.Close(w.seq)
	if err != nil {
		w.t.Fatal(err)
	}
	b := &built{meta: meta}
	w.segments = append(w.segments, b)
	b.name = w.store(service, bucket, b, body.Bytes())
	return b
}

// columns are the options of two segments in three that have columns, or of all by share.
func (w *world) columns() *columns.Options {
	if w.share > 0 {
		return &columns.Options{Share: w.share}
	}
	if w.rnd == nil || w.rnd.IntN(3) == 0 {
		return nil
	}
	named := [][]string{nil, {"id"}, {"ms", "id"}}[w.rnd.IntN(3)]
	return &columns.Options{Share: []float64{0.05, 1, 10}[w.rnd.IntN(3)], Named: named}
}

// store puts a blob of a segment under the next free name.
func (w *world) store(service string, bucket time.Time, b *built, body []byte) blobnaming.Name {
	w.numbers[service+bucket.String()]++
	name := blobnaming.Name{Service: service, Bucket: bucket, Number: w.numbers[service+bucket.String()]}
	w.memory.put(name.String(), body, b.meta.Encode())
	b.bodies = append(b.bodies, body)
	w.rows = append(w.rows, tableindex.Entity{Name: name, Meta: b.meta, ETag: name.String(), Size: int64(len(body))})
	return name
}

// duplicate stores a segment a second time, damaged at one byte in one of the two.
func (w *world) duplicate(b *built, damage bool) {
	body := bytes.Clone(b.bodies[0])
	if damage {
		body[w.rnd.IntN(len(body))] ^= 1 << w.rnd.IntN(8)
	}
	if w.rnd.IntN(2) == 0 { // the damaged copy is the first
		original := b.bodies[0]
		b.bodies[0] = body
		w.memory.put(b.name.String(), body, b.meta.Encode())
		body = original
	}
	w.store(b.name.Service, b.name.Bucket, b, body)
}

func (w *world) query(sel Selection, opts Options) *Query {
	w.t.Helper()
	s := Store{Name: "memory", Container: "c", Blobs: w.memory, Cache: w.cache}
	if w.tables != nil {
		s.Tables = w.tables.Tables()
	}
	q, err := New([]Store{s}, sel, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return q
}

// indexed writes the rows of all segments.
func (w *world) indexed() {
	w.t.Helper()
	if err := tableindex.Put(w.t.Context(), w.tables.Tables(), "c", w.rows); err != nil {
		w.t.Fatal(err)
	}
}

// want is the answer of reading everything, line by line. broken means that
// something that may match cannot be read.
func (w *world) want(sel *Selection) (lines []string) {
	type entry struct {
		line    string
		time    int64
		segment *built
	}
	segments := slices.Clone(w.segments)
	slices.SortFunc(segments, func(a, b *built) int {
		return cmp.Or(strings.Compare(a.meta.Instance, b.meta.Instance), cmp.Compare(a.meta.Seq, b.meta.Seq))
	})
	var all []entry
	for _, s := range segments {
		if !sel.MatchesService(s.name.Service) {
			continue
		}
		for r := range s.records(w.t) {
			if querytest.MatchesSlowly(w.t, sel, s.meta.Instance, r) {
				all = append(all, entry{strings.TrimSuffix(string(querytest.Stored(r)), "\n"), r.Time, s})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.time, b.time) })
	if sel.Newest {
		slices.Reverse(all)
	}
	if sel.Limit > 0 && len(all) > sel.Limit {
		all = all[:sel.Limit]
	}
	lines = []string{}
	for _, e := range all {
		lines = append(lines, e.segment.name.Service+" "+e.line)
	}
	return lines
}

// records are those of the blocks that at least one copy has whole.
func (b *built) records(t testing.TB) iter.Seq[record.Record] {
	return func(yield func(record.Record) bool) {
		var footer *segment.Footer
		for _, body := range b.bodies {
			read := func(_ context.Context, off, n int64) ([]byte, error) {
				if off < 0 || n < 0 || off+n > int64(len(body)) {
					return nil, store.ErrRange
				}
				return body[off : off+n], nil
			}
			if f, err := segment.ReadFooter(t.Context(), read, int64(len(body)), b.meta.Footer); err == nil {
				footer = f
				break
			}
		}
		if footer == nil {
			return
		}
		for _, block := range footer.Blocks {
			for _, body := range b.bodies {
				text, err := segment.NewDecoder().DecodeBlock(nil, body[block.Offset:][:block.Stored], block)
				if err != nil {
					continue
				}
				for len(text) > 0 {
					line, rest, err := record.Next(text)
					if err != nil {
						t.Fatal(err)
					}
					r := record.Record{
						Time: line.Time, Level: line.Level, Source: string(line.Source), Attributes: line.Attributes,
						Message: record.AppendMessage(nil, line.Raw),
					}
					if !yield(r) {
						return
					}
					text = rest
				}
				break
			}
		}
	}
}

// got is the answer of a query.
func got(t testing.TB, q *Query) []string {
	t.Helper()
	p, err := q.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	if err := q.Run(t.Context(), p, func(m Match) error {
		lines = append(lines, fmt.Sprintf("%s %s", m.Segment.Name.Service, m.Line))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// origin is the first hour of the random worlds: they cross a year's end.
func origin() time.Time { return time.Date(2025, 12, 31, 22, 0, 0, 0, time.UTC) }

// fill adds random segments: few distinct times and words, small blocks.
func (w *world) fill(segments int) {
	for range segments {
		hour := origin().Add(time.Duration(w.rnd.IntN(4)) * time.Hour)
		records := make([]record.Record, 1+w.rnd.IntN(30))
		for i := range records {
			at := hour.Add(time.Duration(w.rnd.IntN(60)) * time.Minute)
			if w.rnd.IntN(2) == 0 {
				at = hour.Add(time.Duration(w.rnd.IntN(3)) * time.Nanosecond)
			}
			records[i] = record.Record{
				Time: at.UnixNano(), Level: record.Level(w.rnd.IntN(record.Levels)),
				Source: fmt.Sprintf("app/%d.log", w.rnd.IntN(3)), Message: querytest.RandomText(w.rnd, 20),
			}
			if !w.plain {
				records[i].Attributes = querytest.RandomAttributes(w.rnd)
			}
		}
		service, instance := fmt.Sprintf("svc-%d", w.rnd.IntN(3)), fmt.Sprintf("pod-%d", w.rnd.IntN(3))
		b := w.add(service, instance, 100+w.rnd.IntN(1000), w.salt(), records)
		switch w.rnd.IntN(8) {
		case 0:
			w.duplicate(b, false)
		case 1:
			w.duplicate(b, true)
		}
	}
}
