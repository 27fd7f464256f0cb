package logql_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"logstow/internal/test/effort"
	"logstow/logql/engine"
	"logstow/logql/syntax"
)

func TestLogQueries(t *testing.T) {
	t.Parallel()
	checkQueries(t, openMemory, logQueries())
}

func TestTemplateQueries(t *testing.T) {
	t.Parallel()
	checkQueries(t, openMemory, templateQueries())
}

func TestMetricQueries(t *testing.T) {
	t.Parallel()
	checkQueries(t, openMemory, every(effort.Cases{Short: 4, Test: 1}.N(), metricQueries()))
}

// The same over a source that applies line filters and counts records, as stores do.
func TestQueriesOverCounts(t *testing.T) {
	t.Parallel()
	checkQueries(t, openCounting, every(effort.Cases{Short: 8, Test: 3, Full: 1}.N(), slices.Concat(logQueries(), lineQueries(), binaryQueries())))
}

// The table is as large as it should be: the number of its queries, and of those with a result by hand.
func TestTableSize(t *testing.T) {
	t.Parallel()
	all := slices.Concat(logQueries(), templateQueries(), metricQueries())
	texts := map[string]bool{}
	byHand := 0
	for _, c := range all {
		if texts[c.data+c.text] {
			t.Errorf("twice in the table: %s", c.text)
		}
		texts[c.data+c.text] = true
		if c.want != nil {
			byHand++
		}
	}
	t.Logf("%d queries, %d with a result written by hand", len(all), byHand)
	if len(all) < 500 || byHand < 150 {
		t.Errorf("%d queries, %d with a result written by hand; want 500 and 150", len(all), byHand)
	}
}

// Queries that have no result are errors of the parser or the engine, whatever the records are.
func TestInvalidQueries(t *testing.T) {
	t.Parallel()
	e := &engine.Engine{Source: newMemory(nil, false)}
	for text := range strings.Lines(invalidQueries) {
		text = strings.TrimSpace(text)
		expr, err := syntax.Parse(text)
		if err == nil {
			if log, ok := expr.(*syntax.LogExpr); ok {
				err = e.Logs(context.Background(), log, engine.LogParams{To: minutes(1)}, func(*engine.Entry) error { return nil })
			} else {
				_, err = e.Metric(context.Background(), expr.(syntax.SampleExpr), engine.MetricParams{Start: minutes(1), End: minutes(1)})
			}
		}
		if err == nil {
			t.Errorf("no error: %s", text)
		}
	}
}

const invalidQueries = `{}
{a=""}
{a=~".*"}
{a="b"
{a="b"} |
{a="b"} |= 
{a="b"} |= "x" or
{a="b"} |~ "("
{a=~"("}
{a="b"} | regexp "no names"
{a="b"} | regexp "(?P<a>x)(?P<a>y)"
{a="b"} | regexp "(?P<a"
{a="b"} | pattern "no captures"
{a="b"} | pattern "<_> only"
{a="b"} | pattern "<a><b>"
{a="b"} | json x="a..b"
{a="b"} | json x="a[b"
{a="b"} | line_format "{{.a"
{a="b"} | line_format "{{nosuchfunction .a}}"
{a="b"} | label_format x="{{end}}"
{a="b"} | label_format x=a, x="{{.b}}"
{a="b"} | x > "text"
{a="b"} | x =~ 5
{a="b"} | x > 5 or
{a="b"} | (x > 5
{a="b"} | x = ip("nonsense")
{a="b"} |= ip("300.1.2.3")
{a="b"} |> ip("10.0.0.1")
{a="b"} |= "x" or ip("300.1.2.3") or "y"
{a="b"} | logfmt --unknown
{a="b"} | unwrap x
{a="b"} | nosuchstage
rate({a="b"})
rate({a="b"}[])
rate({a="b"}[5])
rate({a="b"}[5m]) offset 5m
rate({a="b"}[5m]) by (x)
sum_over_time({a="b"}[5m])
max_over_time({a="b"}[5m])
sum_over_time({a="b"} | unwrap x [5m]) by (y)
count_over_time({a="b"} | unwrap x [5m])
bytes_rate({a="b"} | unwrap x [5m])
quantile_over_time({a="b"} | unwrap x [5m])
quantile_over_time("x", {a="b"} | unwrap x [5m])
max_over_time({a="b"} | unwrap x | json [5m])
max_over_time({a="b"} | unwrap nosuch(x) [5m])
topk(rate({a="b"}[5m]))
topk(0, rate({a="b"}[5m]))
topk("a", rate({a="b"}[5m]))
sum(2, rate({a="b"}[5m]))
sum({a="b"})
sum(rate({a="b"}[5m])) by
nosuch(rate({a="b"}[5m]))
approx_topk by (a) (2, rate({a="b"}[5m]))
approx_topk(rate({a="b"}[5m]))
rate({a="b"}[5m]) and 1
1 or rate({a="b"}[5m])
rate({a="b"}[5m]) and bool rate({a="b"}[5m])
rate({a="b"}[5m]) and group_left rate({a="b"}[5m])
rate({a="b"}[5m]) group_left rate({a="b"}[5m])
rate({a="b"}[5m]) +
rate({a="b"}[5m]) + {a="b"}
(1
vector("a")
vector(rate({a="b"}[5m]))
label_replace(rate({a="b"}[5m]), "x", "$1", "y")
label_replace(rate({a="b"}[5m]), "1x", "$1", "y", ".*")
label_replace(rate({a="b"}[5m]), "x", "$1", "y", "(")
rate({a="b"}[5m:1m])
rate({a="b"}[5m] @ 5)
absent(rate({a="b"}[5m]))
histogram_quantile(0.9, rate({a="b"}[5m]))
{a="b"} and {a="b"}
{a="b"} | distinct x
`
