package logql_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"logstow/internal/test/effort"
)

// generatedSeed determines the generated queries, which are a table as those written by hand.
const generatedSeed = 35

// ingredients are what queries over a dataset are made of.
type ingredients struct{ selectors, parsers, stages, numbers []string }

// kitchen has the ingredients by dataset, those of all datasets under "".
func kitchen() map[string]ingredients {
	return map[string]ingredients{
		"": {
			stages: []string{
				``, ``, ``, `| __error__=""`, `| __error__!="" | drop __error_details__`, `| drop __error__, __error_details__`, `| drop msg, took`, `| keep status, level`, `| keep msg, user, instance`,
				`| status="200"`, `| status!=""`, `| status=""`, `| status > 200`, `| status <= 304 or level="error"`, `| level="info"`, `| msg=~".*a.*"`, `| took > 1s`, `| took < 2s and status != 500`,
				`| label_format s=status`, `| label_format status="{{.status}}0"`, `| label_format msg="", m=msg`, `| line_format "{{.msg}}"`, `| line_format "x"`, `|= "1"`, `!= "cut"`, `|~ "\\d{3}"`,
			},
		},
		"app": {
			[]string{`{service_name="shop"}`, `{service_name="pay"}`, `{service_name=~".+"}`, `{level=~"info|warn"}`, `{service_name="shop"} |= "{"`},
			[]string{``, `| json`, `| json status, msg`, `| json status, id="user.id", took`, `| json x="card.x[0].y", status`, `| logfmt`, `| logfmt --strict`, `| unpack`, `| json | json v`},
			nil,
			[]string{"status", "v", "amount", "duration(took)", "bytes(size)"},
		},
		"kv": {
			[]string{`{service_name="gate"}`, `{instance="g-1"}`, `{instance="g-2", level!="error"}`, `{service_name="gate"} |= "status"`},
			[]string{``, `| logfmt`, `| logfmt --strict`, `| logfmt --keep-empty`, `| logfmt status, msg, q`, `| logfmt --strict status, took`, `| json`, `| regexp "status=(?P<status>\\d+)"`, `| pattern "msg=<msg> <_>"`},
			nil,
			[]string{"q", "total", "temp", "status", "duration(took)", "bytes(bytes)"},
		},
		"web": {
			[]string{`{service_name="edge"}`, `{instance="n-1"}`, `{level=~"info|error"}`, `{service_name="edge"} |= "HTTP"`},
			[]string{``, `| logfmt`, `| json`, "| pattern `<_> \"<method> <path> <_>\" <status> <size> <_>`", "| regexp `(?P<method>[A-Z]{3,}) (?P<path>/\\S*)`", "| pattern `<method> <path> (<status>) <took>`"},
			nil,
			[]string{"status", "size", "duration(took)", "bytes"},
		},
		"odd": {
			[]string{`{service_name="odd"}`, `{instance="o-1"}`, `{instance="o-2"} |= "{"`, `{level!="info", service_name="odd"}`, `{service_name="odd"} |= "status="`},
			[]string{
				``, `| json`, `| json status, user, msg`, `| json x="o.x", y="o.l[1].y", took`, `| json n="[1].status", l="l[0]"`, `| logfmt`, `| logfmt --strict`, `| logfmt --keep-empty`, `| logfmt status, user`,
				`| logfmt --strict --keep-empty user, took`, `| unpack`, `| unpack | logfmt`, `| logfmt | json`,
			},
			nil,
			[]string{"status", "o_x", "x", "duration(took)", "l"},
		},
	}
}

// dishes are queries of the records LOG, and of numbers N.
func dishes() []string {
	return []string{
		`LOG`, `LOG`, `LOG`,
		`sum(count_over_time(LOG [5m]))`, `sum by (status) (count_over_time(LOG [2m]))`, `sum by (level, service) (rate(LOG [30s]))`, `count_over_time(LOG [1m] offset 1m)`,
		`sum by (user, msg) (count_over_time(LOG | __error__="" [10m]))`, `sum without (instance, msg) (bytes_over_time(LOG [5m]))`, `bytes_rate(LOG [90s])`, `sum(bytes_over_time(LOG [10m]))`,
		`topk(2, sum by (status) (count_over_time(LOG [10m])))`, `absent_over_time(LOG [1m])`, `max by (status) (count_over_time(LOG | __error__="" [5m]))`, `avg(rate(LOG [2m]))`,
		`count_over_time(LOG | drop __error__, __error_details__ [1h]) > 1`, `sum by (level) (count_over_time(LOG [1m])) / on () group_left sum(count_over_time(LOG [5m]))`,
		`sum by (status) (sum_over_time(LOG | unwrap N [2m]))`, `sum by (status) (rate(LOG | unwrap N | __error__="" [5m]))`, `rate_counter(LOG | unwrap N | __error__="" [1m])`,
		`avg_over_time(LOG | unwrap N | __error__="" [5m]) by (level)`, `max_over_time(LOG | unwrap N | __error__="" [30s])`, `last_over_time(LOG | unwrap N | __error__="" [1m] offset 30s) by (instance, status)`,
		`quantile_over_time(0.5, LOG | unwrap N | __error__="" [10m]) without (msg, took)`, `sum without (status) (sum_over_time(LOG | unwrap N | __error__="" [10m]))`, `max(min_over_time(LOG | unwrap N | __error__="" [2m]))`,
	}
}

// generatedQueries are n different queries of each dataset.
func generatedQueries(n int) (all []query) {
	r := rand.New(rand.NewPCG(generatedSeed, 0))
	one := func(of []string) string { return of[r.IntN(len(of))] }
	stages := kitchen()[""].stages
	for _, data := range []string{"app", "kv", "web", "odd"} {
		of, seen := kitchen()[data], map[string]bool{}
		for len(seen) < n {
			log := strings.Join(strings.Fields(strings.Join([]string{one(of.selectors), one(of.parsers), one(stages), one(stages)}, " ")), " ")
			text := strings.NewReplacer("LOG", log, "N ", one(of.numbers)+" ").Replace(one(dishes()))
			if !seen[text] {
				seen[text], all = true, append(all, q(data, text))
			}
		}
	}
	return all
}

// 1,200 generated queries, below make full half of them, have the results of the slow evaluator; go test -v prints them.
func TestGeneratedQueries(t *testing.T) {
	t.Parallel()
	all := generatedQueries(effort.Cases{Test: 150, Full: 300}.N())
	checkQueries(t, openMemory, all)
	if testing.Verbose() {
		for _, c := range all {
			t.Logf("%s: %s", c.data, c.text)
		}
	}
}
