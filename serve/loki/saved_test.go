package loki_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"logstow/serve/loki"
	"logstow/serve/saved"
)

// Saved queries are those of the options, and read no storage; without any the list is empty.
func TestSaved(t *testing.T) {
	t.Parallel()
	w := world()
	for want, read := range map[string]func() ([]saved.Query, error){
		`{"queries":[]}`: nil,
		`{"queries":[{"name":"a<b","query":"{a=\"b\"}","range":"2h","columns":["c"]}]}`: func() ([]saved.Query, error) {
			return []saved.Query{{Name: "a<b", Query: `{a="b"}`, Range: "2h", Columns: []string{"c"}}}, nil
		},
	} {
		rec := askOwn(t, w, "saved", url.Values{}, func(o *loki.Options) { o.Saved = read })
		if got := strings.TrimSpace(rec.Body.String()); rec.Code != 200 || got != want {
			t.Errorf("%d %s, want %s", rec.Code, got, want)
		}
	}
	failing := func() ([]saved.Query, error) { return nil, errors.New("cannot read queries.yaml") }
	if rec := askOwn(t, w, "saved", url.Values{}, func(o *loki.Options) { o.Saved = failing }); rec.Code < 500 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if len(w.calls) != 0 {
		t.Errorf("reads of storage: %v", w.calls)
	}
}
