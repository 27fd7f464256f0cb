package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logstow/internal/test/clitest"
)

// pictures are the command lines of which testdata/terminal has what they print on terminals of 80 and 140 columns: a name, "wide" if
// lines may be wider than the terminal, and the line.
const pictures = `
help  --help
help-query  query --help
help-stats  stats --help
pretty  query -s web --from 15:20
pretty-match  query -s web --from 15:20 -i TIMEOUT
pretty-wrap wide  query -s web --from 15:20 --wrap
pretty-plain  query -s web --from 15:20 --color never
pretty-context  query --from 15:00 -C 1 deadlock
pretty-multiline  query -s shop --from 15:10 deadlock
pretty-wide-characters  query -s shop --from 15:10 注文
pretty-colours  query -s shop --from 15:10 migrated
pretty-days  query --from 2026-11-19 -l error
pretty-all-services  query --from 15:25
text wide  query -s web --from 15:28 -o text
raw wide  query -s web --from 15:28 -o raw
json wide  query -s web --from 15:28 -o json
json-indent wide  query -s web --from 15:28 -o json --indent
flat-indent wide  query -s web --from 15:28 -o flat --indent
csv wide  query -s web --from 15:28 -o csv
template wide  query -s web --from 15:28 -o 'template={{.time}} {{.path}}'
columns  query -s web --from 15:20 --fields time,status,path,took_ms -n 5
distinct  query -s web --from 15:00 --distinct path
count  query -s web --from 15:00 --count
sorted  query -s web --from 15:00 --sort 'took_ms desc' -n 3
explain-plan  query -s web --from 15:00 -l error+ -n 1 --explain
stats-level  stats --from 15:00
stats-time  stats -s web --from 15:00 --to 15:30 --by 5m
stats-pivot wide  stats -s web --from 15:00 --to 15:30 --by 10m,level --pivot level
stats-percentiles  stats -s web --from 15:00 --by path --compute 'count,p50(took_ms),p99(took_ms),max(took_ms)'
ql-records wide  ql --from 15:20 '{service="web"} |= "timeout"'
ql-once  ql --from 15:00 --to 15:30 'sum by (path, level) (count_over_time({service="web"} | json [30m]))'
stats-trends  stats -s web --from 14:00 --to 15:30 --by 1m,level
ql-chart  ql --from 15:00 --to 15:30 --step 5m 'sum by (level) (count_over_time({service="web"} [5m]))'
fields  fields -s web --from 15:00
patterns  patterns -s shop --from 14:00
patterns-compared  patterns -s shop --from 14:00 --to 15:30 --before 15:00
services  services
segments wide  segments --from 2026-11-19
saved  saved --queries queries.yaml
empty-service  query -s wbe --from 15:00
empty-level  query -s web --from 15:00 -l fatal
empty-case  query -s web --from 15:00 TIMEOUT
empty-range  query -s web --from 12:00 --to 13:00
empty-field  query -s web --from 15:00 --where 'stauts >= 500'
empty-stats  stats -s web --from 12:00 --to 13:00
empty-ql  ql --from 15:00 '{service="web"} | json | status = "5OO"'
mistake-flag  query --levl error
mistake-where  query --from 15:00 --where 'status >> 500'
mistake-ql  ql --from 15:00 '{service="web"} |= timeout'
mistake-time  query --since yesterdy
no-store  query --store nowhere --from 15:00
`

