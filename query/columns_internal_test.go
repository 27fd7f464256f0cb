package query

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"logstow/internal/test/effort"
	"logstow/internal/test/querytest"
	"logstow/internal/test/testrand"
	"logstow/message/parse"
	"logstow/record"
	"logstow/record/attributes"
)

// columnsMessage is a message whose fields are of all kinds, more or less the same from message to message.
func columnsMessage(rnd *rand.Rand) string {
	pick := func(texts ...string) string { return texts[rnd.IntN(len(texts))] }
	number := func() string {
		return pick("1", "1.0", "01", "1e0", "-0", "0", "-1", "12.5", "12.50", "0.25", "NaN", "inf", "18446744073709551616", "9007199254740993", "-9223372036854775808",
			"1e400", "null", `"7"`, "true", "{}", "[1]", fmt.Sprint(rnd.IntN(2000)), fmt.Sprint(rnd.IntN(2000)), fmt.Sprintf("%.3f", rnd.Float64()))
	}
	level := pick(`,"level":"debug"`, "", "")
	switch rnd.IntN(12) {
	case 0:
		return fmt.Sprintf("status=%d took=%s route=%s msg=%q", 200+100*rnd.IntN(4), strings.Trim(number(), `"`), pick("/a", "/b"), "a b")
	case 1:
		return "no fields at all\nbut two lines"
	case 2:
		return fmt.Sprintf(`{"status":%d,"took":%s,"route":"/a","http":{"status":1},"st`, 200+rnd.IntN(3), number()) // cut
	case 3:
		return fmt.Sprintf(`{"took":%s,"took":7,"http.status":"x\u0041\"","status":%s%s}`, number(), number(), level)
	}
	return fmt.Sprintf(`{"status":%d,"took":%s,"bytes":%d,"route":"%s","user":"u%d","http":{"status":%d,"ok":%v}%s,"ms":"%dms","id":"r%d"}`,
		200+100*rnd.IntN(4), number(), rnd.IntN(1_000_000)-1000, pick("/a", "/b", "/c/\\u00e9"), rnd.IntN(8), rnd.IntN(5), rnd.IntN(2) == 0, level, rnd.IntN(300), rnd.IntN(3000))
}

// The answers of all kinds of queries are the same with and without columns, in stores where some segments and blocks
// have them and others do not.
func TestLongColumns(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many queries")
	rnd := testrand.New(t)
	rounds := effort.Cases{Test: 1, Full: 6, Long: 300}.N()
	var fromColumns, excluded, fromText int64
	covered := func() bool { return fromColumns > 0 && excluded > 0 && fromText > 0 }
	for round := 0; round < rounds || !covered() && round < 10*rounds; round++ {
		w := newWorld(t, rnd, false)
		for range 1 + rnd.IntN(5) {
			hour := origin().Add(time.Duration(rnd.IntN(3)) * time.Hour)
			records := make([]record.Record, 1+rnd.IntN(2000))
			attributed := rnd.IntN(3) == 0
			for i := range records {
				records[i] = record.Record{
					Time: hour.Add(time.Duration(rnd.Int64N(int64(20 * time.Minute)))).UnixNano(), Level: record.Level(rnd.IntN(record.Levels)),
					Source: fmt.Sprintf("app/%d.log", rnd.IntN(3)), Message: []byte(columnsMessage(rnd)),
				}
				if attributed && rnd.IntN(2) == 0 {
					records[i].Attributes = columnsAttributes(rnd)
				}
			}
			w.parse = []string{"", "", "", "none/1", "auto/2", `regexp/1 '(?P<status>\d+).*"route":"(?P<route>[^"]*)"'`}[rnd.IntN(6)]
			w.add(fmt.Sprintf("svc-%d", rnd.IntN(2)), fmt.Sprintf("pod-%d", rnd.IntN(3)), 1<<(10+rnd.IntN(9)), w.salt(), records)
		}
		for range 25 {
			sel := columnsSelection(rnd)
			draw := rnd.Uint64()
			text := w.answers(draw, sel, true)
			if w.last.Report().BlocksColumns+w.last.Report().BlocksExcluded > 0 {
				t.Fatal("columns were read")
			}
			if diff := cmp.Diff(text, w.answers(draw, sel, false)); diff != "" {
				t.Fatalf("%+v (-text +columns)\n%s", sel, diff)
			}
			r := w.last.Report()
			fromColumns += r.BlocksColumns
			excluded += r.BlocksExcluded
			fromText += r.BlocksRead
			if len(r.Problems) > 0 {
				t.Fatal(r.Problems)
			}
		}
	}
	t.Logf("%d blocks from columns, %d excluded by them, %d from text", fromColumns, excluded, fromText)
	if !covered() {
		t.Error("one of the ways was not taken")
	}
}

