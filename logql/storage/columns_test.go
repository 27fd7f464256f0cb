package storage_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"logstow/field"
	fields "logstow/field/parse"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/record"
)

// Metric queries over JSON lines have the same results with columns, without them, and over the records in memory.
func TestLongColumns(t *testing.T) {
	t.Parallel()
	rnd := seeded(t)
	rounds, queries := 8, 60
	if os.Getenv("LOGSTOW_LONG") != "" {
		rounds = 600
	}
	var fromColumns, fromText, failed, found int64
	for range rounds {
		w := newWorld(t, rnd)
		w.fillJSON()
		if rnd.IntN(3) == 0 {
			w.compact()
		}
		for range queries {
			text := columnsQuery(rnd)
			expr, err := syntax.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			p := columnsParams(rnd)
			want, wantErr := w.reference().Metric(t.Context(), expr.(syntax.SampleExpr), p)
			for _, without := range []bool{false, true} {
				view := storage.New([]query.Store{w.reading}, query.Options{NoColumns: without}, w.clock).View(storage.Access{})
				got, err := (&engine.Engine{Source: view}).Metric(t.Context(), expr.(syntax.SampleExpr), p)
				if (err == nil) != (wantErr == nil) {
					t.Fatalf("%s: error %v, want %v (without columns: %v)", text, err, wantErr, without)
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
					t.Fatalf("%s\n%+v (-in memory +stored; without columns: %v)\n%s", text, p, without, diff)
				}
				r := view.Report()
				if without && r.BlocksColumns+r.BlocksExcluded > 0 || len(r.Problems) > 0 {
					t.Fatal("columns were read", r.Problems)
				}
				if !without {
					fromColumns, fromText = fromColumns+r.BlocksColumns, fromText+r.BlocksRead
				}
			}
			if wantErr != nil {
				failed++
			} else {
				found += int64(len(want.Series))
			}
		}
	}
	t.Logf("%d blocks from columns, %d from text, %d queries failed, %d series", fromColumns, fromText, failed, found)
	if fromColumns < 100 || fromText == 0 || failed == 0 || found == 0 {
		t.Error("one of the ways was not taken")
	}
}

// Log queries leave out blocks by columns, and find the same.
func TestLongColumnsPrune(t *testing.T) {
	t.Parallel()
	rnd := seeded(t)
	rounds, queries := 6, 60
	if os.Getenv("LOGSTOW_LONG") != "" {
		rounds = 600
	}
	var excluded, read int64
	found := 0
	for range rounds {
		w := newWorld(t, rnd)
		w.fillJSON()
		if rnd.IntN(3) == 0 {
			w.compact()
		}
		for range queries {
			text := columnsSelector(rnd) + " " + strings.Join(columnsStages(rnd, 1+rnd.IntN(3)), " ")
			text += pick(rnd, []string{"", "", ` | line_format "{{.status}}"`, ` |= "2"`, ` | label_format status="{{.route}}" | status="/a"`, ` | logfmt | status=500`})
			p := engine.LogParams{From: origin().UnixNano(), To: origin().Add(3 * time.Hour).UnixNano(), Newest: rnd.IntN(2) == 0, Limit: rnd.IntN(2) * rnd.IntN(30)}
			if rnd.IntN(3) == 0 {
				p.From += rnd.Int64N(int64(5 * time.Minute))
			}
			want, err := answer(t.Context(), w.reference().Source, parse(t, text), p)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			view := w.view(storage.Access{})
			got, err := answer(t.Context(), view, parse(t, text), p)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s\n%+v (-in memory +stored)\n%s", text, p, diff)
			}
			found += len(got)
			excluded, read = excluded+view.Report().BlocksExcluded, read+view.Report().BlocksRead
		}
	}
	t.Logf("%d blocks left out, %d read, %d records", excluded, read, found)
	if excluded == 0 || read == 0 || found == 0 {
		t.Error("one of the ways was not taken")
	}
}

