package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
	"logstow/store/local"
	"logstow/tableindex"
)

// worldNow is the clock of random command lines.
func worldNow() time.Time { return time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC) }

// stored is a record of a world, with what its message was made of.
type stored struct {
	at                        time.Time
	level                     string // "-" is none
	service, source, instance string
	message                   string
	// fields are the message's by their names with dots: json.Number, string, bool, nil,
	// bare for what logfmt has without quotes, composite for arrays and objects.
	fields map[string]any

	store     int
	seq, line int // the segment's place among those of its instance, the record's in it
}

type (
	bare      string
	composite string
)

// world is what two stores hold, in order of output.
type world struct {
	rnd  *rand.Rand
	dirs []string
	all  []*stored
}

// newWorld fills two stores with records of some services over two days: many at equal times,
// of two instances, in segments of small blocks, a few of which are stored twice.
func newWorld(t *testing.T, rnd *rand.Rand) *world {
	t.Helper()
	w := &world{rnd: rnd}
	type place struct {
		service, instance string
		hour              time.Time
		store, part       int
	}
	places := map[place][]*stored{}
	var order []place
	var times []time.Time
	for i := range 900 {
		from, length := -48*time.Hour, 45*time.Hour
		if i%2 == 0 {
			from, length = -3*time.Hour, 270*time.Minute
		}
		at := worldNow().Add(from + time.Duration(rnd.Int64N(int64(length))))
		if rnd.IntN(2) == 0 {
			at = at.Truncate(time.Minute)
		}
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, at := range times {
		r := w.record(at)
		w.all = append(w.all, r)
		p := place{r.service, r.instance, at.Truncate(time.Hour), r.store, rnd.IntN(2)}
		if places[p] == nil {
			order = append(order, p)
		}
		places[p] = append(places[p], r)
	}
	rnd.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	var stores []*local.Store
	for range 2 {
		w.dirs = append(w.dirs, t.TempDir())
		s, err := local.Open(t.Context(), w.dirs[len(w.dirs)-1])
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores = append(stores, s)
	}
	rows := map[int][]tableindex.Entity{}
	for i, p := range order {
		for line, r := range places[p] {
			r.seq, r.line = i+1, line
		}
		rows[p.store] = append(rows[p.store], w.segment(t, stores[p.store], 4*i, places[p])...)
	}
	for i, s := range stores {
		if err := tableindex.Put(t.Context(), s.Tables(), s.Container(), rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(w.all, func(a, b *stored) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.instance, b.instance), cmp.Compare(a.seq, b.seq), cmp.Compare(a.line, b.line))
	})
	return w
}