// columnsSelection is a random selection, mostly of conditions that columns answer.
func columnsSelection(rnd *rand.Rand) Selection {
	sel := querytest.Everything()
	sel.To = sel.From.AddDate(200, 0, 0)
	if rnd.IntN(3) == 0 {
		unit := []time.Duration{time.Second, time.Minute, time.Millisecond}[rnd.IntN(3)]
		sel.From = origin().Add(time.Duration(rnd.Int64N(int64(3 * time.Hour)))).Truncate(unit)
		sel.To = sel.From.Add(unit + time.Duration(rnd.Int64N(int64(2*time.Hour)))).Truncate(unit)
	}
	if rnd.IntN(4) == 0 {
		sel.Levels = record.LevelSet(1 + rnd.IntN(1<<record.Levels-1))
	}
	if rnd.IntN(5) == 0 {
		sel.Sources = []string{"app/1.log"}
	}
	conditions := []string{
		"status >= 400", "status == 200", "took > 100", "took < 0", "took == 1", "bytes > 990000", "bytes > 2000000", `route == "/a"`, `route != "/b"`, "has(took)",
		"not has(http.ok)", `user in ["u1", "u2"]`, `level >= "warn"`, `status >= 300 and level == "error"`, `route startsWith "/c"`, "http.status > 2 and http.ok",
		`source contains "2"`, "took > 5 or status == 300", `message contains "no fields"`, `time > "2025-12-31T22:30:00Z"`, "ms > 200ms", "took == nil", `field("level") == "debug"`,
		`id == "r7"`, `id > "r2" and status == 200`, `id matches "^r1.*5$"`, "missing == 1", "status + 1 == 201", "bytes % 2 == 0", "not (took > 5)", `service == "svc-1" and status == 200`,
	}
	for range rnd.IntN(3) {
		sel.Where = append(sel.Where, conditions[rnd.IntN(len(conditions))])
	}
	if rnd.IntN(6) == 0 {
		sel.Patterns = []string{"u1"}
	}
	if rnd.IntN(10) == 0 {
		p, err := parse.Compile("auto")
		if err != nil {
			panic(err)
		}
		sel.Parser = p
	}
	return sel
}

// answers are those of queries of all kinds, drawn from a seed.
func (w *world) answers(seed uint64, sel Selection, noColumns bool) []string {
	w.t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	opts := Options{NoColumns: noColumns, GroupMemory: 1 << 20, TempDir: w.t.TempDir()}
	q, p := w.planned(sel, opts)
	switch rnd.IntN(7) {
	case 0:
		sel.Limit, sel.Newest = rnd.IntN(20), rnd.IntN(2) == 0
		return got(w.t, w.query(sel, opts))
	case 1:
		n, err := q.Count(w.t.Context(), p)
		if err != nil {
			w.t.Fatal(err)
		}
		return []string{fmt.Sprint(n)}
	case 2:
		return w.sortedAnswer(rnd, sel, opts)
	case 3:
		return w.distinctAnswer(rnd, sel, opts)
	case 4:
		return w.fieldsAnswer(rnd, sel, opts)
	}
	by := [][]string{
		nil,
		{"status"},
		{"level"},
		{"status", "1m"},
		{"route", "5m"},
		{"took"},
		{"bytes"},
		{"bucket(bytes)"},
		{"bucket(took, 100)"},
		{"service", "user"},
		{"instance", "route"},
		{"source", "level"},
		{"250ms"},
		{"1s"},
		{"http.ok", "http.status"},
		{"missing"},
		{"message.level"},
		{"day"},
		{"id"},
		{"id", "status"},
		{"id", "1m"},
	}[rnd.IntN(21)]
	compute := []string{
		"sum(took)", "avg(took)", "min(took)", "max(bytes)", "stddev(bytes)", "p50(took)", "p99(bytes)", "distinct(user)", "distinct(took)", "count(status >= 400)",
		"ratio(took > 5)", "first(user)", "last(took)", "rate", "sum(user)", `count(level == "error")`, "distinct(level)", "p10(missing)", "distinct(bytes)", "distinct(id)", "sum(id)", "max(ms)",
	}
	rnd.Shuffle(len(compute), func(i, j int) { compute[i], compute[j] = compute[j], compute[i] })
	groups := w.gotFunctions(sel, opts, by, compute[:rnd.IntN(5)])
	var lines []string
	for key, values := range groups {
		lines = append(lines, key+": "+values)
	}
	slices.Sort(lines)
	return append(lines, fmt.Sprint(by, compute[:1]))
}

// sortedAnswer are the first records in an order that is drawn.
func (w *world) sortedAnswer(rnd *rand.Rand, sel Selection, opts Options) []string {
	w.t.Helper()
	names := []string{"status", "took", "bytes", "route", "user", "http.ok", "ms", "id", "missing", "level", "source", "service", "instance", "message", "time", "message.level"}
	var items []string
	for _, i := range rnd.Perm(len(names))[:1+rnd.IntN(3)] {
		items = append(items, names[i]+[]string{"", " desc"}[rnd.IntN(2)])
	}
	sel.Limit = []int{0, 1, 5, 20, 300, 20_000}[rnd.IntN(6)]
	q, p := w.planned(sel, opts)
	return append(sorted(w.t, q, p, items...), fmt.Sprint(items, sel.Limit))
}

