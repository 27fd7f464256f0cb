package query

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

// liar is a segment whose writer lies: its footer is changed and signed again, and its metadata repeat the footer.
type liar struct {
	t      *testing.T
	rnd    *rand.Rand
	w      *world
	truth  *built
	blocks []byte // of the true segment, with its sections
}

func newLiar(t *testing.T, rnd *rand.Rand) *liar {
	t.Helper()
	l := &liar{t: t, rnd: rnd, w: newWorld(t, rnd, false)}
	l.w.share = 10
	records := make([]record.Record, 40)
	for i := range records {
		message := fmt.Sprintf(`{"n":%d,"text":"plain"}`, i)
		if i%5 == 0 {
			message = fmt.Sprintf(`{"n":%d,"text":"a needle"}`, i)
		}
		records[i] = record.Record{
			Time: origin().Add(time.Duration(i) * time.Minute / 2).UnixNano(), Level: []record.Level{record.Info, record.Error, record.None}[i%3],
			Source: "app", Message: []byte(message),
		}
	}
	l.truth = l.w.add("a", "i", 600, l.w.salt(), records)
	l.blocks = l.truth.bodies[0][:l.truth.meta.Footer]
	return l
}

// fields are the footer of the true segment, to be changed.
func (l *liar) fields() map[string]any {
	body := l.truth.bodies[0]
	var m map[string]any
	if err := msgpack.Unmarshal(body[l.truth.meta.Footer+8:len(body)-16], &m); err != nil {
		l.t.Fatal(err)
	}
	return m
}

// store puts the segment in place of the true one. It reports whether readers accept its footer.
func (l *liar) store(blocks []byte, footer map[string]any) bool {
	var b strings.Builder
	e := msgpack.NewEncoder(&b)
	e.UseCompactInts(true)
	e.SetSortMapKeys(true)
	if err := e.Encode(footer); err != nil {
		l.t.Fatal(err)
	}
	body := b.String()
	blob := binary.LittleEndian.AppendUint32(slices.Clone(blocks), 0x184D2A57)
	blob = binary.LittleEndian.AppendUint32(blob, uint32(len(body)+16))
	blob = append(blob, body...)
	blob = binary.LittleEndian.AppendUint32(blob, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
	blob = append(binary.LittleEndian.AppendUint32(blob, uint32(len(body))), "LOGSTOW1"...)
	meta := l.truth.meta
	f, err := segment.ReadFooter(l.t.Context(), l.read(blob), int64(len(blob)), -1)
	if err == nil {
		meta = f.Metadata
	}
	l.w.memory.put(l.truth.name.String(), blob, meta.Encode())
	return err == nil
}

func (l *liar) read(blob []byte) segment.Range {
	return func(_ context.Context, off, n int64) ([]byte, error) {
		if off < 0 || n < 0 || off > int64(len(blob))-n {
			return nil, store.ErrRange
		}
		return blob[off : off+n], nil
	}
}

// answers runs queries that read text, and compares each with the text: it must be right, or report the blob.
func (l *liar) answers(what string) {
	l.t.Helper()
	for name, sel := range map[string]Selection{
		"all":      {From: origin(), To: origin().Add(24 * time.Hour)},
		"newest":   {From: origin(), To: origin().Add(24 * time.Hour), Newest: true},
		"literal":  {From: origin(), To: origin().Add(24 * time.Hour), Patterns: []string{"needle"}},
		"where":    {From: origin(), To: origin().Add(24 * time.Hour), Where: []string{"n >= 17"}},
		"negative": {From: origin(), To: origin().Add(24 * time.Hour), Excludes: []string{"needle"}},
	} {
		q := l.w.query(sel, Options{})
		lines := got(l.t, q)
		l.judge(what+", "+name, q, slices.Equal(lines, l.w.want(&sel)), fmt.Sprint(len(lines), " lines"))
		q = l.w.query(sel, Options{})
		p, err := q.Plan(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		if name != "all" && name != "newest" { // which metadata answer
			n, err := q.Count(l.t.Context(), p)
			l.judge(what+", count of "+name, q, err == nil && int(n) == len(l.w.want(&sel)), fmt.Sprint("count ", n))
		}
	}
	// Records of another level than selected are not shown as selected.
	sel := Selection{From: origin(), To: origin().Add(24 * time.Hour), Levels: record.LevelSet(1 << record.Error)}
	q := l.w.query(sel, Options{})
	lines := got(l.t, q)
	right := l.w.want(&sel)
	l.judge(what+", level", q, !slices.ContainsFunc(lines, func(line string) bool { return !slices.Contains(right, line) }), fmt.Sprint(lines))
}

func (l *liar) judge(what string, q *Query, right bool, got string) {
	l.t.Helper()
	problems := q.Report().Problems
	if !right && len(problems) == 0 {
		l.t.Errorf("%s: a wrong answer and no problem: %s", what, got)
	}
	for _, p := range problems {
		if !strings.Contains(p.Error(), l.truth.name.String()) {
			l.t.Errorf("%s: the problem does not name the blob: %v", what, p)
		}
	}
}

// numbers are the numbers of a footer: functions that set one, by its path.
func numbers(path string, v any, set func(any), found func(path string, old uint64, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			numbers(path+"."+key, value, func(n any) { v[key] = n }, found)
		}
	case []any:
		for i, value := range v {
			numbers(fmt.Sprintf("%s[%d]", path, i), value, func(n any) { v[i] = n }, found)
		}
	default:
		switch n := reflect.ValueOf(v); {
		case n.CanInt():
			found(path, uint64(n.Int()), set)
		case n.CanUint():
			found(path, n.Uint(), set)
		}
	}
}

// Changed numbers of a footer give no wrong answer without an error that names the blob, and none that is impossible.
func TestChangedFooters(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 7))
	l := newLiar(t, rnd)
	l.store(l.blocks, l.fields())
	l.answers("unchanged")
	type number struct {
		path string
		old  uint64
		set  func(any)
	}
	accepted := 0
	for range rounds(1200) {
		fields := l.fields()
		var all []number
		numbers("", fields, nil, func(path string, old uint64, set func(any)) { all = append(all, number{path, old, set}) })
		slices.SortFunc(all, func(a, b number) int { return strings.Compare(a.path, b.path) })
		var what []string
		for range 1 + rnd.IntN(3) {
			n := all[rnd.IntN(len(all))]
			to := []uint64{0, 1, n.old + 1, n.old - 1, n.old * 2, 1 << 62, 1<<64 - 1, rnd.Uint64N(1 << 20)}[rnd.IntN(8)]
			n.set(to)
			what = append(what, fmt.Sprintf("%s: %d, not %d", n.path, to, n.old))
		}
		if l.store(l.blocks, fields) {
			accepted++
		}
		l.answers(strings.Join(what, "; "))
	}
	t.Logf("%d of %d footers agree with themselves", accepted, rounds(1200))
}

