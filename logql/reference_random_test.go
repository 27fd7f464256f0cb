package logql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/effort"
	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/syntax"
)

// Random queries have the results of the slow evaluator.
func TestLongRandomLogQL(t *testing.T) {
	t.Parallel()
	n := effort.Cases{Short: 10, Test: 25, Full: 200, Long: 10_000}.N()
	data := datasets()
	g := &queries{Rand: testrand.New(t)}
	kinds := map[string]int{}
	for range n {
		g.data = g.one("app", "kv", "web", "fleet")
		text := g.log()
		if g.IntN(3) > 0 {
			text = g.metric(2)
		}
		source := newMemory(data[g.data], g.IntN(2) == 0)
		if _, err := syntax.Parse(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }) {
			kinds[word]++
		}
		if err := checkQuery(source, data[g.data], query{data: g.data, text: text}); err != nil {
			t.Fatalf("over %s: %s\n%v", g.data, text, err)
		}
	}
	for _, word := range []string{
		"json", "logfmt", "regexp", "pattern", "keep", "drop", "line_format", "label_format", "unwrap", "offset",
		"rate", "quantile_over_time", "topk", "without", "group_left", "ignoring", "unless", "bool", "label_replace", "vector",
	} {
		if kinds[word] == 0 && n > 200 {
			t.Errorf("no random query has %s", word)
		}
	}
}

// queries generates queries over a dataset. They avoid comparisons whose result depends on how a float is rounded.
type queries struct {
	*rand.Rand
	data string
}

func (g *queries) one(of ...string) string { return of[g.IntN(len(of))] }

// some joins a few of the texts, in random order.
func (g *queries) some(least int, sep string, of ...string) string {
	of = slices.Clone(of)
	g.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	return strings.Join(of[:least+g.IntN(min(3, len(of)-least))], sep)
}

func (g *queries) log() string {
	stages := []string{g.selector()}
	for range g.IntN(3) {
		stages = append(stages, g.lineFilter())
	}
	if g.IntN(5) > 0 {
		stages = append(stages, g.parser())
	}
	for range g.IntN(4) {
		stages = append(stages, g.labelStage())
	}
	return strings.Join(stages, " ")
}

func (g *queries) selector() string {
	return "{" + g.one(`service_name=~".+"`, `service=~".*o.*|.*e.*"`, `level=~"info|error"`, `level!="info", instance=~".*1"`, `instance!~".*1", level=~".+"`,
		`detected_level=~"w.*|e.*|i.*"`, `source="stdout"`) + "}"
}

func (g *queries) lineFilter() string {
	text := func() string {
		return strconv.Quote(g.one("1", "GET", "msg", "=", "200", "status", "a", "id=1", "", "zzz", `"`))
	}
	switch g.IntN(6) {
	case 0:
		return g.one("|=", "!=") + " " + text() + " or " + text()
	case 1:
		return g.one("|~", "!~") + " " + g.one(`"[0-9]{3}"`, "`\\d+$`", `"(?i)MSG|get"`, `"^.[a-z]"`, `"a.*b"`, `ip("10.0.0.0/8") or "zzz"`, `"zzz" or ip("192.0.0.0/4")`)
	case 2:
		return g.one("|>", "!>") + " " + g.one(`"<_>status<_>"`, `"id=<_> shard=<_>"`, `"{<_>}"`, `"<_>GET /<_>" or "ts=<_>"`, `"s<_>s<_>"`, `"=<_> <_>"`, `"<_>1<_>1"`, `"a<_>\""`)
	default:
		return g.one("|=", "|=", "!=") + " " + text()
	}
}

func (g *queries) parser() string {
	switch g.data {
	case "app":
		return "| json" + g.one("", "", ` msg, st="status"`, ` plan="user.plan", v`, ` net="card.net", last="card.last[0]", status, took`)
	case "web":
		return g.one("| pattern `<ip> - - <_> \"<verb> <path> <_>\" <status> <_>`", "| regexp `(?P<verb>[A-Z]{3,}) (?P<path>/\\S*)`", "| pattern `<verb> <path> (<status>) <took>`",
			"| regexp `\" (?P<status>\\d+) (?P<v>\\d+)`", "| logfmt", "| logfmt --strict", "| unpack", "| json")
	}
	return "| logfmt" + g.one("", "", " --strict", " --keep-empty", " msg, st=\"status\", q", " cost, shard, v=\"id\"", " --strict status, took")
}

