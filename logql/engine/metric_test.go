package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/syntax"
)

// example has two services: web logs 1 to 6 every 10 s, and db 10 at 5 s, 40 at 25 s and 20 at 45 s. Values are labels.
func example() *memory {
	m := &memory{}
	for i := range 6 {
		m.add(float64(i*10), fmt.Sprintf("service_name=web,level=info,v=%d|source=s%d,detected_level=info", i+1, i%2), strings.Repeat("x", i))
	}
	m.add(5, "service_name=db,level=error,v=10|detected_level=error", "slow")
	m.add(25, "service_name=db,level=error,v=40|detected_level=error", "slow query")
	m.add(45, "service_name=db,level=info,v=20|detected_level=info", "fast")
	return m
}

const all = `{service_name=~".+"}`

// TestMetric is a table of all functions and operators with results computed by hand.
func TestMetric(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, when, want string }{
		// Windows begin behind their start and end at their end.
		{`sum(count_over_time(` + all + `[20s]))`, "20 60 20", "{} 20:3 40:3 60:2\n"},
		{`sum(count_over_time({service_name="web"}[20s]))`, "0 60 10", "{} 0:1 10:2 20:2 30:2 40:2 50:2 60:1\n"},
		{`sum(count_over_time({service_name="web"}[20s] offset 10s))`, "0 60 20", "{} 20:2 40:2 60:2\n"},
		{`sum(count_over_time({service_name="web"}[20s] offset -10s))`, "0 60 20", "{} 0:2 20:2 40:2\n"},
		{`sum(count_over_time({service_name="web"}[5s]))`, "0 60 15", "{} 0:1 30:1\n"},
		{`sum(rate({service_name="web"}[20s]))`, "40", "{} 40:0.1\n"},
		{`sum by (service_name) (rate(` + all + `[1m]))`, "59", "{service_name=\"db\"} 59:0.05\n{service_name=\"web\"} 59:0.1\n"},
		{`sum by (service) (rate(` + all + `[1m]))`, "59", "{service=\"db\"} 59:0.05\n{service=\"web\"} 59:0.1\n"},
		{`sum by (service, service_name) (rate({service_name="db"}[1m]))`, "60", "{service=\"db\", service_name=\"db\"} 60:0.05\n"},
		{`sum(bytes_over_time({service_name="web"}[1m]))`, "60", "{} 60:15\n"},
		{`sum(bytes_rate({service_name="web"}[1m]))`, "60", "{} 60:0.25\n"},
		{`sum(bytes_over_time({service_name="web"}[10s]))`, "10", "{} 10:1\n"},
		{`absent_over_time({service_name="web", level!="x", level="y"}[10s])`, "10 30 10", "{service_name=\"web\"} 10:1 20:1 30:1\n"},
		{`absent_over_time({service_name="web"}[20s])`, "20 100 20", "{service_name=\"web\"} 80:1 100:1\n"},
		{`absent_over_time({service_name=~"web"}[20s])`, "100", "{} 100:1\n"},
	} {
		if got := metric(t, example(), engine.DefaultLimits(), c.query, c.when); got != c.want {
			t.Errorf("%s at %s:\n%swant\n%s", c.query, c.when, got, c.want)
		}
	}
}