// Lies that agree with each other, and with the metadata, are found when the text is read.
func TestLiesThatAgree(t *testing.T) {
	t.Parallel()
	l := newLiar(t, rand.New(rand.NewPCG(8, 8)))
	column := func(m map[string]any, table, name string) []any { return m[table].(map[string]any)[name].([]any) }
	add := func(list []any, i int, n int64) { list[i] = reflectInt(list[i]) + n }
	more := func(m map[string]any, key string, n int64) { m[key] = reflectInt(m[key]) + n }
	for name, change := range map[string]func(m map[string]any){
		"one record more": func(m map[string]any) {
			add(column(m, "Blocks", "Records"), 1, 1)
			add(column(m, "Blocks", "Levels"), 7+int(record.Info), 1)
			add(column(m, "Minutes", "Levels"), 7+int(record.Info), 1)
			add(m["Levels"].([]any), int(record.Info), 1)
			more(m, "Records", 1)
		},
		"one record less": func(m map[string]any) {
			add(column(m, "Blocks", "Records"), 1, -1)
			add(column(m, "Blocks", "Levels"), 7+int(record.Info), -1)
			add(column(m, "Minutes", "Levels"), 7+int(record.Info), -1)
			add(m["Levels"].([]any), int(record.Info), -1)
			more(m, "Records", -1)
		},
		"another level": func(m map[string]any) {
			for _, c := range []struct {
				list []any
				at   int
			}{{column(m, "Blocks", "Levels"), 7}, {column(m, "Minutes", "Levels"), 0}, {column(m, "Minutes", "OnMinute"), 0}, {m["Levels"].([]any), 0}} {
				add(c.list, c.at+int(record.Info), -1)
				add(c.list, c.at+int(record.Error), 1)
			}
		},
		"all of one level": func(m map[string]any) {
			for _, list := range [][]any{column(m, "Blocks", "Levels"), column(m, "Minutes", "Levels"), column(m, "Minutes", "OnMinute"), m["Levels"].([]any)} {
				for i := 0; i < len(list); i += 7 {
					n := int64(0)
					for j := range 7 {
						n += reflectInt(list[i+j])
						list[i+j] = 0
					}
					list[i+int(record.Error)] = n
				}
			}
		},
		"a block that starts later": func(m map[string]any) {
			add(column(m, "Blocks", "Start"), 1, 1)
			add(column(m, "Blocks", "End"), 1, -1)
		},
		"a block that ends earlier": func(m map[string]any) { add(column(m, "Blocks", "End"), 0, -1) },
		"a block that ends later":   func(m map[string]any) { add(column(m, "Blocks", "End"), 0, 1) },
	} {
		fields := l.fields()
		change(fields)
		if !l.store(l.blocks, fields) {
			t.Fatalf("%s: the lies do not agree", name)
		}
		l.answers(name)
		q := l.w.query(Selection{From: origin(), To: origin().Add(time.Hour)}, Options{})
		if got(t, q); len(q.Report().Problems) == 0 || !strings.Contains(q.Report().Problems[0].Error(), "differs from the footer") {
			t.Errorf("%s: problems %v", name, q.Report().Problems)
		}
	}
}