// segment stores records of one service and hour, one time in six twice.
func (w *world) segment(t *testing.T, s *local.Store, number int, records []*stored) (entities []tableindex.Entity) {
	t.Helper()
	first := records[0]
	var salt [16]byte
	for i := range salt {
		salt[i] = byte(w.rnd.Uint32())
	}
	var body bytes.Buffer
	hour := first.at.Truncate(time.Hour)
	var cols *columns.Options
	if w.rnd.IntN(3) > 0 {
		cols = &columns.Options{Share: oneOf(w.rnd, 0.05, 1, 10)}
	}
	writer := segment.NewWriter(&body, segment.Options{
		Columns: cols,
		Service: first.service, Instance: first.instance, Salt: salt, BucketStart: hour.Unix(), BucketWidth: 3600, BlockSize: oneOf(w.rnd, 0, 150, 600),
	})
	for _, r := range records {
		level, err := record.ParseLevel(r.level)
		if err == nil {
			err = writer.Append(record.Record{Time: r.at.UnixNano(), Level: level, Source: r.source, Message: []byte(r.message)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	meta, err := writer.Close(int64(first.seq))
	if err != nil {
		t.Fatal(err)
	}
	for copied := range 1 + w.rnd.IntN(6)/5 {
		name := blobnaming.Name{Service: first.service, Bucket: hour, Number: uint64(number + copied + 1)}
		etag, err := s.Blobs().Create(t.Context(), name.String(), body.Bytes(), store.CreateOptions{Metadata: meta.Encode()})
		if err != nil {
			t.Fatal(err)
		}
		entities = append(entities, tableindex.Entity{Name: name, Meta: meta, ETag: etag, Size: int64(body.Len())})
	}
	return entities
}

func (w *world) record(at time.Time) *stored {
	r := &stored{
		at: at, service: oneOf(w.rnd, "web", "web", "web-api", "shop", "batch", "s.b"), instance: oneOf(w.rnd, "pod-1", "pod-2"),
		source: oneOf(w.rnd, "app.log", "a,b.log", "logs/app.log", "logs/2026/err.log", " blank.log ", "-"),
		level:  oneOf(w.rnd, "TRACE", "DEBUG", "INFO", "INFO", "WARN", "ERROR", "FATAL", "-"), store: w.rnd.IntN(5) / 4, fields: map[string]any{},
	}
	switch {
	case r.service == "batch":
		r.level = "-"
		r.message = w.plain()
	case w.rnd.IntN(4) == 0:
		r.message = w.plain()
	case w.rnd.IntN(3) == 0:
		r.message = w.logfmt(r.fields)
	default:
		r.message = oneOf(w.rnd, "", "", "", "handled ", "to [1] ") + w.object(r.fields)
	}
	return r
}

// plain is a message without fields: as a field could be seen in it, it has no "=" and no braces.
func (w *world) plain() string {
	return oneOf(w.rnd, "", " ", "  two  blanks ", "done, in 5 s", "a,b", "--dash -x", `"quoted", 'so'`, "[1,2]", "Ünïcode ÄÖ", "two\nlines", "two\nlines", "\ttab\t", "bad \xff\xfe byte", `C:\new\tab`) +
		oneOf(w.rnd, "", " order-12345", " order-123456", " 10.0.0.7", " 10.0.0.71", "ORDER-12345 ", `\norder-12345`, `\torder-12345`, `\u0041order-12345`, "xorder-12345", "order-12345-6", " a1b2c3d4e5", "\norder-12345\n\tat f", " 5")
}

// fieldValues are those of a field in JSON.
func fieldValues() map[string][]any {
	return map[string][]any{
		"status":      {json.Number("200"), json.Number("404"), json.Number("500"), json.Number("503"), json.Number("2e2"), "503", "n/a", nil},
		"user":        {"ann", "bob", "Zoë", "", "a,b", " ann", "ann ", "line\none", nil},
		"id":          {json.Number("1234567890123456789"), json.Number("1234567890123456788"), json.Number("18446744073709551615"), json.Number("-9223372036854775808"), json.Number("123456789012345678901234567890"), json.Number("123456789012345678901234567891")},
		"took":        {json.Number("0.5"), json.Number("0.1"), json.Number("0.10000000000000001"), json.Number("12.25"), json.Number("1e3"), json.Number("7"), json.Number("-0")},
		"ok":          {true, false},
		"http.method": {"GET", "POST"},
		"a,b":         {json.Number("1"), "x"},
		"level":       {"loud", json.Number("3")},
		"order":       {"order-12345", "order-123456", "ORDER-12345"},
		"tags":        {composite(`["a","b"]`), composite(`[]`), composite(`{"k":1}`)},
	}
}

// fieldNames are those of fieldValues, in their order.
func fieldNames() []string {
	return []string{"status", "user", "id", "took", "ok", "http.method", "a,b", "level", "order", "tags"}
}

func (w *world) object(fields map[string]any) string {
	var members []string
	for _, name := range fieldNames() {
		if w.rnd.IntN(3) == 0 {
			continue
		}
		v := oneOf(w.rnd, fieldValues()[name]...)
		fields[name] = v
		text := []byte(fmt.Sprint(v))
		switch v.(type) {
		case string, nil:
			text, _ = json.Marshal(v)
		}
		if outer, inner, nested := strings.Cut(name, "."); nested && w.rnd.IntN(2) == 0 {
			members = append(members, fmt.Sprintf("%q: {%q:%s}", outer, inner, text))
			continue
		}
		members = append(members, fmt.Sprintf("%q:%s", name, text))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (w *world) logfmt(fields map[string]any) string {
	pairs := []string{oneOf(w.rnd, "msg", "served", "order-12345")}
	for _, name := range fieldNames() {
		v := oneOf(w.rnd, fieldValues()[name]...)
		text, isText := v.(string)
		number, isNumber := v.(json.Number)
		truth, isBool := v.(bool)
		switch {
		case w.rnd.IntN(3) == 0:
			continue
		case isNumber:
			v = bare(number)
		case isBool:
			v = bare(fmt.Sprint(truth))
		case isText && w.rnd.IntN(2) == 0 && !strings.ContainsAny(text, " \n"):
			v = bare(text)
		case !isText:
			continue
		}
		if !strings.Contains(name, ",") { // else it is no name of a pair
			fields[name] = v
		}
		if b, ok := v.(bare); ok {
			pairs = append(pairs, name+"="+string(b))
		} else {
			quoted, _ := json.Marshal(text)
			pairs = append(pairs, name+"="+string(quoted))
		}
	}
	return strings.Join(pairs, " ")
}

func oneOf[T any](rnd *rand.Rand, values ...T) T { return values[rnd.IntN(len(values))] }