// TestUnwrapped is a table of the functions of unwrapped samples.
func TestUnwrapped(t *testing.T) {
	t.Parallel()
	web, db := `({service_name="web"} | unwrap v [1m])`, `({service_name="db"} | unwrap v [1m]) by (service_name)`
	for _, c := range []struct{ query, want string }{
		{`sum(sum_over_time` + web + `)`, "{} 60:20\n"},
		{`sum(rate` + web + `)`, "{} 60:0.3333333333333333\n"},
		{`max_over_time` + db, "{service_name=\"db\"} 60:40\n"},
		{`min_over_time` + db, "{service_name=\"db\"} 60:10\n"},
		{`first_over_time` + db, "{service_name=\"db\"} 60:10\n"},
		{`last_over_time` + db, "{service_name=\"db\"} 60:20\n"},
		{`avg_over_time` + db, "{service_name=\"db\"} 60:23.333333333333332\n"},
		{`stdvar_over_time` + db, "{service_name=\"db\"} 60:155.55555555555554\n"},
		{`stddev_over_time` + db, "{service_name=\"db\"} 60:12.47219128924647\n"},
		{`quantile_over_time(0.5, {service_name="db"} | unwrap v [1m]) by (service_name)`, "{service_name=\"db\"} 60:20\n"},
		{`quantile_over_time(0.75, {service_name="db"} | unwrap v [1m]) by ()`, "{} 60:30\n"},
		{`quantile_over_time(2, {service_name="db"} | unwrap v [1m]) by ()`, "{} 60:+Inf\n"},
		{`max by (level) (max_over_time({service_name="db"} | unwrap v [1m]))`, "{level=\"error\"} 60:40\n{level=\"info\"} 60:20\n"},
		{`sum(sum_over_time({service_name="db"} | unwrap v | v > 10 [1m]))`, "{} 60:60\n"},
		{`max(max_over_time({service_name="db"} | unwrap v [1m]))`, "{} 60:40\n"},
		{`min(min_over_time({service_name="db"} | unwrap v [1m]))`, "{} 60:10\n"},
		{`max(min_over_time({service_name="db"} | unwrap v [1m]))`, "{} 60:20\n"},
		{`avg_over_time({service_name="db"} | unwrap v [1m]) without (service_name)`, "{level=\"error\"} 60:25\n{level=\"info\"} 60:20\n"},
		{`last_over_time({service_name="db"} | unwrap v [1m])`, "{level=\"error\", service_name=\"db\"} 60:40\n{level=\"info\", service_name=\"db\"} 60:20\n"},
		{`sum by (source) (sum_over_time({service_name="web"} | unwrap v [1m]))`, "{source=\"s0\"} 60:8\n{source=\"s1\"} 60:12\n"},
		{`absent_over_time({service_name="db"} | unwrap none [1m])`, "{service_name=\"db\"} 60:1\n"},
	} {
		if got := metric(t, example(), engine.DefaultLimits(), c.query, "60"); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.query, got, c.want)
		}
	}
}

