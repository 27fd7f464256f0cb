package loki_test

import (
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"logstow/logql/syntax"
)

// The queries of docs/logql.md are answered, except those that the page has as errors: these name the construct.
func TestDocumentedQueries(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/logql.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```logql( error)?\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		for query := range strings.Lines(block[2]) {
			query = strings.TrimSpace(query)
			path := "query"
			if expr, err := syntax.Parse(query); err == nil {
				if _, log := expr.(*syntax.LogExpr); log {
					path = "query_range"
				}
			}
			w := httptest.NewRecorder()
			api(world(), nil).ServeHTTP(w, httptest.NewRequest("GET", "/loki/api/v1/"+path+"?query="+url.QueryEscape(query), nil))
			if wrong := block[1] != ""; wrong != (w.Code == 400) || wrong != strings.Contains(w.Body.String(), "not supported") {
				t.Errorf("%s: %d %s", query, w.Code, w.Body)
			}
		}
	}
}

// Each endpoint that docs/serve-api.md lists exists.
func TestDocumentedEndpoints(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/serve-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Endpoints\n")
	table, _, _ = strings.Cut(table, "\n## ")
	paths := 0
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(table, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			paths++
			w := httptest.NewRecorder()
			api(world(), nil).ServeHTTP(w, httptest.NewRequest("GET", "/loki/api/v1/"+strings.Trim(name, "`"), nil))
			if w.Code == 404 {
				t.Errorf("no %s", name)
			}
		}
	}
	if paths != 17 {
		t.Errorf("%d endpoints documented", paths)
	}
}
