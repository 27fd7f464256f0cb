package correct_test

import (
	"encoding/json"
	"os"
	"testing"

	"logstow/correct"
	"logstow/logql/syntax"
	"logstow/query/explain"
)

// Texts of the query bar run as the page runs them: testdata/browser/logic.test.mjs reads the same table.
func TestRead(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/words.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct{ Text, Query, Case string }
	if err := json.Unmarshal(data, &table); err != nil || len(table) < 10 {
		t.Fatalf("%d texts: %v", len(table), err)
	}
	for _, c := range table {
		if c.Case == "" {
			c.Case = c.Query
		}
		folded, exact := correct.Read(c.Text, false), correct.Read(c.Text, true)
		if folded.Query != c.Query || exact.Query != c.Case {
			t.Errorf("%s: %s, %s", c.Text, folded.Query, exact.Query)
		}
		if _, err := syntax.Parse(folded.Query); err != nil {
			t.Errorf("%s: %v", folded.Query, err)
		}
	}
}

// A correction of a command line keeps its other arguments.
func TestCommand(t *testing.T) {
	t.Parallel()
	command := correct.Command{Name: "query", Flags: []correct.Flag{
		{"--since", []string{"2h"}}, {"-s", []string{"apii", "web"}}, {"--where", []string{`statsu >= 500 and m.statsu == "statsu"`}}, {Name: "-c"},
	}, Args: []string{"a b", "NOT", "x", "-y"}}
	for name, c := range map[string]struct {
		fix  explain.Fix
		want string
	}{
		"service":   {explain.Fix{Kind: explain.FixService, Old: "apii", New: "api"}, `logq query --since 2h -s api -s web --where 'statsu >= 500 and m.statsu == "statsu"' -c -- 'a b' NOT x -y`},
		"given too": {explain.Fix{Kind: explain.FixService, Old: "apii", New: "web"}, `logq query --since 2h -s web --where 'statsu >= 500 and m.statsu == "statsu"' -c -- 'a b' NOT x -y`},
		"field":     {explain.Fix{Kind: explain.FixField, Old: "statsu", New: "status"}, `logq query --since 2h -s apii -s web --where 'status >= 500 and m.statsu == "status"' -c -- 'a b' NOT x -y`},
		"excluded":  {explain.Fix{Kind: explain.FixExclude, Replaces: []string{"NOT", "x"}, New: "x"}, `logq query --since 2h -s apii -s web --where 'statsu >= 500 and m.statsu == "statsu"' -c -x x -- 'a b' -y`},
		"range":     {explain.Fix{Kind: explain.FixRange, Since: "10d"}, `logq query -s apii -s web --where 'statsu >= 500 and m.statsu == "statsu"' -c --since 10d -- 'a b' NOT x -y`},
	} {
		got, ok := command.Apply(explain.Correction{c.fix})
		if text := got.String(); !ok || text != c.want {
			t.Errorf("%s: %s", name, text)
		}
	}
	if _, ok := command.Apply(explain.Correction{{Kind: explain.FixSource, Old: "a", New: "b"}}); ok {
		t.Error("a correction of a flag that is not given")
	}
	fix := explain.Correction{{Kind: explain.FixSource, Old: explain.Glob(`b[1].lg`), New: `b[1].log`}}
	source := correct.Command{Name: "query", Flags: []correct.Flag{{"--source", []string{`b\[1].lg`}}}}
	if got, ok := source.Apply(fix); !ok || got.String() != `logq query --source 'b\[1].log'` {
		t.Errorf("a source with brackets: %s", got.String())
	}
	if got := correct.LogQL(`{service_name="a", source="b[1].lg"}`, fix); got != `{service_name="a", source="b[1].log"}` {
		t.Errorf("a source with brackets: %s", got)
	}
}

// Whatever is wrong with a query, what it is corrected to can be parsed, and a place in it is inside the text.
func FuzzMistake(f *testing.F) {
	for _, text := range []string{`{service_name='web'}`, `{a=b} |= x AND "y"`, `{a:b`, `| status==x`, `sum(rate({a="b"}[5m])`, `level:error OR x`, `{a="ü"} ß`, `"`, `{}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		typed := correct.Read(text, false)
		if meant := correct.Meant(text); meant != "" {
			if _, err := syntax.Parse(meant); err != nil && len(text) < 1000 {
				t.Errorf("%q: %q: %v", text, meant, err)
			}
		}
		r := typed.Mistake()
		if r == nil {
			return
		}
		if r.Start < 0 || r.End < r.Start || r.End > len([]rune(text)) {
			t.Errorf("%q: %d to %d", text, r.Start, r.End)
		}
		for _, c := range r.Changes {
			corrected := correct.Read(c.Query, false)
			if _, err := syntax.Parse(corrected.Query); err != nil {
				t.Errorf("%q: %q: %v", text, c.Query, err)
			}
		}
	})
}

// A parser is inserted before the first filter that reads the field, whatever it compares.
func TestParserBeforeFilter(t *testing.T) {
	t.Parallel()
	typed := correct.Read(`{service_name="api"} | client=ip("10.0.0.0/8") | client!="10.0.0.1"`, false)
	fix := explain.Fix{Kind: explain.FixParser, Field: "client", Parser: "json"}
	changes := typed.Explain(explain.Reason{Corrections: []explain.Correction{{fix}}}).Changes
	if want := `{service_name="api"} | json | client=ip("10.0.0.0/8") | client!="10.0.0.1"`; len(changes) != 1 || changes[0].Query != want {
		t.Errorf("%+v", changes)
	}
}