// TestRateCounter checks the increase of counters: 10, 40, a reset to 20, 50.
func TestRateCounter(t *testing.T) {
	t.Parallel()
	m := &memory{}
	for i, v := range []int{10, 40, 20, 50} {
		m.add(float64(10*i), fmt.Sprintf("s=a,v=%d", v), "")
	}
	for when, want := range map[string]string{
		// Increase 50 in 20 s of samples. The window begins at the first one, which it excludes, and ends 10 s behind the last one.
		"40": "{s=\"a\"} 40:2.5\n",
		// 30 in 10 s; 5 s at the end, and no more than 3.33 s at the beginning, where the counter was 0.
		"15": "{s=\"a\"} 15:1.375\n",
		// 30 in 10 s; the window ends far behind: half of the distance of samples on that side, and 5 s at the beginning.
		"55": "{s=\"a\"} 55:1.5\n",
		"5":  "{s=\"a\"} 5:0\n", // one sample
	} {
		if got := metric(t, m, engine.DefaultLimits(), `rate_counter({s="a"} | unwrap v [40s])`, when); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
}

// vectors has series by labels with the value v, as sum by (…) (sum_over_time(… | unwrap v [1m])) has them at 60 s.
func vectors(series ...string) *memory {
	m := &memory{}
	for _, s := range series {
		m.add(30, s, "")
	}
	return m
}

func v(selector string, by ...string) string {
	return `sum by (` + strings.Join(by, ",") + `) (sum_over_time({` + selector + `} | unwrap v [1m]))`
}

// TestVectors is a table of operators.
func TestVectors(t *testing.T) {
	t.Parallel()
	src := vectors(
		"s=a,x=1,y=p,v=10", "s=a,x=2,y=p,v=20", "s=a,x=3,y=q,v=-5",
		"s=b,x=1,v=2", "s=b,x=2,v=0", "s=b,x=4,v=7",
		"s=n,x=1,v=NaN", "s=n,x=2,v=1", "s=n,x=3,v=+Inf",
		"s=c,y=p,z=P,v=100", "s=c,y=q,z=Q,v=1000",
		"s=d,x=1,y=p,v=1", "s=d,x=2,y=p,v=2",
	)
	a, b, n, c, d := v(`s="a"`, "x", "y"), v(`s="b"`, "x"), v(`s="n"`, "x"), v(`s="c"`, "y", "z"), v(`s="d"`, "x", "y")
	for _, test := range []struct{ query, want string }{
		{`sum(` + a + ` > -100)`, "{} 25"},
		{`sum by (y) (` + a + ` > -100)`, `{y="p"} 30 {y="q"} -5`},
		{`sum without (x) (` + a + ` > -100)`, `{y="p"} 30 {y="q"} -5`},
		{`avg by (y) (` + a + `)`, `{y="p"} 15 {y="q"} -5`},
		{`count by (y) (` + a + `)`, `{y="p"} 2 {y="q"} 1`},
		{`min(` + a + `)`, `{} -5`},
		{`max(` + a + `)`, `{} 20`},
		{`stddev by (y) (` + a + `)`, `{y="p"} 5 {y="q"} 0`},
		{`stdvar by (y) (` + a + `)`, `{y="p"} 25 {y="q"} 0`},
		{`max(` + n + `)`, `{} +Inf`},
		{`min(` + n + `)`, `{} 1`},
		{`sum(` + n + `)`, `{} NaN`},
		{`count(` + n + `)`, `{} 3`},
		{`topk(2, ` + a + `)`, `{x="2", y="p"} 20 {x="1", y="p"} 10`},
		{`topk by (y) (1, ` + a + `)`, `{x="2", y="p"} 20 {x="3", y="q"} -5`},
		{`bottomk(2, ` + a + `)`, `{x="3", y="q"} -5 {x="1", y="p"} 10`},
		{`topk(2, ` + n + `)`, `{x="3"} +Inf {x="2"} 1`},
		{`bottomk(2, ` + n + `)`, `{x="2"} 1 {x="3"} +Inf`},
		{`bottomk(3, ` + n + `)`, `{x="2"} 1 {x="3"} +Inf {x="1"} NaN`},
		{`sort(` + n + `)`, `{x="2"} 1 {x="3"} +Inf {x="1"} NaN`},
		{`sort_desc(` + n + `)`, `{x="3"} +Inf {x="2"} 1 {x="1"} NaN`},
		{`sum(sort_desc(` + a + `))`, `{} 25`},

		{a + ` + 1`, `{x="1", y="p"} 11 {x="2", y="p"} 21 {x="3", y="q"} -4`},
		{`1 - ` + b, `{x="1"} -1 {x="2"} 1 {x="4"} -6`},
		{`1 / ` + b, `{x="1"} 0.5 {x="2"} +Inf {x="4"} 0.14285714285714285`},
		{b + ` % 0`, `{x="1"} NaN {x="2"} NaN {x="4"} NaN`},
		{b + ` % 4`, `{x="1"} 2 {x="2"} 0 {x="4"} 3`},
		{`2 ^ ` + b, `{x="1"} 4 {x="2"} 1 {x="4"} 128`},
		{b + ` > 1`, `{x="1"} 2 {x="4"} 7`},
		{`1 < ` + b, `{x="1"} 2 {x="4"} 7`},
		{b + ` == bool 2`, `{x="1"} 1 {x="2"} 0 {x="4"} 0`},
		{`2 <= bool ` + b, `{x="1"} 1 {x="2"} 0 {x="4"} 1`},
		{n + ` >= 1`, `{x="2"} 1 {x="3"} +Inf`},
		{n + ` != 1`, `{x="1"} NaN {x="3"} +Inf`},

		{b + ` + ` + n, `{x="1"} NaN {x="2"} 1`},
		{b + ` - on (x) ` + a, `{x="1"} -8 {x="2"} -20`},
		{a + ` - ignoring (y) ` + b, `{x="1"} 8 {x="2"} 20`},
		{a + ` - ` + b, ``},
		{a + ` - ` + d, `{x="1", y="p"} 9 {x="2", y="p"} 18`},
		{a + ` < ` + d, ``},
		{a + ` > ` + d, `{x="1", y="p"} 10 {x="2", y="p"} 20`},
		{a + ` > bool ` + d, `{x="1", y="p"} 1 {x="2", y="p"} 1`},
		{a + ` + on (y) group_left ` + c, `{x="1", y="p"} 110 {x="2", y="p"} 120 {x="3", y="q"} 995`},
		{a + ` + on (y) group_left (z) ` + c, `{x="1", y="p", z="P"} 110 {x="2", y="p", z="P"} 120 {x="3", y="q", z="Q"} 995`},
		{c + ` - on (y) group_right (z) ` + a, `{x="1", y="p", z="P"} 90 {x="2", y="p", z="P"} 80 {x="3", y="q", z="Q"} 1005`},
		{c + ` > on (y) group_right () ` + a, `{x="1", y="p"} 100 {x="2", y="p"} 100 {x="3", y="q"} 1000`},
		{`sum(` + a + `) / sum(` + b + `)`, `{} 2.7777777777777777`},

		{a + ` and on (x) ` + b, `{x="1", y="p"} 10 {x="2", y="p"} 20`},
		{a + ` unless on (x) ` + b, `{x="3", y="q"} -5`},
		{a + ` or on (x) ` + b, `{x="1", y="p"} 10 {x="2", y="p"} 20 {x="3", y="q"} -5 {x="4"} 7`},
		{a + ` and ` + b, ``},
		{b + ` or ` + n, `{x="1"} 2 {x="2"} 0 {x="3"} +Inf {x="4"} 7`},
		{a + ` or vector(1)`, `{} 1 {x="1", y="p"} 10 {x="2", y="p"} 20 {x="3", y="q"} -5`},
		{`vector(1) + vector(1)`, `{} 2`},

		{`label_replace(` + b + `, "z", "<$1>", "x", "([12])")`, `{x="1", z="<1>"} 2 {x="2", z="<2>"} 0 {x="4"} 7`},
		{`label_replace(` + b + `, "x", "", "x", "1")`, `{} 2 {x="2"} 0 {x="4"} 7`},
		{`label_replace(` + b + `, "z", "none", "q", "")`, `{x="1", z="none"} 2 {x="2", z="none"} 0 {x="4", z="none"} 7`},

		{`label_replace(` + b + `, "x", "", "x", ".*")`, `error: invalid query: label_replace makes two series with the labels {}`},
		{a + ` + on (y) ` + c, `error: invalid query: multiple matches for labels {y="p"} of +: many-to-one matching must be explicit (group_left or group_right)`},
		{c + ` + on (y) ` + a, `error: invalid query: found duplicate series for the match group {y="p"} on the right side of +: {x="1", y="p"} and {x="2", y="p"}; many-to-many matching is not allowed: labels must be unique on one side`},
		{a + ` + on (y) group_right ` + c, `error: invalid query: found duplicate series for the match group {y="p"} on the left side of +: {x="1", y="p"} and {x="2", y="p"}; many-to-many matching is not allowed: labels must be unique on one side`},
		{a + ` + on (y) group_left (x) ` + c, `error: invalid query: multiple matches for labels {y="p"} of +: grouping labels must ensure unique matches`},
	} {
		got := metric(t, src, engine.DefaultLimits(), test.query, "60")
		got = strings.TrimSpace(strings.NewReplacer(" 60:", " ", "\n", " ").Replace(got))
		if got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.query, got, test.want)
		}
	}
}

