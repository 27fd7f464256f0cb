package syntax

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// lezerErrors parses queries by the grammar of Grafana's editor. For each it returns the offset of the first error, or -1.
// Without node or the package the test is skipped, unless LOGSTOW_REQUIRE_LEZER is 1.
func lezerErrors(t *testing.T, queries []string) []int {
	t.Helper()
	dir := filepath.Join("..", "..", "testdata", "lezer")
	missing := t.Skip
	if os.Getenv("LOGSTOW_REQUIRE_LEZER") == "1" {
		missing = t.Fatal
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing("lezer:", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err != nil {
		missing("lezer: run make testdata/lezer/node_modules:", err)
	}
	var in, out, stderr bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, query := range queries {
		if err := encoder.Encode(query); err != nil {
			t.Fatal(err)
		}
	}
	node := exec.CommandContext(t.Context(), "node", "check.mjs")
	node.Dir, node.Stdin, node.Stdout, node.Stderr = dir, &in, &out, &stderr
	if err := node.Run(); err != nil {
		t.Fatalf("check.mjs: %v\n%s", err, &stderr)
	}
	var offsets []int
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		at, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		offsets = append(offsets, at)
	}
	if len(offsets) != len(queries) {
		t.Fatalf("%d answers for %d queries", len(offsets), len(queries))
	}
	return offsets
}

// lezerAccepts checks that Grafana's editor parses queries.
func lezerAccepts(t *testing.T, queries []string) {
	t.Helper()
	for i, at := range lezerErrors(t, queries) {
		if at >= 0 {
			t.Errorf("%s\nhas an error at offset %d in Grafana's editor", queries[i], at)
		}
	}
}

func TestLezerParsesTables(t *testing.T) {
	var queries []string
	for _, test := range validQueries() {
		queries = append(queries, test[0])
	}
	for _, test := range append(validQueries(), relaxedQueries()...) {
		if e := mustParse(t, test[0]); !relaxed(e.String()) {
			queries = append(queries, e.String(), Pretty(e))
		}
	}
	lezerAccepts(t, queries)
}

// An exception that is no more an exception belongs to the table of valid queries.
func TestLezerRejectsRelaxed(t *testing.T) {
	var queries []string
	for _, test := range relaxedQueries() {
		queries = append(queries, test[0])
	}
	for i, at := range lezerErrors(t, queries) {
		if at < 0 || !relaxed(queries[i]) {
			t.Errorf("%s\nhas no error in Grafana's editor, or is not seen as relaxed", queries[i])
		}
	}
}

func TestLezerParsesRandom(t *testing.T) {
	g := newGenerator(t)
	var queries []string
	for range 2_500 {
		e := g.expr(3)
		queries = append(queries, e.String(), Pretty(e))
	}
	lezerAccepts(t, queries)
}

// Random trees have no queries that are not canonical: these come of changes to queries.
func TestLezerParsesMutations(t *testing.T) {
	g := newGenerator(t)
	var sources [][]token
	for _, test := range append(validQueries(), relaxedQueries()...) {
		tokens, err := tokenize(test[0])
		if err != nil {
			t.Fatal(err)
		}
		for i := range tokens {
			tokens[i].text = test[0][tokens[i].start:tokens[i].end]
		}
		sources = append(sources, tokens[:len(tokens)-1])
	}
	var queries []string
	for range 60_000 {
		query := g.mutation(sources)
		if _, err := Parse(query); err == nil && !relaxed(query) {
			queries = append(queries, query)
		}
	}
	if len(queries) < 1000 {
		t.Fatalf("%d valid queries only", len(queries))
	}
	t.Logf("%d valid queries", len(queries))
	lezerAccepts(t, queries)
}

// mutation is a query with a few of its tokens deleted, doubled, or replaced by tokens of another query.
func (g *generator) mutation(sources [][]token) string {
	tokens := append([]token(nil), oneOf(g, sources...)...)
	for range 1 + g.IntN(3) {
		other := oneOf(g, sources...)
		from := g.IntN(len(other))
		to := min(len(other), from+1+g.IntN(6))
		i := g.IntN(len(tokens) + 1)
		j := min(len(tokens), i+g.IntN(6))
		if g.maybe() {
			to = from
		}
		tokens = append(append(append([]token(nil), tokens[:i]...), other[from:to]...), tokens[j:]...)
	}
	var query strings.Builder
	for i, token := range tokens {
		if i > 0 && g.IntN(8) > 0 {
			query.WriteByte(' ')
		}
		query.WriteString(token.text)
	}
	return query.String()
}

// isRareNumber reports whether a token is a number with _, or a hexadecimal one with an exponent or with 0X.
func isRareNumber(t token) bool { return t.kind == tokenNumber && strings.ContainsAny(t.text, "_pPX") }

// relaxed reports whether a query may have one of the forms that Loki has and the grammar of Grafana's editor lacks: conditions
// next to each other, an offset behind a pipeline with unwrap, a range behind such a pipeline in parentheses, alternatives after ip(),
// functions in mixed case, and some numbers.
func relaxed(query string) bool {
	tokens, err := tokenize(query)
	if err != nil {
		return false
	}
	unwrap := false
	for i := 1; i < len(tokens); i++ {
		t, before := tokens[i], tokens[i-1]
		unwrap = unwrap || isWord(t, "unwrap")
		if unwrap && (isWord(t, "offset") || t.is("[") && before.is(")")) {
			return true
		}
		if t.is("(") && before.kind == tokenName && strings.ToLower(before.text) != before.text || isRareNumber(t) || isRareNumber(before) {
			return true
		}
		if i > 3 && isWord(t, "or") && before.is(")") && isWord(tokens[i-4], "ip") {
			return true
		}
		value := before.kind == tokenString || before.kind == tokenNumber || before.kind == tokenDuration || before.kind == tokenBytes || before.is(")")
		if value && (t.is("(") && !isList(tokens[:i]) || t.kind == tokenName && comparison(tokens[i+1])) {
			return true
		}
	}
	return false
}

func comparison(t token) bool {
	return t.kind == tokenSymbol && strings.Contains(" = != =~ !~ == > >= < <= ", " "+t.text+" ")
}

// isList reports whether tokens end with a list of labels, such as by (a, b).
func isList(tokens []token) bool {
	for i := len(tokens) - 1; i > 0 && tokens[len(tokens)-1].is(")"); i-- {
		if tokens[i].is("(") {
			return slices.Contains([]string{"by", "without", "on", "ignoring", "group_left", "group_right"}, strings.ToLower(tokens[i-1].text))
		}
	}
	return false
}

// What Grafana's editor parses is accepted, or named in the error.
func TestLezerDocumented(t *testing.T) {
	queries := documentedQueries()
	lezerAccepts(t, queries)
	for _, query := range queries {
		if _, err := Parse(query); err != nil && !strings.Contains(err.Error(), "not supported") {
			t.Errorf("%s\n%v", query, err)
		}
	}
}

// documentedQueries have the forms that Grafana documents.
func documentedQueries() []string {
	return []string{
		`{app="mysql", name="mysql-backup"}`,
		`{app=~"mysql.+", name!~"mysql-\\d+", env!="dev"}`,
		"{name =~ `mysql-\\d+`}",
		`{job="mysql"} |= "error"`,
		`{job="mysql"} |= "error" != "timeout" |~ "tsdb-ops.*io:2003" !~ "(?i)debug"`,
		`{service_name="proxy"} |> "<_> level=debug <_>" !> "<_>canary<_>"`,
		`{job="mysql"} |= "error" or "panic" or "fatal"`,
		`{job_name="myapp"} |= ip("192.168.4.5/16")`,
		`{job_name="myapp"} != ip("192.168.4.5-192.168.4.20")`,
		`{job_name="myapp"} | logfmt | addr = ip("192.168.4.5/16")`,
		`{job_name="myapp"} | logfmt | addr != ip("2001:db8::1-2001:db8::8") or remote = ip("10.0.0.1")`,
		`{job="a"} | json | line_format "{{.message}}" |= "x"`,
		`{job="a"} | json first_server="servers[0]", ua="request.headers[\"User-Agent\"]"`,
		"{job=\"a\"} | json a=`a.b[\"c\"]` , b",
		`{job="a"} | logfmt --strict --keep-empty host, fwd_ip="fwd"`,
		`{job="a"} | logfmt --strict | logfmt --keep-empty`,
		`{job="a"} | pattern "<ip> - - <_> \"<method> <uri> <_>\" <status> <size> <_> \"<agent>\" <_>"`,
		"{job=\"a\"} | regexp \"(?P<method>\\\\w+) (?P<path>[\\\\w|/]+) \\\\((?P<status>\\\\d+?)\\\\) (?P<duration>.*)\"",
		`{job="a"} | unpack | __error__=""`,
		`{job="a"} | decolorize`,
		`{job="a"} | logfmt | duration >= 20ms or size == 20KB and method!~"2.."`,
		`{job="a"} | logfmt | duration >= 20ms or (method="GET" and size <= 20KB)`,
		`{job="a"} | logfmt | duration >= 20ms or size == 20KB | method!~"2.."`,
		`{job="a"} | logfmt | duration >= 20ms , size == 20KB , method!~"2.."`,
		`{job="a"} | json | label_format dst=src, msg="{{.a}} {{.b}}"`,
		`{job="a"} | json | drop level, method="GET"`,
		`{job="a"} | json | keep level, app=~"some-api.*"`,
		`sum by (host) (rate({job="mysql"} |= "error" != "timeout" | json | duration > 10s [1m]))`,
		`count_over_time({job="mysql"}[5m])`,
		`count_over_time({job="mysql"}[5m] offset 5m) > 5`,
		`rate({job="mysql"} |= "error" [1h30m] offset 1w)`,
		`sum(count_over_time({job="mysql"}[5m])) by (level)`,
		`bytes_over_time({job="mysql"}[1d])`,
		`absent_over_time({job="mysql",method="GET"}[1h])`,
		`quantile_over_time(0.99, {cluster="ops"} | json | __error__ = "" | unwrap request_time [1m]) by (path)`,
		`sum by (org_id) (sum_over_time({cluster="ops"} |= "metrics.go" | logfmt | unwrap bytes_processed [1m]))`,
		`avg_over_time({a="b"} | json | unwrap duration(took) | __error__="" [5m]) without (pod)`,
		`rate_counter({a="b"} | json | unwrap total [5m])`,
		`max_over_time({a="b"} | logfmt | unwrap bytes(size) [5m])`,
		`first_over_time({a="b"} | logfmt | unwrap duration_seconds(took) [5m]) by (a)`,
		`topk(10, sum(rate({region="us-east1"}[5m])) by (name))`,
		`bottomk by (env) (3, rate({a="b"}[5m]))`,
		`sort_desc(sum by (a) (rate({a="b"}[5m])))`,
		`approx_topk(10, sum by (name) (rate({a="b"}[5m])))`,
		`sum(rate({app="foo"}[1m])) / sum(rate({app="foo"}[1m] offset 1d)) * 100`,
		`sum by (app) (rate({a="b"}[1m])) > bool 10 and on (app) sum by (app) (rate({a="c"}[1m]))`,
		`sum by (app, pod) (rate({a="b"}[1m])) / on (app) group_left () sum by (app) (rate({a="b"}[1m]))`,
		`sum without (app) (count_over_time({app="foo"}[1m])) > ignoring (pod) group_right (env) vector(3)`,
		`rate({a="b"}[1m]) unless rate({a="c"}[1m]) or vector(0)`,
		`label_replace(rate({job="api-server",service="a:c"} |= "err" [1m]), "foo", "$1", "service", "(.*):.*")`,
		`vector(1)+vector(1)`,
		`(1 + 2) * 3 ^ 2 % 5`,
		`sum by (level, detected_level) (count_over_time({service_name="web"} | drop __error__ [10s]))`,
		"# comment\n{a=\"b\"} # more\n| json # end",
	}
}