// pictureStore is a store with an hour and a half of two services.
func pictureStore(t *testing.T, dir string) {
	t.Helper()
	today := answersNow()
	requests := func(hour, minutes int) (lines []string) {
		paths := []string{"/cart", "/buy", "/search", "/login"}
		for i := range 2 * minutes {
			level, message, status := "INFO", "request served", 200
			switch {
			case i%9 == 4:
				level, message, status = "ERROR", "upstream timeout after 3 retries, gave up", 503
			case i%7 == 5:
				level, message, status = "WARN", "slow request", 200
			}
			lines = append(lines, fmt.Sprintf(`%02d:%02d:%02d %s web.log {"level":%q,"msg":%q,"status":%d,"path":%q,"took_ms":%d,"user":"user-%d","trace_id":"%032x"}`,
				hour, i/2, i%2*30, level, strings.ToLower(level), message, status, paths[i*i%7%4], 3+i*i*7%190, i%5, i*2654435761%(1<<32)))
		}
		return lines
	}
	put(t, dir, "web", today, requests(14, 60)[90:]...)
	put(t, dir, "web", today, requests(15, 29)...)
	put(t, dir, "shop", today, `14:10:00 INFO shop.log order 1001 of ann confirmed`, `14:20:00 INFO shop.log order 1002 of bob confirmed`, `14:30:00 WARN shop.log stock of article 17 is low`)
	put(t, dir, "shop", today,
		`15:10:00 INFO shop.log order 1003 of cho confirmed`,
		`15:11:30 ERROR shop.log deadlock detected, transaction 77 rolled back`+"\n\tat orders.Confirm (orders.go:112)\n\tat http.Handler.ServeHTTP (server.go:2136)\nProcess 4711 waits for ShareLock on transaction 78; blocked by process 4712, which waits for the first.",
		`15:12:00 INFO shop.log 注文 1004 を確認しました: 数量 3、合計 ￥12,800、配送先 東京都千代田区丸の内一丁目九番一号、お届け予定日 十一月二十三日`,
		"15:13:00 INFO shop.log \x1b[32mmigrated\x1b[0m 12 tables in \x1b[1m340 ms\x1b[0m",
		`15:26:00 INFO shop.log order 1005 of ann confirmed`,
		`15:27:00 FATAL shop.log out of memory`)
	put(t, dir, "audit", today.AddDate(0, 0, -1), `10:00:00 ERROR audit.log login of mallory rejected`)
}

const pictureQueries = `queries:
  - name: errors of web
    query: '{service_name="web", level="error"}'
    range: 2h
  - name: slowest paths
    query: 'topk(5, quantile_over_time(0.99, {service_name="web"} | json | unwrap took_ms [30m]) by (path))'
    range: 30m
`

// What people see on a terminal. make golden writes the files anew.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pictureStore(t, filepath.Join(dir, "store"))
	if err := os.WriteFile(filepath.Join(dir, "queries.yaml"), []byte(pictureQueries), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		return map[string]string{"LOGSTOW_STORE": filepath.Join(dir, "store"), "TERM": "xterm", "LOGSTOW_PAGER": "cat"}[name]
	}
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(pictures)) {
		what, args, _ := strings.Cut(strings.TrimSpace(line), "  ")
		name, wide, _ := strings.Cut(what, " ")
		for _, columns := range []int{80, 140} {
			var stdout, stderr bytes.Buffer
			terminal := screen{rows: 50, columns: columns}
			env := environment{
				getenv: getenv, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, out: terminal, err: terminal,
				now: answersNow, tempDir: t.TempDir(), completeTime: time.Minute,
			}
			all := []string{"logq"}
			for _, arg := range words(args) {
				if arg == "queries.yaml" || arg == "nowhere" {
					arg = filepath.Join(dir, arg)
				}
				all = append(all, arg)
			}
			status := run(t.Context(), all, env)
			shown := strings.NewReplacer(dir, "/logs")
			clitest.Picture{
				Name: name, Line: "logq " + args, Columns: columns, Wide: wide != "", Status: status,
				Stdout: shown.Replace(stdout.String()), Stderr: shown.Replace(stderr.String()),
			}.Check(t, "testdata/terminal", *update)
			seen[fmt.Sprintf("%s.%d", name, columns)] = true
		}
	}
	files, err := os.ReadDir("testdata/terminal")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[f.Name()] {
			t.Errorf("testdata/terminal/%s is of no command line", f.Name())
		}
	}
}
