package main

import (
	"strings"
	"testing"

	"logstow/query"
	"logstow/query/fieldstats"
)

// Attributes have a column if there are any, and a member in JSON.
func TestPrintAttributes(t *testing.T) {
	t.Parallel()
	own := fieldstats.Field{Name: "k8s.pod.name", Records: 2, Attributes: 1, Distinct: 1}
	found := &query.FieldStats{Records: 2, Fields: []fieldstats.Field{own, {Name: "attribute.level", Records: 1, Attributes: 1}, {Name: "m", Records: 1}}}
	printed := func(write func(w *strings.Builder) error) string {
		t.Helper()
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Error(err)
		}
		return b.String()
	}
	if got, want := printed(func(w *strings.Builder) error { return printFieldsTable(w, found, 0) }), `NAME             TYPE  ATTRIBUTE  COVERAGE  DISTINCT  TOP VALUES
k8s.pod.name               50.0%    100.0%         1
attribute.level           100.0%     50.0%         0
m                           0.0%     50.0%         0
`; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if got := printed(func(w *strings.Builder) error { return printFieldsJSON(w, found) }); !strings.Contains(got, `"records":2,"attributes":1,`) || !strings.Contains(got, `"name":"m","types":{},"records":1,"coverage"`) {
		t.Error(got)
	}
	found.Fields = found.Fields[2:]
	if got := printed(func(w *strings.Builder) error { return printFieldsTable(w, found, 0) }); strings.Contains(got, "ATTRIBUTE") {
		t.Error(got)
	}
}

// A line of a table of fields ends with a whole value, and a mark if there are more.
func TestFitting(t *testing.T) {
	t.Parallel()
	values := []string{"éé 50%", "bb 25%", "cc 20%"}
	for columns, want := range map[int]string{
		22: "éé 50%, bb 25%, cc 20%",
		21: "éé 50%, bb 25%, …",
		17: "éé 50%, bb 25%, …",
		16: "éé 50%, …",
		1:  "éé 50%, …",
	} {
		if got := fitting(values, columns); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
	if got := fitting(nil, 0); got != "" {
		t.Errorf("no values: %q", got)
	}
	if got := fitting(values[:1], 1); got != values[0] {
		t.Errorf("one value: %q", got)
	}
}

// East Asian characters take two columns.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本", 4, "日本"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"é…é", 3, "é…é"}, {"ab", 1, "…"}} {
		if got := cut(c.text, c.n); got != c.want {
			t.Errorf("%s in %d columns: %s, want %s", c.text, c.n, got, c.want)
		}
	}
}
