package storage_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/message"
	fields "logstow/message/parse"
	"logstow/query"
	"logstow/record"
)

// Metric queries over lines of JSON and of logfmt have the same results with columns, without them, and over the records in memory.
func TestLongColumns(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many queries")
	rnd := testrand.New(t)
	rounds, queries := effort.Cases{Test: 3, Full: 8, Long: 600}.N(), 60 // fewer miss a way
	var fromColumns, fromText, failed, found int64
	ofForm := map[message.Form]int64{}
	for round := range rounds {
		w := newWorld(t, rnd)
		form := forms()[round%2]
		w.fillFields(form)
		if round < 2 || rnd.IntN(3) == 0 { // one of each form at least
			w.compact()
		}
		for range queries {
			text := columnsQuery(rnd, form)
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
					ofForm[form] += r.BlocksColumns
				}
			}
			if wantErr != nil {
				failed++
			} else {
				found += int64(len(want.Series))
			}
		}
	}
	t.Logf("%d blocks from columns, by form %v, %d from text, %d queries failed, %d series", fromColumns, ofForm, fromText, failed, found)
	if ofForm[message.ObjectForm] == 0 || ofForm[message.PairsForm] == 0 || fromText == 0 || failed == 0 || found == 0 {
		t.Error("one of the ways was not taken")
	}
}

// Log queries leave out blocks by columns, and find the same.
func TestLongColumnsPrune(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "needs many queries to take each way")
	rnd := testrand.New(t)
	rounds, queries := effort.Cases{Test: 1, Full: 6, Long: 600}.N(), effort.Cases{Test: 30, Full: 60}.N()
	var excluded, read int64
	found := 0
	for round := range rounds {
		w := newWorld(t, rnd)
		form := forms()[round%2]
		w.fillFields(form)
		if rnd.IntN(3) == 0 {
			w.compact()
		}
		for range queries {
			text := columnsSelector(rnd) + " " + strings.Join(columnsStages(rnd, form, 1+rnd.IntN(3)), " ")
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
	for _, form := range forms() {
		testNothingFound(t, form)
	}
}

func testNothingFound(t *testing.T, form message.Form) {
	t.Helper()
	line, parser := `{"status":%d,"took_ms":%d,"route":"/a","http":{"request":{"method":"GET"},"user.id":7}}`, " | json | "
	if form == message.PairsForm {
		line, parser = `status=%d took_ms=%d route="/a" http.request.method=GET http.user_id=7 at a word`, " | logfmt | "
	}
	w := newWorld(t, testrand.New(t))
	w.columnar, w.larger = true, true
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprintf(line, 200+100*(i%4), 10+i)
	}
	shipLines(w, lines...)
	from, to := origin().UnixNano(), origin().Add(time.Hour).UnixNano()
	for _, stages := range []string{
		"status = 777", "took_ms > 1500", "took_ms < 10", `route="/b"`, "took_ms = 7777 and status = 200", "status = 777 or took_ms >= 1010", `source="x" | status > 0`, `status = 200 and source="x"`,
		"status != 200 and status < 300", "took_ms < 12 and took_ms > 1007",
		`http_request_method="POST"`, "http_user_id > 7 and status = 200",
	} {
		view := w.view(storage.Access{})
		got, err := answer(t.Context(), view, parse(t, `{service_name="api"}`+parser+stages), engine.LogParams{From: from, To: to})
		if r := view.Report(); err != nil || len(got) > 0 || r.BlocksRead > 0 || r.BlocksExcluded == 0 {
			t.Errorf("%s: %d records, %d blocks read, %d excluded, error %v", stages, len(got), r.BlocksRead, r.BlocksExcluded, err)
		}
	}
	view := w.view(storage.Access{})
	expr, err := syntax.Parse(`sum by (instance, source, status, http_request_method) (count_over_time({instance="a-0", source=~"app.*"}` + parser + `took_ms > 900 [1h]))`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&engine.Engine{Source: view}).Metric(t.Context(), expr.(syntax.SampleExpr), engine.MetricParams{Start: to, End: to})
	if r := view.Report(); err != nil || len(got.Series) != 4 || r.BlocksRead > 0 || r.BlocksColumns == 0 || r.BlocksExcluded == 0 {
		t.Errorf("%+v, %d blocks read, %d from columns, %d excluded, error %v", got, r.BlocksRead, r.BlocksColumns, r.BlocksExcluded, err)
	}
}

