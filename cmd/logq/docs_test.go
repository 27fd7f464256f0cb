package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"logstow/internal/price"
	"logstow/internal/test/effort"
)

const page = "../../docs/query.md"

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every command of the pages prints what they show.
func TestDocumentedExamples(t *testing.T) {
	effort.Need(t, effort.Test, "takes a second")
	t.Parallel()
	for name, atLeast := range map[string]int{"query.md": 14, "where.md": 3, "stats.md": 7, "patterns.md": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkExamples(t, "../../docs/"+name, atLeast)
		})
	}
}

// shopLog is the log on the page of patterns.
func shopLog(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/patterns.md")
	if err != nil {
		t.Fatal(err)
	}
	log := regexp.MustCompile("(?s)```text\n(.*?)```").FindSubmatch(text)
	if log == nil {
		t.Fatal("no log")
	}
	return string(log[1])
}

func checkExamples(t *testing.T, page string, atLeast int) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	script := "segment shop shop\nsegment web web\n"
	files := `-- shop --
2026-11-20T15:04:05Z INFO {"status":200,"user":"ann","path":"/cart"}
2026-11-20T15:04:06Z ERROR {"status":503,"user":"bob","path":"/pay"}
2026-11-20T15:04:07Z WARN retry of order-12345
2026-11-20T15:06:08Z INFO {"status":200,"user":"bob","path":"/pay"}
-- web --
2026-11-19T15:04:05Z INFO started
-- ids.txt --
order-99999
order-12345
-- app.log --
2026-11-20 15:04:05 INFO started
{"time":"2026-11-20T15:04:06Z","level":"error","status":503}
-- shop.log --
` + shopLog(t)
	if sample := regexp.MustCompile("(?s)```json\n({\"time\".*?)```").FindStringSubmatch(string(text)); sample != nil {
		files += "-- sample.log --\n" + sample[1]
	}
	n := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for _, example := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, output, _ := strings.Cut(strings.TrimSuffix(example, "\n"), "\n")
			n++
			if strings.HasPrefix(output, "logq: ") { // it finds nothing
				script += fmt.Sprintf("! exec %s\n! stdout .\ncmp stderr out%d\n", command, n)
			} else {
				script += fmt.Sprintf("exec %s\ncmp stdout out%d\n", command, n)
			}
			files += fmt.Sprintf("-- out%d --\n%s\n", n, output)
		}
	}
	if n < atLeast {
		t.Fatalf("%d examples", n)
	}
	file := filepath.Join(t.TempDir(), "query.txt")
	if err := os.WriteFile(file, []byte(script+files), 0o600); err != nil { //nolint:forbidigo // a test's own file
		t.Fatal(err)
	}
	testscript.Run(t, scriptParams(testscript.Params{Files: []string{file}}))
}

// The prices of the page are those built in.
func TestDocumentedPrices(t *testing.T) {
	t.Parallel()
	example := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(readPage(t))
	if example == nil {
		t.Fatal("no prices")
	}
	if table, err := price.Parse([]byte(example[1])); err != nil || table != price.Default() {
		t.Errorf("%+v, %v", table, err)
	}
}