// TestPipelines checks metric queries of parsed lines: their labels, errors and groups.
func TestPipelines(t *testing.T) {
	t.Parallel()
	m := &memory{}
	m.add(1, "service_name=web,level=info|detected_level=info,source=f", `{"route":"/a","took":3,"service":"x","size":"1KB"}`)
	m.add(2, "service_name=web,level=info|detected_level=info,source=f", `{"route":"/b","took":5,"size":"2KB"}`)
	bad := &memory{records: append([]engine.Record(nil), m.records...)}
	bad.add(3, "service_name=web,level=warn", `no json`)
	web := `{service_name="web"}`
	for _, c := range []struct {
		src         *memory
		query, want string
	}{
		{m, `count_over_time(` + web + ` | json | drop size, took [1m])`, "{level=\"info\", route=\"/a\", service=\"x\", service_name=\"web\"} 60:1\n{level=\"info\", route=\"/b\", service_name=\"web\"} 60:1\n"},
		{m, `sum by (service) (count_over_time(` + web + ` | json [1m]))`, "{service=\"web\"} 60:1\n{service=\"x\"} 60:1\n"},
		{m, `count by (service) (count_over_time(` + web + ` | json [1m]))`, "{service=\"web\"} 60:1\n{service=\"x\"} 60:1\n"},
		{m, `sum without (service, level) (count_over_time(` + web + ` | json | keep level [1m]))`, "{} 60:2\n"},
		{m, `sum by (route) (sum_over_time(` + web + ` | json | unwrap took [1m]))`, "{route=\"/a\"} 60:3\n{route=\"/b\"} 60:5\n"},
		{m, `sum by (took) (sum_over_time(` + web + ` | json | unwrap took [1m]))`, "{took=\"3\"} 60:3\n{took=\"5\"} 60:5\n"},
		{m, `max_over_time(` + web + ` | json | unwrap took [1m]) by (service_name, source)`, "{service_name=\"web\", source=\"f\"} 60:5\n"},
		{m, `sum_over_time(` + web + ` | json s="size" | unwrap bytes(s) [1m])`, "{level=\"info\", service_name=\"web\"} 60:3000\n"},
		{m, `count_over_time(` + web + ` | source="f" [1m])`, "{level=\"info\", service_name=\"web\", source=\"f\"} 60:2\n"},
		{m, `count_over_time(` + web + ` | label_format src="{{.source}}" [1m])`, "{level=\"info\", service_name=\"web\", source=\"f\", src=\"f\"} 60:2\n"},
		{m, `count_over_time(` + web + ` | detected_level="info" [1m])`, "{detected_level=\"info\", level=\"info\", service_name=\"web\"} 60:2\n"},
		{m, `sum(bytes_over_time(` + web + ` | line_format "ab" [1m]))`, "{} 60:4\n"},
		{m, `avg by (detected_level) (count_over_time(` + web + `[1m]))`, "{detected_level=\"info\"} 60:2\n"},
		{m, `count_over_time(` + web + ` | json | took > 3 | keep took [1m])`, "{took=\"5\"} 60:1\n"},
		{bad, `sum(count_over_time(` + web + ` | json | __error__="" [1m]))`, "{} 60:2\n"},
		{bad, `sum(count_over_time(` + web + ` | json | drop __error__, __error_details__ [1m]))`, "{} 60:3\n"},
		{bad, `sum by (__error__) (count_over_time(` + web + ` | json | __error__=~".*" [1m]))`, "{} 60:2\n{__error__=\"JSONParserErr\"} 60:1\n"},
		{bad, `sum by (level) (count_over_time(` + web + ` | json | __error__="" or level="warn" [1m]))`, "error: invalid query: pipeline error JSONParserErr in series {"},
		{bad, `sum by (level) (count_over_time(` + web + ` | json | __error__!="" | drop __error__ [1m]))`, "{level=\"warn\"} 60:1\n"},
		{bad, `sum(count_over_time(` + web + ` | json [1m]))`, "{} 60:3\n"},
		{bad, `sum by (level) (count_over_time(` + web + ` | json [1m]))`, "error: invalid query: pipeline error JSONParserErr in series {"},
		{m, `sum(sum_over_time(` + web + ` | json | unwrap route [1m]))`, "error: invalid query: pipeline error SampleExtractionErr in series {"},
		{m, `sum(sum_over_time(` + web + ` | json | unwrap route | __error__="" [1m]))`, ""},
	} {
		got := metric(t, c.src, engine.DefaultLimits(), c.query, "60")
		if strings.HasPrefix(c.want, "error") && strings.HasPrefix(got, c.want) && strings.Contains(got, `| __error__="", or keep them with | drop __error__`) {
			continue
		}
		if got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.query, got, c.want)
		}
	}
}

