package saved_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"logstow/serve/saved"
)

const shared = `queries:
  - name: errors of shop
    query: '{service_name="shop", level="error"}'
    range: 2h
    columns: [status, path]
  - {name: rate, query: 'sum(rate({service_name="shop"}[5m]))'}
`

// A file is YAML; what the web UI exports is JSON, which is the same.
func TestParse(t *testing.T) {
	t.Parallel()
	want := []saved.Query{
		{Name: "errors of shop", Query: `{service_name="shop", level="error"}`, Range: "2h", Columns: []string{"status", "path"}},
		{Name: "rate", Query: `sum(rate({service_name="shop"}[5m]))`},
	}
	if got, err := saved.Parse([]byte(shared)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	exported := `{"queries": [{"name": "x", "query": "{a=\"b\"} |= \"c\\nd\"", "link": "#q=x"}]}`
	if got, err := saved.Parse([]byte(exported)); err != nil || len(got) != 1 || got[0].Query != `{a="b"} |= "c\nd"` || got[0].Link != "#q=x" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                    "no queries",
		"queries: []":         "no queries",
		"- {name: a}":         "not a list of queries",
		"queries: [{nam: a}]": "not a list of queries",
		"queries: " + strings.Repeat("[", 100_000):                                "line 1: nested more than 1000 deep",
		"queries:\n" + strings.Repeat("- {name: a, query: '{a=\"b\"}'}\n", 1001):  "1001 queries, more than 1000",
		"queries: [{name: '', query: '{a=\"b\"}'}]":                               "query 1: its name",
		"queries: [{name: ' a', query: '{a=\"b\"}'}]":                             "query 1: its name",
		"queries: [{name: a, query: timeout}]":                                    `query "a": `,
		"queries: [{name: a, query: '{a=\"b\"}', range: soon}]":                   `query "a": range: "soon"`,
		"queries: [{name: a, query: '{a=\"b\"}', columns: ['']}]":                 `query "a": columns`,
		"queries: [{name: a, query: '{a=\"b\"}', link: 'http://x'}]":              `query "a": link`,
		"queries: [{name: a, query: '{a=\"b\"}'}, {name: a, query: '{a=\"b\"}'}]": "used twice",
	} {
		if got, err := saved.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
}

// A change of the file is seen, one that is not valid is not.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "queries.yaml")
	file := saved.File(path)
	if _, err := file.Get(0); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing file: %v", err)
	}
	for _, c := range []struct {
		text string
		want int
	}{{shared, 2}, {"queries: [{name: a, query: '{a=\"b\"}'}]", 1}, {"queries: [{name: a}]", 1}} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil { //nolint:forbidigo // a test's own file
			t.Fatal(err)
		}
		if got, err := file.Get(0); err != nil || len(got) != c.want {
			t.Errorf("%s: %v, %v", c.text, got, err)
		}
	}
}