// Where columns show that no record can be found, no text is read: not to explain it either.
func TestNothingFoundReadsNoText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seeded(t))
	w.columnar, w.larger = true, true
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"status":%d,"took_ms":%d,"route":"/a"}`, 200+100*(i%4), 10+i)
	}
	shipLines(w, lines...)
	from, to := origin().UnixNano(), origin().Add(time.Hour).UnixNano()
	for _, stages := range []string{
		"status = 777", "took_ms > 1500", "took_ms < 10", `route="/b"`, "took_ms = 7777 and status = 200", "status = 777 or took_ms >= 1010", `source="x" | status > 0`, `status = 200 and source="x"`,
		"status != 200 and status < 300", "took_ms < 12 and took_ms > 1007",
	} {
		view := w.view(storage.Access{})
		got, err := answer(t.Context(), view, parse(t, `{service_name="api"} | json | `+stages), engine.LogParams{From: from, To: to})
		if r := view.Report(); err != nil || len(got) > 0 || r.BlocksRead > 0 || r.BlocksExcluded == 0 {
			t.Errorf("%s: %d records, %d blocks read, %d excluded, error %v", stages, len(got), r.BlocksRead, r.BlocksExcluded, err)
		}
	}
	view := w.view(storage.Access{})
	expr, err := syntax.Parse(`sum by (instance, source, status) (count_over_time({instance="a-0", source=~"app.*"} | json | took_ms > 900 [1h]))`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&engine.Engine{Source: view}).Metric(t.Context(), expr.(syntax.SampleExpr), engine.MetricParams{Start: to, End: to})
	if r := view.Report(); err != nil || len(got.Series) != 4 || r.BlocksRead > 0 || r.BlocksColumns == 0 || r.BlocksExcluded == 0 {
		t.Errorf("%+v, %d blocks read, %d from columns, %d excluded, error %v", got, r.BlocksRead, r.BlocksColumns, r.BlocksExcluded, err)
	}
}

// fillJSON ships segments of messages of one kind each, with a few of others.
func (w *world) fillJSON() {
	w.t.Helper()
	used := map[int64]bool{}
	w.larger = w.rnd.IntN(2) == 0
	size := 80
	if w.larger {
		size = 200
	}
	for range 6 {
		kind, odd := w.rnd.IntN(5)%4, w.rnd.IntN(3) == 0
		hour := origin().Add(time.Duration(w.rnd.IntN(3)) * time.Hour)
		records := make([]record.Record, 1+w.rnd.IntN(size))
		for i := range records {
			at := hour.Add(time.Duration(w.rnd.Int64N(int64(10 * time.Minute))))
			for used[at.UnixNano()] {
				at = at.Add(1)
			}
			used[at.UnixNano()] = true
			text := jsonMessage(w.rnd, kind)
			if odd && w.rnd.IntN(30) == 0 {
				text = oddMessage(w.rnd)
			}
			records[i] = record.Record{Time: at.UnixNano(), Level: record.Level(w.rnd.IntN(record.Levels)), Source: pick(w.rnd, sources()), Message: []byte(text)}
		}
		w.ship(pick(w.rnd, services()), pick(w.rnd, instances()), records...)
	}
}

// jsonMessage is a message that is an object; the values of those of kind 0 are all of plain types.
func jsonMessage(rnd *rand.Rand, kind int) string {
	members := []string{
		fmt.Sprintf(`"status":%d`, 200+100*rnd.IntN(4)), fmt.Sprintf(`"route":"%s"`, pick(rnd, []string{"/a", "/b", "", `\u002fa`, "ü"})),
		fmt.Sprintf(`"took_ms":%s`, plainNumber(rnd)), fmt.Sprintf(`"wait":"%dms"`, rnd.IntN(4)), fmt.Sprintf(`"size":"%dKB"`, rnd.IntN(3)),
	}
	if kind > 0 {
		members = append(members, fmt.Sprintf(`"value":%s`, oddValue(rnd)), fmt.Sprintf(`"level":%q`, pick(rnd, []string{"error", "info"})))
	}
	if kind > 1 {
		members = append(members, `"o":{"x":1,"y":[{"z":2}]}`, fmt.Sprintf(`"a.b":%d`, rnd.IntN(3)))
		members = slices.DeleteFunc(members, func(string) bool { return rnd.IntN(8) == 0 })
	}
	if kind == 3 && rnd.IntN(20) == 0 {
		members = append(members, pick(rnd, oddMembers()))
	}
	if kind > 0 {
		rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	separator := pick(rnd, []string{",", ",", " , "})
	return "{" + strings.Join(members, separator) + "}"
}

// oddMembers are members that json finds otherwise than auto, or that are mistakes, and some that look like them.
func oddMembers() []string {
	return []string{
		`"took":{"ms":5}`, `"took.ms":6`, `"took-ms":7`, `" status ":8`, `"st\u0061tus":9`, `"status":null`, `"status":201`, `"msg":"x"`, `"5xx":1`, `"größe":1`,
		`"message":"status=207 took_ms=3"`, `"log":"{\"status\":208}"`, `"o":{"x":}`, `"o":{"x":1,}`, `"o":{,"x":1}`, `"o":[}`, `"bad":nul`, `"bad":01`, `"bad":1x`, `"":{"status":1}`,
		`"message":"one=1 two=2"`, `"deep":` + strings.Repeat(`{"a":`, 63) + "1" + strings.Repeat("}", 63), `"deep":` + strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64),
		`"o":{"x":1 "y":2}`, `"p":{,"x":1}`, `"p":{"x":1,}`, `"o":{"x":tru}`, `"o":{"x":nil}`, `"o":{"x":--1}`, `"o":{"x"}`, `"\u0020status":1`, `" status":1`, `"took":{"ms":null}`, `"took":[{"ms":1}]`, `"o":{"x":[1}]}`,
	}
}

// Where the splitter reports that values are members, json finds the same without an error.
func TestLongMembers(t *testing.T) {
	t.Parallel()
	rnd := seeded(t)
	rounds := 30_000
	if os.Getenv("LOGSTOW_LONG") != "" {
		rounds = 3_000_000
	}
	names := []string{"status", "route", "took_ms", "value", "o_x", "a_b"}
	compiled, err := pipeline.Compile([]syntax.Stage{&syntax.JSONParser{}}, nil, append([]string{labels.Error}, names...))
	if err != nil {
		t.Fatal(err)
	}
	processor, stream := compiled.Processor(), &pipeline.Stream{}
	splitter := fields.Auto().Splitter(names...)
	splitter.CheckMembers()
	same, others := 0, 0
	for range rounds {
		text := jsonMessage(rnd, rnd.IntN(4))
		for rnd.IntN(2) == 0 {
			odd := pick(rnd, oddMembers())
			if text = strings.TrimSuffix(text, "}") + "," + odd + "}"; rnd.IntN(2) == 0 {
				text = "{" + odd + "," + strings.TrimPrefix(text, "{")
			}
		}
		if rnd.IntN(10) == 0 {
			text = oddMessage(rnd)
		}
		splitter.Split([]byte(text))
		values := splitter.Values()
		if !splitter.Members() {
			others++
			continue
		}
		same++
		processor.Process(0, []byte(text), stream)
		if e := processor.Get(labels.ErrorDetails); e != "" {
			t.Fatalf("%s: %s", text, e)
		}
		for i, name := range names {
			want := strings.ToValidUTF8(string(values[i].Text), "\ufffd")
			if values[i].Kind == field.Null || values[i].Kind == field.Composite {
				want = ""
			}
			if got := processor.Get(name); got != want && strings.ToValidUTF8(got, "\ufffd") != want {
				t.Fatalf("%s: label %s is %q, the member %q", text, name, got, want)
			}
		}
	}
	t.Logf("%d messages are their members, %d are not", same, others)
	if same < rounds/10 || others < rounds/10 {
		t.Error("the messages do not show much")
	}
}

// plainNumber is a number, most often one of many.
func plainNumber(rnd *rand.Rand) string {
	return pick(rnd, []string{fmt.Sprint(rnd.IntN(1_000_000)), fmt.Sprint(rnd.IntN(1_000_000)), fmt.Sprintf("%.3f", rnd.Float64()*100), fmt.Sprint(rnd.IntN(3)), "-7", "0"})
}

// oddValue is a value that types and ways of writing make difficult.
func oddValue(rnd *rand.Rand) string {
	return pick(rnd, []string{
		"1", "1.0", "1e0", "-0", "-0.0", "0", "0.1", "0.10", "12345678901234567", "9007199254740993", "123456789012345678", "18446744073709551616", "1e400", "-9223372036854775808", "0.000000001",
		"null", "true", "false", `"7"`, `"007"`, `"0x1F"`, `"NaN"`, `"inf"`, `"1_000"`, `""`, `" 5"`, `"a\"b"`, `"\ud83d\ude00"`, `"\ud83d"`, "\"\xff\"", `"5s"`,
		"1", "2", "3", "4.5", "2", fmt.Sprint(rnd.IntN(1_000_000)), fmt.Sprint(rnd.IntN(1_000_000)), fmt.Sprint(rnd.IntN(1_000_000)),
	})
}

// oddMessage is a message that json does not parse, or parses otherwise than auto.
func oddMessage(rnd *rand.Rand) string {
	return pick(rnd, []string{
		"status=500 route=/a took_ms=3", "plain text", "", "[]", "{}", "null", `x {"status":500}`, `{"status":500,"route":"/a"`, `{"status":500} x`, ` {"status":500,"took_ms":1}`, `{,"status":500}`,
		`{"status":500,"took_ms":1,}`, `{"status":500,"took_ms":1}}`, `{"status":500 "took_ms":1}`, `{"log":"status=500 took_ms=4"}`, "{\"status\":500,\n\"took_ms\":2}", `{"status":500,"took_ms":2} `,
		`{"__error__":"x","status":500}`, `{"service_name":"x","instance":"y","status":500}`, `{"status":{"x":1},"took_ms":1}`, `{"status":[1],"took_ms":1}`,
		`192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 500 17`, `192.0.2.7 - - [20/Nov/2026:15:04:05 +0000] "GET /b HTTP/1.1" 200 - "-" "curl"`,
	})
}

// columnsCondition is a condition on labels.
func columnsCondition(rnd *rand.Rand) string {
	if rnd.IntN(4) == 0 { // all numbers of a block are on one side of a bound, or not
		return fmt.Sprintf("%s %s %s", pick(rnd, []string{"took_ms", "took_ms", "value"}), pick(rnd, []string{"<", "<=", "=", "!=", ">", ">="}),
			pick(rnd, []string{"-8", "-7", "-6", "0", "2", "50", "5000", "999000", "1000000"}))
	}
	if rnd.IntN(2) == 0 {
		return pick(rnd, []string{"status >= 500", "status=200", `status="200"`, "took_ms > 100", "took_ms < 0", "took_ms = -7", `route="/a" or status=500`, `level="error"`, "took_ms > 999000"})
	}
	return pick(rnd, []string{
		"status >= 400", "status=200", `status="200"`, `status!=300, route=~"/.*"`, `route="/a" or status=500`, `route=""`, `route!~".+"`, "took_ms > 100", "took_ms >= 0.5 and took_ms <= 1000",
		`value=1`, `value="1"`, `value > 2`, `value="true"`, `value!=""`, `wait > 1ms`, "size >= 1KB", `level="error"`, `level=~"err.*|unknown"`, `detected_level!="info"`, `__error__=""`,
		`__error__!="LabelFilterErr"`, `missing=""`, `level_extracted="error"`, `source="app.log"`, `instance="b"`, `service_name="api"`, `route=ip("10.0.0.0/8")`, `o_x=1`, `a_b > 0`,
	})
}

func columnsSelector(rnd *rand.Rand) string {
	return pick(rnd, []string{`{service_name=~"api|web|db-1"}`, `{service_name=~".+"}`, `{service="api"}`, `{service_name=~".+",level=~"error|warn|unknown"}`, `{service_name=~".+",instance!="b"}`, `{service_name=~".+",source!="app.log"}`, `{service_name=~".+",source=~"a.*|x.*|",instance=~"a-.*"}`})
}

// columnsStages are a parser and up to n other stages.
func columnsStages(rnd *rand.Rand, n int) []string {
	condition := func() string { return columnsCondition(rnd) }
	stages := []string{pick(rnd, []string{"| json", "| json", "| json", "| json", "| json", "| json", "| logfmt", `| json status="status"`, `|= "status" | json`})}
	for range n {
		stages = append(stages, pick(rnd, []string{
			"| " + condition(), "| " + condition(), "| " + condition(), `| __error__=""`, "| drop __error__, __error_details__", `| drop value="1"`, "| keep status, route", `| label_format r=route`,
			`| label_format status="{{.status}}x"`, "| drop route",
		}))
	}
	if rnd.IntN(12) == 0 {
		stages = slices.Insert(stages, 0, pick(rnd, []string{"| level > 5", "| drop level", "| status=500", "| decolorize"}))
	}
	return stages
}

// columnsQuery is a random metric query, most often one that columns answer.
func columnsQuery(rnd *rand.Rand) string {
	if rnd.IntN(3) > 0 {
		return easyQuery(rnd)
	}
	condition := func() string { return columnsCondition(rnd) }
	selector, stages := columnsSelector(rnd), columnsStages(rnd, rnd.IntN(3))
	by := pick(rnd, []string{"status", "status", "status", "route,status", "level", "level,status", "", "status,detected_level", "service", "service_name", "", "value", "level,value", "instance", "missing", "level_extracted", "r", "took_ms"})
	window := pick(rnd, []string{"1h", "3h", "5m", "7s", "1500ms", "90s"})
	logs := selector + " " + strings.Join(stages, " ")
	if rnd.IntN(2) == 0 {
		op := pick(rnd, []string{"count_over_time", "count_over_time", "rate", "bytes_over_time", "absent_over_time"})
		inner := fmt.Sprintf("%s(%s [%s])", op, logs, window)
		if op == "absent_over_time" {
			return inner
		}
		return pick(rnd, []string{fmt.Sprintf("sum by (%s) (%s)", by, inner), fmt.Sprintf("sum by (%s) (%s)", by, inner), fmt.Sprintf("sum(%s)", inner), fmt.Sprintf("max without (%s) (%s)", by, inner)})
	}
	op := pick(rnd, []string{
		"sum_over_time(", "avg_over_time(", "min_over_time(", "max_over_time(", "stddev_over_time(", "stdvar_over_time(", "quantile_over_time(0.9,", "first_over_time(", "last_over_time(", "rate(",
		"rate_counter(",
	})
	unwrap := pick(rnd, []string{"took_ms", "took_ms", "took_ms", "value", "status", "duration(wait)", "bytes(size)", "duration(value)", "missing"})
	unwrap += pick(rnd, []string{"", "", ` | __error__=""`, " | " + condition()})
	inner := fmt.Sprintf("%s%s | unwrap %s [%s])", op, logs, unwrap, window)
	if strings.HasPrefix(op, "rate") || strings.HasPrefix(op, "sum") || rnd.IntN(2) == 0 {
		return fmt.Sprintf("sum by (%s) (%s)", by, inner)
	}
	return fmt.Sprintf("%s by (%s)", inner, by)
}

// easyQuery is a metric query that columns answer, if they have its fields.
func easyQuery(rnd *rand.Rand) string {
	stages := pick(rnd, []string{`{service_name=~".+"}`, columnsSelector(rnd)}) + " | json"
	for range rnd.IntN(3) {
		stages += " | " + pick(rnd, []string{
			"status >= 400", "status=200", `status="200"`, `route!=""`, "took_ms > 100", "took_ms < 5 or route=\"/b\"", `value > 2`, `value="1"`, `value=~"[0-9]+"`, `__error__=""`, `level="error"`,
			"drop route", "label_format route=status", `keep status, took_ms, value="1"`, "wait > 1ms", "size >= 1KB", `source!="x=1|2"`, `instance="b" or status=200`, "drop source",
		})
	}
	by := pick(rnd, []string{"status", "route, status", "instance", "instance, status", "level, source, instance", "source", "level", "level, status", "value", "service_name", ""})
	window := pick(rnd, []string{"3h", "5m", "1h"})
	if rnd.IntN(2) == 0 {
		return fmt.Sprintf("sum by (%s) (count_over_time(%s [%s]))", by, stages, window)
	}
	op := pick(rnd, []string{"sum_over_time(", "avg_over_time(", "min_over_time(", "max_over_time(", "stddev_over_time(", "quantile_over_time(0.9,", "quantile_over_time(0,"})
	unwrap := pick(rnd, []string{"took_ms", "took_ms", "value", "status", "duration(wait)", "bytes(size)"}) + pick(rnd, []string{"", ` | __error__=""`, " | took_ms < 100"})
	grouping := "by (" + by + ")"
	if op == "sum_over_time(" {
		return fmt.Sprintf("sum %s (%s%s | unwrap %s [%s]))", grouping, op, stages, unwrap, window)
	}
	return fmt.Sprintf("%s%s | unwrap %s [%s]) %s", op, stages, unwrap, window, grouping)
}

func columnsParams(rnd *rand.Rand) engine.MetricParams {
	end := origin().Add(time.Duration(rnd.IntN(3*60)) * time.Minute).UnixNano()
	switch rnd.IntN(4) {
	case 0:
		return engine.MetricParams{Start: end, End: end}
	case 1:
		end = origin().Add(3*time.Hour).UnixNano() + rnd.Int64N(1e10)
		return engine.MetricParams{Start: end, End: end}
	}
	p := engine.MetricParams{Start: origin().UnixNano(), End: origin().Add(3 * time.Hour).UnixNano(), Step: pick(rnd, []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 61500 * time.Millisecond})}
	if rnd.IntN(4) == 0 {
		p.Start += rnd.Int64N(1e9)
	}
	return p
}