// TestSteps checks operators whose operands have values at some steps only.
func TestSteps(t *testing.T) {
	t.Parallel()
	m := &memory{}
	m.add(5, "s=a,x=1,w=1", "")
	m.add(15, "s=a,x=2,w=1", "")
	m.add(5, "s=b,w=1", "")
	m.add(15, "s=b,w=1", "")
	m.add(25, "s=b,w=1", "")
	a, b := `sum by (x,w) (count_over_time({s="a"}[10s]))`, `sum by (w) (count_over_time({s="b"}[10s]))`
	for _, c := range []struct{ query, want string }{
		// Two series of the left side become one, at different steps.
		{a + ` + on (w) ` + b, "{w=\"1\"} 10:2 20:2\n"},
		{b + ` + on (w) ` + a, "{w=\"1\"} 10:2 20:2\n"},
		{b + ` unless on (w) ` + a, "{w=\"1\"} 30:1\n"},
		{b + ` and on (w) ` + a, "{w=\"1\"} 10:1 20:1\n"},
		{a + ` or on (w) ` + b, "{w=\"1\"} 30:1\n{w=\"1\", x=\"1\"} 10:1\n{w=\"1\", x=\"2\"} 20:1\n"},
		{`label_replace(` + a + `, "x", "", "x", ".*")`, "{w=\"1\"} 10:1 20:1\n"},
		{`topk(1, ` + a + ` or ` + b + `)`, "{w=\"1\"} 10:1 20:1 30:1\n"},
		{`vector(3)`, "{} 10:3 20:3 30:3\n"},
		{`3`, "scalar {} 10:3 20:3 30:3\n"},
	} {
		if got := metric(t, m, engine.DefaultLimits(), c.query, "10 30 10"); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.query, got, c.want)
		}
	}
}