// A named column of more values than a dictionary has gives the same results as the text, in filters and groups.
func TestColumnOfManyValues(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Test, "many values")
	rnd := testrand.New(t)
	w := newWorld(t, rnd)
	records := make([]record.Record, 1200)
	for i := range records {
		at := origin().Add(time.Duration(i)*500*time.Millisecond + 1).UnixNano()
		records[i] = record.Record{Time: at, Level: record.Info, Message: fmt.Appendf(nil, `{"user":"u%d","status":%d,"took":%d,"trace":"%016x%016x"}`, rnd.IntN(700), 200+100*rnd.IntN(4), rnd.IntN(1000), rnd.Uint64(), rnd.Uint64())}
	}
	w.ship("web", "a-0", records...)
	w.compact("user")
	var fromColumns int64
	for _, stages := range []string{``, ` | user="u7"`, ` | user=~"u7.?"`, ` | user!="u8" | status>=400`, ` | user="nobody"`, ` | took > 500 or user="u9"`, ` | took < 100`, ` | took != 7 | status < 300`} {
		for _, form := range []string{`sum by (user) (count_over_time({service_name="web"} | json%s [5m]))`, `sum(sum_over_time({service_name="web"} | json%s | unwrap took [2m]))`, `count_over_time({service_name="web"} | json%s | keep status [5m])`} {
			text := fmt.Sprintf(form, stages)
			expr, err := syntax.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			p := engine.MetricParams{Start: origin().Add(time.Minute).UnixNano(), End: origin().Add(10 * time.Minute).UnixNano(), Step: time.Minute}
			reference := w.reference()
			reference.Limits = engine.Limits{}
			want, err := reference.Metric(t.Context(), expr.(syntax.SampleExpr), p)
			if err != nil {
				t.Fatal(err)
			}
			view := w.view(storage.Access{})
			got, err := (&engine.Engine{Source: view}).Metric(t.Context(), expr.(syntax.SampleExpr), p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("%s (-in memory +stored)\n%s", text, diff)
			}
			fromColumns += view.Report().BlocksColumns
		}
	}
	if fromColumns == 0 {
		t.Error("no block was answered by columns")
	}
}

// forms are those that messages have.
func forms() []message.Form { return []message.Form{message.ObjectForm, message.PairsForm} }

// fillFields ships segments of messages of one form and kind each, with a few of others.
func (w *world) fillFields(form message.Form) {
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
			text := messageOf(w.rnd, form, kind)
			if odd && w.rnd.IntN(30) == 0 {
				text = oddMessage(w.rnd)
			}
			records[i] = record.Record{Time: at.UnixNano(), Level: record.Level(w.rnd.IntN(record.Levels)), Source: pick(w.rnd, sources()), Message: []byte(text)}
		}
		w.ship(pick(w.rnd, services()), pick(w.rnd, instances()), records...)
	}
}

// Where the splitter reports that messages have a form, its parser finds the same without an error.
func TestLongForms(t *testing.T) {
	t.Parallel()
	for form, parser := range map[message.Form]syntax.Stage{message.ObjectForm: &syntax.JSONParser{}, message.PairsForm: &syntax.LogfmtParser{}} {
		for _, names := range [][]string{
			{"status", "route", "took_ms", "value", "o_x", "a_b"}, {"status", "value", "o.x", "o.p.q", "a.b", "a.b.c"}, {"status", "o.x", "o-x", "a.b"}, {"o.p", "o", "deep.a", "wait"},
		} {
			t.Run(fmt.Sprint(map[message.Form]string{message.ObjectForm: "json", message.PairsForm: "logfmt"}[form], names), func(t *testing.T) {
				t.Parallel()
				testForm(t, form, parser, names)
			})
		}
	}
}

