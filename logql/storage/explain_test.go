package storage_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/testrand"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query/explain"
	"logstow/record"
)

// explained is a store of which the reasons are asked.
func explained(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, testrand.New(t))
	at := func(minute int, level record.Level, text string) record.Record {
		return record.Record{Time: origin().Add(time.Duration(minute) * time.Minute).UnixNano(), Level: level, Source: "app.log", Message: []byte(text)}
	}
	w.ship("api", "a-0", at(1, record.Info, `{"status":200,"user":"ann","took":"12ms"}`), at(2, record.Error, `{"status":503,"user":"bob","took":"1.5s"}`))
	w.ship("web", "b", at(3, record.Warn, `user=ann size=12`))
	return w
}

// reasonsOf are the reasons for the selections of a query.
func reasonsOf(t *testing.T, view *storage.View, query string) []explain.Reason {
	t.Helper()
	expr, err := syntax.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	selections := engine.Selections(expr, origin().UnixNano(), origin().Add(time.Hour).UnixNano())
	reasons, err := view.Explain(t.Context(), selections, storage.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return reasons
}

func TestExplain(t *testing.T) {
	t.Parallel()
	w := explained(t)
	for query, want := range map[string]string{
		`{service_name="apii"}`:                                          `service-unknown: service "apii" does not exist; nearest: api`,
		`{service_name=~"apii|web2"}`:                                    `service-unknown: no service matches service_name=~"apii|web2"; available: api, web`,
		`{level="fatl"}`:                                                 `level-name: no level matches level="fatl"; levels are trace, debug, info, warn, error, fatal, unknown`,
		`{service_name="api", level="fatal"}`:                            `level: the records of the range have other levels: ERROR 1, INFO 1`,
		`{service_name="api", instance="a-1"}`:                           `instance-unknown: the range has no records of instance "a-1"; nearest: a-0`,
		`{service_name="api", pod="x"}`:                                  `label-unknown: no record has the label pod: selectors support service_name, level, instance, source and label attributes; fields of messages are labels only after | json or | logfmt`,
		`{service_name="api"} | status=503`:                              `parser-missing: field status of the messages is a label only after | json`,
		`{service_name="web"} | size=12`:                                 `parser-missing: field size of the messages is a label only after | logfmt`,
		`{service_name="api"} | json | usr="ann"`:                        `field-missing: field usr does not occur in the newest records; nearest: user`,
		`{service_name="api"} | json | user="Ann"`:                       `value-unknown: user is not "Ann" in the newest records; nearest: ann`,
		`{service_name="api"} | json | took > 5`:                         `field-unit: took is a duration, such as `,
		`{service_name="api"} | json | status > 5s`:                      `field-type: status is a number without a unit, such as `,
		`{service_name="api"} | json | user > 5`:                         `field-type: user is text, such as `,
		`{service_name="api"} | json | status > 600`:                     `stage: the services have records in the range, but a label, a line filter or a stage excludes them all`,
		`{service_name="api"} |= "ANN"`:                                  `case: 1 record contains "ANN" in another case`,
		`{service_name="api"} |~ "(?i)level:error"`:                      `meaning: "level:error" was searched as text; level="error" selects the level`,
		`{service_name="api"} |= "ann" != "status"`:                      `exclude: != removed the only record`,
		`count_over_time({service_name="apii"}[5m])`:                     `service-unknown: service "apii" does not exist; nearest: api`,
		`rate({service_name="api"} | json | unwrap took [5m] offset 9h)`: `range-empty: `,
	} {
		got := ""
		if reasons := reasonsOf(t, w.view(storage.Access{}), query); len(reasons) > 0 {
			got = reasons[0].Code + ": " + correctText(&reasons[0])
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// correctText is the text of a reason without flags.
func correctText(r *explain.Reason) string {
	if r.Fact != "" {
		return r.Fact
	}
	return strings.ReplaceAll(r.Text, "--exclude", "!=")
}

// A request learns nothing of services that do not exist for it, and reads no more than it may.
func TestExplainAccess(t *testing.T) {
	t.Parallel()
	w := explained(t)
	for _, query := range []string{`{service_name="apii"}`, `{service_name="api"}`, `{service_name=~"a.*"}`, `{service_name="web"} |= "service:api"`, `{service_name=~".+"} |= "api"`} {
		for _, r := range reasonsOf(t, w.view(storage.Access{Services: []string{"web"}}), query) {
			text := strings.NewReplacer(query, "", `"apii"`, "", `"api"`, "", `"service:api"`, "", `"a.*"`, "").Replace(r.Text)
			if strings.Contains(text, "api") {
				t.Errorf("%s: %s", query, r.Text)
			}
			for _, c := range r.Corrections {
				if c[0].New == "api" {
					t.Errorf("%s: a correction to api", query)
				}
			}
		}
	}
	if reasons := reasonsOf(t, w.view(storage.Access{MaxBytes: 1}), `{service_name="api"} | status=503`); len(reasons) > 0 {
		t.Errorf("over the limit: %v", reasons)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	log := parse(t, `{service_name="apii"}`)
	if _, err := w.view(storage.Access{}).Explain(ctx, []engine.Selection{{Log: log, From: 0, To: 1}}, storage.ExplainOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