func (g *queries) name() string {
	return g.one("service_name", "level", "instance", "detected_level", "source", "msg", "status", "st", "v", "took", "verb", "path", "shard", "cost", "q", "user_id", "nothing", "bytes", "ip", "method")
}

func (g *queries) labelStage() string {
	switch g.IntN(10) {
	case 0:
		return "| keep " + g.some(1, ", ", "level", "instance", "msg", `status=~"2.."`, "v", "shard", `took!=""`, "source")
	case 1:
		return "| drop " + g.some(1, ", ", "msg", "took", `level="info"`, "user_id", `path!="/p/1"`, "cost", "id", "__error__, __error_details__")
	case 2:
		return "| label_format " + g.one(`a=`+g.name(), `a="{{.`+g.name()+`}}-{{.`+g.name()+`}}"`, `status="{{.status}}0", b="x"`, `level="{{.level | upper}}"`, "v=shard",
			`v="{{.status}}", status="{{.v}}"`, `msg="x", a=msg, b="{{.msg}}{{.a}}"`)
	case 3:
		return "| line_format `" + g.one("{{.msg}} {{.status}}", "{{__line__ | upper}}", "a={{.level}} b={{.nothing}}", "{{.took | default \"none\" | trunc 3}}", "{{add 1 (len .msg)}}") + "`"
	case 4:
		return "|" + g.one("=", "~", ">") + " " + g.one(`"1"`, `"GET"`, `"200" or "status"`) // behind keep and drop, != is a condition
	case 5:
		return `| __error__=""`
	default:
		return "| " + g.condition(2)
	}
}

func (g *queries) condition(depth int) string {
	if depth > 0 && g.IntN(3) == 0 {
		left, right := g.condition(depth-1), g.condition(depth-1)
		if g.IntN(3) == 0 {
			left = "(" + left + ")"
		}
		return left + g.one(" and ", " or ", ", ") + right
	}
	compare := g.one(">", ">=", "<", "<=", "=", "==", "!=")
	switch g.IntN(4) {
	case 0:
		return g.one("status", "st", "v", "cost", "q", "shard", "nothing", "msg") + compare + g.one("200", "2.5", "0", "404", "50")
	case 1:
		return "took" + compare + g.one("12ms", "1s", "0.2s", "1m")
	case 2:
		return g.one("size", "bytes") + compare + g.one("1KB", "512B", "1.5KiB", "2MB")
	default:
		return g.name() + g.one(`=""`, `!=""`, `="info"`, `=~".*1.*"`, `!~"[a-m].*"`, `="200"`)
	}
}

func (g *queries) span() string {
	return g.one("10s", "30s", "1m", "90s", "5m", "10m", "1h", "1234ms")
}

func (g *queries) offset() string {
	return g.one("", "", "", " offset 30s", " offset 5m", " offset -1m")
}

func (g *queries) window(inner string) string {
	return inner + " [" + g.span() + "]" + g.offset()
}