func testForm(t *testing.T, form message.Form, parser syntax.Stage, names []string) {
	t.Helper()
	rnd := testrand.New(t)
	rounds := effort.Cases{Short: 1000, Test: 2000, Full: 30_000, Long: 3_000_000}.N()
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = message.LabelName(name, true)
	}
	compiled, err := pipeline.Compile([]syntax.Stage{parser}, nil, append([]string{labels.Error}, all...))
	if err != nil {
		t.Fatal(err)
	}
	processor, stream := compiled.Processor(), &pipeline.Stream{}
	splitter := fields.Auto().Splitter(names...)
	splitter.CheckForm()
	same, others := 0, 0
	for range rounds {
		text := messageOf(rnd, form, rnd.IntN(4))
		for rnd.IntN(2) == 0 {
			odd := pick(rnd, oddMembers())
			switch at := rnd.IntN(2); {
			case form == message.PairsForm && at == 0:
				text += " " + pick(rnd, oddPairs())
			case form == message.PairsForm:
				text = pick(rnd, oddPairs()) + " " + text
			case at == 0:
				text = strings.TrimSuffix(text, "}") + "," + odd + "}"
			default:
				text = "{" + odd + "," + strings.TrimPrefix(text, "{")
			}
		}
		if rnd.IntN(10) == 0 {
			text = oddMessage(rnd)
		}
		splitter.Split(nil, []byte(text))
		values := splitter.Values()
		if splitter.Form() != form {
			others++
			continue
		}
		same++
		processor.Process(0, nil, []byte(text), stream)
		if e := processor.Get(labels.ErrorDetails); e != "" {
			t.Fatalf("%s: %s", text, e)
		}
		for i, name := range all {
			want := strings.ToValidUTF8(string(values[i].Text), "\ufffd")
			if values[i].Kind == message.Null || values[i].Kind == message.Composite {
				want = ""
			}
			if got := processor.Get(name); got != want && strings.ToValidUTF8(got, "\ufffd") != want {
				t.Fatalf("%s: label %s is %q, the field %q", text, name, got, want)
			}
		}
	}
	t.Logf("%d messages have the form, %d do not", same, others)
	if same < rounds/10 || others < rounds/10 {
		t.Error("the messages do not show much")
	}
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
func columnsStages(rnd *rand.Rand, form message.Form, n int) []string {
	condition := func() string { return columnsCondition(rnd) }
	parsers := []string{"| json", "| json", "| json", "| json", "| json", "| json", "| logfmt", `| json status="status"`, `|= "status" | json`}
	if form == message.PairsForm {
		parsers = []string{"| logfmt", "| logfmt", "| logfmt", "| logfmt", "| logfmt", "| logfmt", "| json", "| logfmt status", "| logfmt --strict", "| logfmt --keep-empty", `|= "status" | logfmt`}
	}
	stages := []string{pick(rnd, parsers)}
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
func columnsQuery(rnd *rand.Rand, form message.Form) string {
	if rnd.IntN(3) > 0 {
		return easyQuery(rnd, form)
	}
	condition := func() string { return columnsCondition(rnd) }
	selector, stages := columnsSelector(rnd), columnsStages(rnd, form, rnd.IntN(3))
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
func easyQuery(rnd *rand.Rand, form message.Form) string {
	parser := map[message.Form]string{message.ObjectForm: " | json", message.PairsForm: " | logfmt"}[form]
	stages := pick(rnd, []string{`{service_name=~".+"}`, columnsSelector(rnd)}) + parser
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