// TestWorkers checks that results are the same bytes for any number of workers and any order of records.
func TestWorkers(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	m := &memory{}
	for range 2000 {
		m.add(float64(r.IntN(120)), fmt.Sprintf("s=%d,v=%v", r.IntN(3), []float64{0.1, 1e17, -1e17, 3, 0.7, float64(r.IntN(100))}[r.IntN(6)]), "")
	}
	selector := `({s=~".+"} | unwrap v [17s])`
	for _, op := range []string{"rate", "rate_counter", "sum_over_time", "avg_over_time", "min_over_time", "max_over_time", "first_over_time", "last_over_time", "stddev_over_time", "stdvar_over_time", "quantile_over_time"} {
		query := op + selector
		if op == "quantile_over_time" {
			query = op + `(0.3,` + selector[1:]
		}
		m.workers, m.shuffle = 1, nil
		want := metric(t, m, engine.DefaultLimits(), query, "0 120 5")
		if strings.Count(want, "\n") != 3 {
			t.Fatalf("%s: %s", query, want)
		}
		for workers := range 5 {
			m.workers, m.shuffle = workers, r
			if got := metric(t, m, engine.DefaultLimits(), query, "0 120 5"); got != want {
				t.Errorf("%s with %d workers:\n%swant\n%s", query, workers, got, want)
			}
		}
	}
}

// TestReads checks what a source is asked for: counts where they suffice, each range aggregation once, nothing in gaps.
func TestReads(t *testing.T) {
	t.Parallel()
	web := `{service_name="web"}`
	for _, c := range []struct {
		query, when string
		want        []string
	}{
		{`rate(` + web + `[1m])`, "60 3600 60", []string{`counts {service_name="web"} by instance,level,service_name width 1m0s`}},
		{`rate(` + web + `[1m])`, "90 3600 60", []string{`counts {service_name="web"} by instance,level,service_name width 30s`}},
		{`rate(` + web + `[1m])`, "60.5 3600 60", []string{`counts {service_name="web"} by instance,level,service_name width 500ms`}},
		{`sum(rate(` + web + `[1m]))`, "60.5", []string{`counts {service_name="web"} by  width 0s`}},
		{`sum by (level, detected_level) (count_over_time(` + web + ` |= "x" | drop __error__ [1m]))`, "60", []string{`counts {service_name="web"} |= "x" by detected_level,level width 0s`}},
		{`sum by (service) (count_over_time(` + web + `[1m]))`, "60", []string{`counts {service_name="web"} by service_name width 0s`}},
		{`sum(count_over_time(` + web + ` | level="info" | __error__="" [1m]))`, "60", []string{`counts {service_name="web", level="info"} by  width 0s`}},
		{`absent_over_time(` + web + `[1m])`, "60", []string{`counts {service_name="web"} by  width 0s`}},
		{`sum(rate(` + web + `[1m])) / sum(rate(` + web + `[1m]))`, "60", []string{`counts {service_name="web"} by  width 0s`}},
		{`bytes_rate(` + web + `[1m]) + bytes_rate(` + web + `[1m])`, "60", []string{`each {service_name="web"} 0-60`}},
		{`bytes_rate(` + web + `[1m])`, "3600 7200 3600", []string{`each {service_name="web"} 3540-3600`, `each {service_name="web"} 7140-7200`}},
	} {
		m := example()
		m.filters, m.counts = true, true
		metric(t, m, engine.DefaultLimits(), c.query, c.when)
		if got := strings.Join(m.calls, "\n"); got != strings.Join(c.want, "\n") {
			t.Errorf("%s at %s:\n%s\nwant\n%s", c.query, c.when, got, strings.Join(c.want, "\n"))
		}
	}
}