// metric is a query of numbers.
func (g *queries) metric(depth int) string {
	if depth == 0 || g.IntN(4) == 0 {
		return g.ranged()
	}
	inner := func() string { return g.metric(depth - 1) }
	switch g.IntN(10) {
	case 0:
		return fmt.Sprintf("%s(%d, %s)%s", g.one("topk", "bottomk"), 1+g.IntN(4), g.counted(), g.grouping())
	case 7:
		return fmt.Sprintf("approx_topk(%d, %s)", 1+g.IntN(4), g.counted())
	case 1:
		return g.one("sort", "sort_desc") + "(" + g.counted() + ")"
	case 2:
		return `label_replace(` + inner() + `, "new", "` + g.one("$1", "a-$1-$1", "x") + `", "` + g.one("level", "service_name", "msg") + `", "` + g.one("(.*)", "(.).*", "(no)") + `")`
	case 3:
		return "(" + g.counted() + ") " + g.one("+", "-", "*", ">", "<", "==", "!=", ">= bool", "%") + " " + g.one("2", "1.5", "0", "-3", "vector(2)")
	case 4:
		return "sum by (service_name, level) (" + g.counted() + ") " + g.one("+", "*", "-", ">", "<= bool") + g.one(" on (service_name) group_left ", " ignoring (level) group_left ", " ignoring (level) ", " on (service_name) ") +
			"sum by (service_name) (" + g.counted() + ")"
	case 5:
		return "sum by (service_name, level) (" + g.counted() + ") " + g.one("and", "or", "unless") + g.one("", " on (level)", " ignoring (service_name)", " on ()", " on (level) group_left ") + " sum by (level) (" + g.counted() + ")"
	case 6:
		return g.one("stddev", "stdvar") + "(" + g.counted() + ")" + g.grouping()
	default:
		return g.one("sum", "avg", "min", "max", "count") + "(" + inner() + ")" + g.grouping()
	}
}

func (g *queries) grouping() string {
	if g.IntN(4) == 0 {
		return ""
	}
	return g.one(" by (", " without (") + g.some(0, ", ", "service_name", "level", "instance", "source", "detected_level", "msg", "status", "verb", "method", "shard") + ")"
}

// counted is a vector of whole numbers.
func (g *queries) counted() string {
	return g.one("count_over_time(", "bytes_over_time(") + g.window(g.log()) + ")"
}

func (g *queries) ranged() string {
	if g.IntN(2) == 0 {
		return g.one("count_over_time(", "rate(", "bytes_over_time(", "bytes_rate(", "absent_over_time(") + g.window(g.log()) + ")"
	}
	unwrap := g.log() + " | unwrap " + g.one("status", "v", "q", "cost", "id", "shard", "duration(took)", "duration_seconds(took)", "bytes(size)", "bytes(bytes)", "temp") + g.one("", ` | __error__=""`, ` | __error__="" | level="info"`)
	if g.IntN(3) == 0 {
		return g.one("sum_over_time(", "rate(", "absent_over_time(") + g.window(unwrap) + ")"
	}
	quantile := "quantile_over_time(" + g.one("0", "0.5", "0.99", "1") + ", "
	return g.one("avg_over_time(", "max_over_time(", "min_over_time(", "first_over_time(", "last_over_time(", "stdvar_over_time(", "stddev_over_time(", quantile) + g.window(unwrap) + ")" + g.grouping()
}

// Whatever the query is, evaluating it does not panic, and takes bounded time and memory.
func FuzzEvaluate(f *testing.F) {
	for _, c := range slices.Concat(logQueries(), templateQueries(), metricQueries()) {
		f.Add(c.text)
	}
	for text := range strings.Lines(invalidQueries) {
		f.Add(strings.TrimSpace(text))
	}
	var records []*refRecord
	for _, name := range []string{"app", "kv", "misc"} {
		for i, r := range datasets()[name][:10] {
			again := *r
			again.At = time.Duration(len(records)*7+i) * time.Second
			records = append(records, &again)
		}
	}
	sources := []engine.Source{newMemory(records, false), newMemory(records, true)}
	f.Fuzz(func(t *testing.T, text string) {
		expr, err := syntax.Parse(text)
		if err != nil {
			return
		}
		const most = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), most)
		defer cancel()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		for _, source := range sources {
			e := &engine.Engine{Source: source, Limits: engine.Limits{Series: 50, Points: 100, Memory: 4 << 20}}
			if log, ok := expr.(*syntax.LogExpr); ok {
				_ = e.Logs(ctx, log, engine.LogParams{From: minutes(0), To: minutes(10)}, func(*engine.Entry) error { return nil })
				continue
			}
			for _, p := range metricTimes()[3:5] {
				_, _ = e.Metric(ctx, expr.(syntax.SampleExpr), p)
			}
		}
		runtime.ReadMemStats(&after)
		if took := time.Since(began); took >= most {
			t.Errorf("took %v: %s", took, text)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<30 {
			t.Errorf("allocated %d MiB: %s", allocated>>20, text)
		}
	})
}