// Records that are not in the order of their times are reported, though first and last are those of the footer.
func TestRecordsOutOfOrder(t *testing.T) {
	t.Parallel()
	l := newLiar(t, rand.New(rand.NewPCG(9, 9)))
	fields := l.fields()
	table := fields["Blocks"].(map[string]any)
	stored := reflectInt(table["Stored"].([]any)[0])
	f, err := segment.ReadFooter(t.Context(), l.read(l.truth.bodies[0]), int64(len(l.truth.bodies[0])), -1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := segment.NewDecoder().DecodeBlock(nil, l.blocks[:stored], f.Blocks[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines[1], lines[3] = lines[3], lines[1]
	changed := segment.NewCompressor().Encode(nil, bytes.Join(lines, nil))
	table["Stored"].([]any)[0] = len(changed)
	hash := segment.HashOf(changed)
	copy(table["Hash"].([]byte), hash[:])
	moved := int64(len(changed)) - stored
	if place, ok := fields["Columns"].(map[string]any); ok {
		place["Offset"] = reflectInt(place["Offset"]) + moved
	}
	if place, ok := fields["Filter"].([]any); ok {
		place[0] = reflectInt(place[0]) + moved
	}
	if !l.store(append(changed, l.blocks[stored:]...), fields) {
		t.Fatal("the footer is rejected")
	}
	for _, newest := range []bool{false, true} {
		q := l.w.query(Selection{From: origin(), To: origin().Add(time.Hour), Newest: newest}, Options{})
		lines := got(t, q)
		problems := q.Report().Problems
		if len(lines) != 40 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "out of order") || !strings.Contains(problems[0].Error(), l.truth.name.String()) {
			t.Errorf("newest %v: %d lines, problems %v", newest, len(lines), problems)
		}
	}
}

// A blob that was cut, or renamed to another hour, is not counted by its metadata.
func TestMetadataOfAnotherBlob(t *testing.T) {
	t.Parallel()
	l := newLiar(t, rand.New(rand.NewPCG(10, 10)))
	count := func() (uint64, []*Problem) {
		q := l.w.query(Selection{From: origin(), To: origin().Add(24 * time.Hour)}, Options{})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, err := q.Count(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return n, q.Report().Problems
	}
	name, body := l.truth.name.String(), l.truth.bodies[0]
	if n, problems := count(); n != 40 || len(problems) != 0 {
		t.Fatalf("%d records, problems %v", n, problems)
	}
	l.w.memory.put(name, body[:len(body)/2], l.truth.meta.Encode())
	if n, problems := count(); n != 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), name) {
		t.Errorf("cut: %d records, problems %v", n, problems)
	}
	meta := l.truth.meta
	meta.Records, meta.RawBytes, meta.Levels = 1<<62, 1<<63-1, record.Counts{1 << 62}
	l.w.memory.put(name, body, meta.Encode())
	if n, problems := count(); n != 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), name) {
		t.Errorf("2^62 records: %d records, problems %v", n, problems)
	}
	delete(l.w.memory.blobs, name)
	renamed := l.truth.name
	renamed.Bucket = renamed.Bucket.Add(time.Hour)
	l.w.memory.put(renamed.String(), body, l.truth.meta.Encode())
	if n, problems := count(); n != 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), renamed.String()) {
		t.Errorf("renamed: %d records, problems %v", n, problems)
	}
}

// reflectInt is a number as the decoder returns it.
func reflectInt(v any) int64 {
	n := reflect.ValueOf(v)
	if n.CanUint() {
		return int64(n.Uint())
	}
	return n.Int()
}
