package loki_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The text of a query bar is explained, with places and corrections.
func TestExplain(t *testing.T) {
	t.Parallel()
	type change = map[string]any
	for text, want := range map[string][]map[string]any{
		`{service_name="wbe"}`: {
			{"code": "service-unknown", "text": `service "wbe" does not exist; nearest: web`, "start": 14., "end": 19., "corrections": []any{
				change{"label": "Service web", "query": `{service_name="web"}`},
			}},
			{"code": "range-empty", "text": "the range has no records", "start": 0., "end": 0., "corrections": []any{
				change{"label": "Last 2h", "from": "now-2h", "to": "now"},
				change{"label": "2026-03-04 09:00 to 2026-03-04 10:00", "from": "2026-03-04T09:00:00Z", "to": "2026-03-04T10:00:00Z"},
			}},
		},
		`{service_name="web"} | json`: {
			{"code": "stage", "text": "a stage excludes them", "start": 0., "end": 0., "corrections": []any{change{"label": "Without filters", "query": `{service_name="web"}`}}},
		},
		`| "é" nothing`: {
			{"code": "mistake", "text": "a line filter begins with |=, |~, |>, !=, !~ or !>, not with |", "start": 2., "end": 5., "corrections": []any{
				change{"label": `|= "é" |= "nothing"`, "query": `|= "é" |= "nothing"`},
			}},
		},
		`service_name="web" | json`: {
			{"code": "mistake", "text": "a selector is written in braces", "start": 0., "end": 18., "corrections": []any{
				change{"label": `{service_name="web"} | json`, "query": `{service_name="web"} | json`},
			}},
		},
		`vector(1)`: {},
	} {
		rec := askOwn(t, world(), "explain", url.Values{"query": {text}})
		var got struct{ Reasons []map[string]any }
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 {
			t.Fatalf("%s: %d %s", text, rec.Code, rec.Body)
		}
		if diff := cmp.Diff(want, got.Reasons); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", text, diff)
		}
	}
	for _, params := range []url.Values{
		{"query": {`a`}, "start": {"x"}, "end": {"2026-03-04T12:00:00Z"}},
		{"query": {`a`}, "start": {"2026-03-04T12:00:00Z"}, "end": {"2026-03-04T11:00:00Z"}},
	} {
		if rec := askOwn(t, world(), "explain", params); rec.Code != 400 {
			t.Errorf("%v: %d %s", params, rec.Code, rec.Body)
		}
	}
	exact := askOwn(t, world(), "explain", url.Values{"query": {"x y"}, "case": {"1"}})
	var got struct{ Query string }
	if err := json.Unmarshal(exact.Body.Bytes(), &got); err != nil || got.Query != `{service_name=~".+"} |= "x" |= "y"` {
		t.Errorf("%s %v", exact.Body, err)
	}
}