// distinctAnswer are the different values of a field that is drawn.
func (w *world) distinctAnswer(rnd *rand.Rand, sel Selection, opts Options) []string {
	w.t.Helper()
	names := []string{"status", "took", "bytes", "route", "user", "http.ok", "ms", "id", "missing", "level", "source", "service", "instance", "time", "message.level"}
	text := names[rnd.IntN(len(names))]
	sel.Limit = rnd.IntN(2) * 5
	q, p := w.planned(sel, opts)
	values, sum := distinctValues(w.t, q, p, text)
	return append(values, fmt.Sprint(text, sum))
}

// fieldsAnswer are the fields of all records or of a sample.
func (w *world) fieldsAnswer(rnd *rand.Rand, sel Selection, opts Options) []string {
	w.t.Helper()
	q, p := w.planned(sel, opts)
	found, err := q.Fields(w.t.Context(), p, FieldOptions{Records: uint64(rnd.IntN(2) * 500), Top: rnd.IntN(20)})
	if err != nil {
		w.t.Fatal(err)
	}
	lines := []string{fmt.Sprint(found.Records, found.Sampled, found.LeftOut)} // fewer blocks are read with columns
	for _, f := range found.Fields {
		lines = append(lines, fmt.Sprintf("%+v", f))
	}
	return lines
}

// planned is a query, which becomes the last one, and its plan.
func (w *world) planned(sel Selection, opts Options) (*Query, *Plan) {
	w.t.Helper()
	w.last = w.query(sel, opts)
	p, err := w.last.Plan(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return w.last, p
}

// Whatever bit of the columns is damaged, the answer is that of the text.
func TestDamagedColumns(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "damages many blocks")
	rnd := testrand.New(t)
	records := make([]record.Record, 300)
	sel := querytest.Everything()
	sel.To = sel.To.AddDate(100, 0, 0)
	selections := []Selection{sel, sel, sel}
	selections[0].Where = []string{"status >= 300"}
	selections[1].Levels = 1<<record.Warn | 1<<record.Error
	selections[2].Sources = []string{"a"}
	var w *world
	ask := func(sel Selection) string {
		q := w.query(sel, Options{})
		p, err := q.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, err := q.Count(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if r := q.Report(); len(r.Problems) > 0 || len(r.Notes) > 1 {
			t.Fatal(r.Problems, r.Notes)
		}
		return fmt.Sprint(n, w.gotFunctions(sel, Options{}, []string{"route"}, []string{"max(bytes)"}))
	}
	var b *built
	var want []string
	for b == nil || w.last.Report().BlocksColumns == 0 { // its columns are drawn
		for i := range records {
			records[i] = record.Record{
				Time: origin().Add(time.Duration(i) * time.Second).UnixNano(), Level: record.Level(rnd.IntN(record.Levels)),
				Source: []string{"a", "b"}[rnd.IntN(2)], Message: []byte(columnsMessage(rnd)),
			}
		}
		w = newWorld(t, rnd, false)
		b = w.add("svc", "pod", 4000, w.salt(), records)
		want = nil
		for _, sel := range selections {
			want = append(want, ask(sel))
		}
	}
	name := b.name.String()
	body := b.bodies[0]
	from := bytes.LastIndex(body[:bytes.Index(body, []byte("Greatest"))], []byte{0x57, 0x2a, 0x4d, 0x18})
	end := bytes.LastIndex(body, []byte{0x57, 0x2a, 0x4d, 0x18})
	notes := 0
	for range rounds(2000) {
		damaged := bytes.Clone(body)
		damaged[from+8+rnd.IntN(end-from-8)] ^= 1 << rnd.IntN(8)
		w.memory.bodies[name] = damaged
		of := rnd.IntN(len(selections))
		if got := ask(selections[of]); got != want[of] {
			t.Fatalf("%+v: %s, want %s", selections[of], got, want[of])
		}
		notes += len(w.last.Report().Notes)
	}
	if notes == 0 {
		t.Error("no damage was noted")
	}
}

// columnsAttributes are attributes of the names in messages, and of one that only attributes have.
func columnsAttributes(rnd *rand.Rand) []byte {
	member := func(name string, values ...string) attributes.Member {
		value := values[rnd.IntN(len(values))]
		if n, err := strconv.Atoi(value); err == nil {
			return attributes.Member{Name: name, Value: attributes.AppendInt(nil, int64(n))}
		}
		return attributes.Member{Name: name, Value: attributes.AppendText(nil, value)}
	}
	set := attributes.Set{Resource: attributes.NewGroup([]attributes.Member{member("pod", "a", "b"), member("route", "/r", "/s")})}
	if rnd.IntN(2) == 0 {
		set.Own = append(set.Own, member("status", "200", "404", "none"))
	}
	text, _ := set.Append(nil)
	return text
}
