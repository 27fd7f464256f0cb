package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"logstow/logql/engine"
	"logstow/logql/syntax"
)

func logs(t *testing.T, m *memory, query string, p engine.LogParams) string {
	t.Helper()
	var b strings.Builder
	e := &engine.Engine{Source: m}
	err := e.Logs(t.Context(), parse(t, query).(*syntax.LogExpr), p, func(entry *engine.Entry) error {
		fmt.Fprintf(&b, "%d %s %s %s %s\n", entry.Time/1e9, entry.Line, entry.Stream, entry.Metadata, entry.Parsed)
		return nil
	})
	if err != nil {
		return "error: " + err.Error()
	}
	return b.String()
}

// TestLogs checks the order, the limit and the labels of entries, and what the source is asked for.
func TestLogs(t *testing.T) {
	t.Parallel()
	m := &memory{filters: true}
	for i := range 5 {
		m.add(float64(i), "s=a|source=f", fmt.Sprintf("n=%d", i))
	}
	m.add(2.5, "s=b", "n=x")
	for _, c := range []struct {
		query      string
		p          engine.LogParams
		want, call string
	}{
		{`{s="a"}`, engine.LogParams{To: at(9), Limit: 2}, "0 n=0 {s=\"a\"} {source=\"f\"} {}\n1 n=1 {s=\"a\"} {source=\"f\"} {}\n", `in order {s="a"} limit 2`},
		{`{s="a"} |= "n"`, engine.LogParams{To: at(9), Limit: 1, Newest: true}, "4 n=4 {s=\"a\"} {source=\"f\"} {}\n", `in order {s="a"} |= "n" limit 1`},
		{`{s="a"} | drop __error__`, engine.LogParams{From: at(1), To: at(2), Limit: 7}, "1 n=1 {s=\"a\"} {source=\"f\"} {}\n", `in order {s="a"} limit 7`},
		{`{s=~"a|b"} | logfmt | n > 2`, engine.LogParams{To: at(9), Limit: 2}, "2 n=x {s=\"b\"} {} {__error__=\"LabelFilterErr\", __error_details__=\"\", n=\"x\"}\n3 n=3 {s=\"a\"} {source=\"f\"} {n=\"3\"}\n", `in order {s=~"a|b"} | logfmt | n > 2 limit 2`},
		{`{s="b"} | logfmt`, engine.LogParams{To: at(9), Limit: 3}, "2 n=x {s=\"b\"} {} {n=\"x\"}\n", `in order {s="b"} | logfmt limit 3`},
		{`{s="a"} | line_format "{{.s}}{{__line__}}" |= "3"`, engine.LogParams{To: at(9), Limit: 3}, "3 an=3 {s=\"a\"} {source=\"f\"} {}\n", `in order {s="a"} | line_format "{{.s}}{{__line__}}" |= "3" limit 0`},
		{`{s=~"a|b"} | s="b"`, engine.LogParams{To: at(9)}, "2 n=x {s=\"b\"} {} {}\n", `in order {s=~"a|b"} | s="b" limit 0`},
		{`{s=~"a|b"} | source="f" | line_format "{{.s}}"`, engine.LogParams{To: at(1)}, "0 a {s=\"a\"} {source=\"f\"} {}\n", `in order {s=~"a|b", source="f"} | line_format "{{.s}}" limit 0`},
		{`{s="a"}`, engine.LogParams{From: at(3), To: at(3)}, "", ""},
	} {
		m.calls = nil
		got := logs(t, m, c.query, c.p)
		if i := strings.Index(got, "__error_details__"); i > 0 { // its text is the pipeline's
			j := i + strings.Index(got[i:], ", n=")
			got = got[:i] + `__error_details__=""` + got[j:]
		}
		if call := strings.Join(m.calls, "\n"); got != c.want || call != c.call {
			t.Errorf("%s %+v:\n%swant\n%s%s\nwant %s", c.query, c.p, got, c.want, call, c.call)
		}
	}
}

// TestLogsEnd checks that an error of emit ends a query and is returned.
func TestLogsEnd(t *testing.T) {
	t.Parallel()
	m, full, n := &memory{}, errors.New("full"), 0
	m.add(1, "s=a", "")
	m.add(2, "s=a", "")
	err := (&engine.Engine{Source: m}).Logs(t.Context(), parse(t, `{s="a"}`).(*syntax.LogExpr), engine.LogParams{To: at(9)}, func(*engine.Entry) error {
		n++
		return full
	})
	if !errors.Is(err, full) || n != 1 {
		t.Error(err, n)
	}
}