// TestCounts checks that counts of the source and counted records give the same results.
func TestCounts(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		`count_over_time(` + all + `[30s])`, `rate(` + all + ` |= "slow" [30s] offset 10s)`, `sum by (source) (count_over_time(` + all + `[20s]))`,
		`sum without (level) (count_over_time(` + all + `[20s]))`, `sum by (service) (rate(` + all + ` | level="info" | drop __error__ [20s]))`,
		`avg by (detected_level) (count_over_time(` + all + `[20s]))`, `absent_over_time({service_name="db"}[10s])`,
	} {
		for _, when := range []string{"60", "0 100 10", "5 100 15", "0 100 50"} {
			// Labels of example's streams that storage does not have are left out.
			plain, counted := example(), example()
			for _, m := range []*memory{plain, counted} {
				m.filters = true
				for i := range m.records {
					s := *m.records[i].Stream
					s.Labels = s.Labels.Without("v")
					m.records[i].Stream = &s
				}
			}
			counted.counts = true
			want, got := metric(t, plain, engine.DefaultLimits(), query, when), metric(t, counted, engine.DefaultLimits(), query, when)
			if got != want || strings.Contains(strings.Join(counted.calls, ""), "each") {
				t.Errorf("%s at %s:\n%swant\n%s\ncalls %q", query, when, got, want, counted.calls)
			}
		}
	}
}

// moving is a source whose records move while they are read: they are read twice.
type moving struct{ *memory }

func (m moving) Each(ctx context.Context, sel engine.Selection, restart func(), newWorker func() engine.Worker) error {
	if err := m.memory.Each(ctx, sel, restart, newWorker); err != nil {
		return err
	}
	restart()
	return m.memory.Each(ctx, sel, restart, newWorker)
}

// TestRestart checks that records read before a restart do not count, neither for the result nor for the memory.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"60", "0 60 10", "10 3610 1800"} {
		m := example()
		m.workers = 2
		query := `quantile_over_time(0.5, {service_name="web"} | unwrap v [30s]) by (level)`
		want := metric(t, m, engine.DefaultLimits(), query, when)
		if got := metric(t, moving{m}, engine.Limits{Memory: 4000}, query, when); got != want || want == "" {
			t.Errorf("at %s: %s, want %s", when, got, want)
		}
	}
}

// TestLimits checks the limits and their messages.
func TestLimits(t *testing.T) {
	t.Parallel()
	m := &memory{}
	for i := range 1000 {
		m.add(float64(i+1), fmt.Sprintf("s=a,x=%d,v=%d", i, i), "")
	}
	for _, c := range []struct {
		query, when string
		limits      engine.Limits
		want        string
	}{
		{`count_over_time({s="a"}[1000s])`, "1000", engine.Limits{Series: 999}, "more than 999 series"},
		{`sum by (x) (count_over_time({s="a"}[1000s]))`, "1000", engine.Limits{Series: 999}, "more than 999 series"},
		{`sum(count_over_time({s="a"}[1000s]))`, "1000", engine.Limits{Series: 1}, ""},
		{`vector(1) or sum(count_over_time({s="a"}[1000s])) by (s)`, "1000", engine.Limits{Series: 1}, "more than 1 series"},
		{`topk(2, sum by (x) (count_over_time({s="a"}[1000s])))`, "1000", engine.Limits{Series: 2, Points: 500}, ""},
		{`count(sum by (x) (count_over_time({s="a"}[1000s])))`, "0 1000 1000", engine.Limits{Series: 1, Points: 2000}, ""},
		{`count(sum by (x) (count_over_time({s="a"}[1000s])))`, "0 1000 1000", engine.Limits{Series: 1, Points: 1998}, "more than 999 series"},
		{`sum by (x) (count_over_time({s="a"}[1000s])) + 1`, "1000", engine.Limits{Series: 999, Points: 11000}, "more than 999 series"},
		{`vector(1)`, "0 11 1", engine.Limits{Points: 10}, "11 steps, more than 10"},
		{`vector(1)`, "0 10 1", engine.Limits{Points: 10}, ""}, // 11 points
		{`quantile_over_time(0.5, {s="a"} | unwrap v [1000s]) by ()`, "1000", engine.Limits{Memory: 4096}, "maximum memory"},
		{`quantile_over_time(0.5, {s="a"} | unwrap v [1000s]) by ()`, "1000", engine.Limits{Memory: 1 << 20}, ""},
		{`bytes_over_time({s="a"}[1000s])`, "1000", engine.Limits{Memory: 1 << 16}, "maximum memory"},
	} {
		for m.workers = range 3 {
			got := metric(t, m, c.limits, c.query, c.when)
			if c.want == "" && strings.HasPrefix(got, "error") || c.want != "" && !strings.Contains(got, "limit exceeded: ") || !strings.Contains(got, c.want) {
				t.Errorf("%s, %+v: %s", c.query, c.limits, got)
			}
		}
	}
}

