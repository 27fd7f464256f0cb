package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logstow/correct"
	"logstow/internal/shell"
	"logstow/logql/storage"
	"logstow/query"
	"logstow/serve/loki"
	"logstow/store/local"
)

// explained is a part of the response of the explain endpoint.
type explained struct {
	Reasons []struct {
		Code, Text  string
		Start, End  int
		Corrections []struct {
			Label, Query, From, To string
			IgnoreCase             bool `json:"ignore_case"`
		}
	}
}

// What people type instead of a query is corrected in the same way by logq query, by logq ql and by the API of the page; each
// correction finds something. The table is written anew by: go test ./cmd/logq -run TestCorrections -update
func TestCorrections(t *testing.T) {
	t.Parallel()
	dir := answersStore(t)
	s, err := local.Open(t.Context(), filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := storage.New([]query.Store{query.ReadOnly(s)}, query.Options{}, answersNow)
	api := loki.New(loki.Options{View: func(context.Context) loki.Backend { return all.View(storage.Access{}) }, Now: answersNow})
	inputs, err := os.ReadFile("testdata/corrections.in")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("What is typed, and its corrections by the command line (query and stats), ql, and the page: the place in the text, the reason, what a\n" +
		"click does. Written anew by: go test ./cmd/logq -run TestCorrections -update\n")
	count := 0
	for line := range strings.Lines(string(inputs)) {
		args, logql, both := strings.Cut(strings.TrimSpace(line), ";;")
		args, logql = strings.TrimSpace(args), strings.TrimSpace(logql)
		if !both {
			logql = strings.Join(words(args), " ")
			if strings.HasPrefix(args, "'") {
				logql = words(args)[0]
			}
		}
		fmt.Fprintf(&table, "\n$ %s\n", strings.TrimSpace(line))
		count++
		if args != "" {
			correctArgs(t, &table, dir, args)
		}
		correctQL(t, &table, dir, args, logql)
		correctPage(t, &table, dir, api, args, logql)
	}
	if count < 25 {
		t.Errorf("%d inputs", count)
	}
	compareGolden(t, "testdata/corrections.txt", table.String())
}

// rangeOf is the range of a command line, or a default one that has the records of today.
func rangeOf(args string) string {
	if strings.Contains(args, "--from") {
		return ""
	}
	return " --since 1h"
}

// correctArgs adds the corrections of query and of stats, which must be the same.
func correctArgs(t *testing.T, table *strings.Builder, dir, args string) {
	t.Helper()
	_, _, stderr := ask(t, dir, "query "+args+rangeOf(args))
	_, _, ofStats := ask(t, dir, "stats "+args+rangeOf(args))
	try, reason := tried(stderr)
	tryStats, _ := tried(ofStats)
	if strings.Replace(tryStats, "logq stats", "logq query", 1) != try {
		t.Errorf("%s: %q of stats, %q of query", args, tryStats, try)
	}
	fmt.Fprintf(table, "query: %s\n", reason)
	if try == "" {
		return
	}
	fmt.Fprintf(table, "     = %s\n", try)
	finds(t, dir, try)
}

// finds requires that a corrected command line finds something.
func finds(t *testing.T, dir, command string) {
	t.Helper()
	if strings.Contains(command, "missing") { // a word that no record has
		return
	}
	if status, out, stderr := ask(t, dir, strings.TrimPrefix(command, "logq ")); status != 0 || out == "" {
		t.Errorf("%s: status %d: %s", command, status, stderr)
	}
}

// tried are the corrected command line in what is printed, "" if there is none, and the first hint.
func tried(stderr string) (try, reason string) {
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "logq: try: "); ok {
			try = rest
		}
		if rest, ok := strings.CutPrefix(line, "hint: "); ok && reason == "" {
			reason = rest
			if meant, ok := strings.CutPrefix(rest, "did you mean "); ok && strings.HasPrefix(meant, "logq ") {
				try, reason = strings.TrimSuffix(meant, "?"), "did you mean"
			}
		}
	}
	return try, reason
}

// correctQL adds the correction of ql.
func correctQL(t *testing.T, table *strings.Builder, dir, args, logql string) {
	t.Helper()
	span := rangeOf(args)
	if span == "" {
		span = " --from 2026-11-20T10:00Z --to 2026-11-20T11:00Z"
	}
	_, _, stderr := ask(t, dir, "ql "+span+" "+shell.Quote(logql))
	try, reason := tried(stderr)
	fmt.Fprintf(table, "ql:    %s\n", reason)
	if try != "" {
		fmt.Fprintf(table, "     = %s\n", try)
		if reason != "did you mean" { // that is from the text alone
			finds(t, dir, try)
		}
	}
}

// correctPage adds the reasons and corrections of the page.
func correctPage(t *testing.T, table *strings.Builder, dir string, api *loki.API, args, logql string) {
	t.Helper()
	params := url.Values{"query": {logql}, "start": {"2026-11-20T14:30:00Z"}, "end": {"2026-11-20T15:30:00Z"}}
	if strings.Contains(args, "--from") {
		params["start"], params["end"] = []string{"2026-11-20T10:00:00Z"}, []string{"2026-11-20T11:00:00Z"}
	}
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, httptest.NewRequest("GET", "/logstow/api/v1/explain?"+params.Encode(), nil))
	var got explained
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 {
		t.Fatalf("%s: %d %s", logql, rec.Code, rec.Body)
	}
	if status, _, _ := ask(t, dir, "ql"+pageRange(params)+" "+shell.Quote(correct.Read(logql, false).Query)); status == 0 {
		table.WriteString("page:  finds records\n")
		return
	}
	for _, r := range got.Reasons {
		place := ""
		if r.End > 0 {
			place = fmt.Sprintf(" [%s]", string([]rune(logql)[r.Start:r.End]))
		}
		fmt.Fprintf(table, "page:  %s:%s %s\n", r.Code, place, r.Text)
		for _, c := range r.Corrections {
			does := strings.TrimSpace(strings.TrimSpace(c.Query+" "+c.From) + " " + c.To)
			if c.IgnoreCase {
				does = "ignore case"
			}
			fmt.Fprintf(table, "     = %s: %s\n", c.Label, does)
			pageFinds(t, dir, logql, c.Query, c.From, c.To)
		}
	}
}

// pageRange is the range of a request as flags.
func pageRange(params url.Values) string {
	return " --from " + params.Get("start") + " --to " + params.Get("end")
}

// pageFinds requires that a change of the page finds something.
func pageFinds(t *testing.T, dir, typed, query, from, to string) {
	t.Helper()
	if query == "" {
		query = typed
	}
	span := "--since 1h"
	if since, ok := strings.CutPrefix(from, "now-"); ok {
		span = "--since " + since
	} else if from != "" {
		span = "--from " + from + " --to " + to
	}
	read := correct.Read(query, false)
	finds(t, dir, "logq ql "+span+" "+shell.Quote(read.Query))
}

// compareGolden compares a text with a file, which -update writes anew.
func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
