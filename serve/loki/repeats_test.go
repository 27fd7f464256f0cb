package loki_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Lines have the length of what only repeats the time and level of their record, for clients that request it.
func TestRepeats(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 11, 59, 58, 123e6, time.UTC)
	for text, want := range map[string]int{
		"2026-03-04T11:59:58.123Z WARN disk is full":        len("2026-03-04T11:59:58.123Z WARN "),
		"[2026-03-04 11:59:58,123] [warning] - full":        len("[2026-03-04 11:59:58,123] [warning] - "),
		"2026-03-04T11:59:58.123Z WARN {\"a\":1}":           len("2026-03-04T11:59:58.123Z WARN "),
		"2026-03-04T11:59:58.123Z ERROR of another level":   len("2026-03-04T11:59:58.123Z "),
		"2026-03-04T11:59:58.124Z WARN at another time":     0,
		"2026-03-04T11:59:58.123Z WARN":                     0,
		"2026-03-04T11:59:58.123Z WARN \n  at main.go:17":   0,
		`{"time":"2026-03-04T11:59:58.123Z"}`:               0,
		"time=2026-03-04T11:59:58.123Z level=warn msg=full": 0,
		"": 0,
	} {
		w := &fake{lines: []line{{at, "api", "warn", "b-1", text}}}
		rec := askOwn(t, w, "records", url.Values{"query": {`{service_name="api"}`}, "repeats": {"1"}, "max_line": {"10"}})
		var one struct{ Repeats int }
		if err := json.Unmarshal(rec.Body.Bytes(), &one); err != nil || one.Repeats != want {
			t.Errorf("%q: %d of %s, want %d", text, one.Repeats, rec.Body, want)
		}
		if rec := askOwn(t, w, "records", url.Values{"query": {`{service_name="api"}`}}); strings.Contains(rec.Body.String(), "repeats") {
			t.Errorf("not requested: %s", rec.Body)
		}
		member := next(t, following(t, w, selectAPI+"&categorize=1&repeats=1", nil, nil)).Streams[0].Values[0][2].(map[string]any)
		if got, _ := member["repeats"].(float64); int(got) != want || member["structuredMetadata"] == nil {
			t.Errorf("tail: %q: %v", text, member)
		}
	}
}