// TestCancel checks that a canceled query ends after a bounded number of records: with a template, which may run for a second, at
// the next.
func TestCancel(t *testing.T) {
	t.Parallel()
	for query, limit := range map[string]int{
		`count_over_time({s="a"}[1000s])`: 2000,
		`{s="a"}`:                         2000,
		`sum(count_over_time({s="a"} | line_format "{{range 2}}x{{end}}" [1000s]))`: 101,
		`{s="a"} | label_format a="{{range 2}}x{{end}}"`:                            101,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		m := &memory{}
		for range 10_000 {
			m.add(1, "s=a", "")
		}
		read := 0
		m.before = func() {
			if read++; read == 100 {
				cancel()
			}
		}
		e := &engine.Engine{Source: m}
		var err error
		switch x := parse(t, query).(type) {
		case syntax.SampleExpr:
			_, err = e.Metric(ctx, x, engine.MetricParams{Start: at(1000), End: at(1000)})
		case *syntax.LogExpr:
			err = e.Logs(ctx, x, engine.LogParams{To: at(1000)}, func(*engine.Entry) error { return nil })
		}
		if !errors.Is(err, context.Canceled) || read > limit {
			t.Errorf("%s: %v after %d records", query, err, read)
		}
	}
}

// TestNumbers checks operations on two numbers, which the parser does itself, and operands that must not be numbers.
func TestNumbers(t *testing.T) {
	t.Parallel()
	e := &engine.Engine{Source: &memory{}}
	number, vector := &syntax.Literal{Value: 5}, &syntax.Vector{Value: 2}
	for _, c := range []struct {
		expr syntax.SampleExpr
		want string
	}{
		{&syntax.Binary{Op: syntax.OpMod, Left: number, Right: &syntax.Literal{Value: 3}}, "scalar {} 0:2\n"},
		{&syntax.Binary{Op: syntax.OpLess, Left: number, Right: &syntax.Literal{Value: 3}}, "scalar {} 0:0\n"},
		{&syntax.Binary{Op: syntax.OpPow, Left: number, Right: vector}, "{} 0:25\n"},
		{&syntax.Binary{Op: syntax.OpAnd, Left: number, Right: vector}, "invalid query: the operands of and must be vectors, not numbers"},
		{&syntax.VectorAggregation{Op: syntax.Sum, Inner: number}, "invalid query: sum needs a vector, not a number; use vector(…)"},
		{&syntax.Binary{Op: syntax.OpOr, Left: vector, Right: vector, Matching: &syntax.Matching{GroupLeft: true}}, "{} 0:2\n"},
	} {
		v, err := e.Metric(t.Context(), c.expr, engine.MetricParams{})
		got := fmt.Sprint(err)
		if err == nil {
			got = text(v)
		}
		if got != c.want || err != nil && !errors.Is(err, engine.ErrQuery) {
			t.Errorf("%s: %s, want %s", c.expr, got, c.want)
		}
	}
	for _, p := range []engine.MetricParams{{Start: 1, End: 2}, {Step: -1}} {
		if _, err := e.Metric(t.Context(), vector, p); !errors.Is(err, engine.ErrQuery) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if v, err := e.Metric(t.Context(), vector, engine.MetricParams{Start: 2, End: 1, Step: 1}); err != nil || len(v.Series) != 0 {
		t.Error(v, err)
	}
}
