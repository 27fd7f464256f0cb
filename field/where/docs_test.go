package where_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"logstow/field/where"
	"logstow/record"
)

// The examples of docs/where.md are true of its record, and every function has one.
func TestDocumentedExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/where.md")
	if err != nil {
		t.Fatal(err)
	}
	message := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindSubmatch(page)
	if message == nil {
		t.Fatal("no record")
	}
	r := where.Record{Time: now.UnixNano(), Level: record.None, Service: "shop", Source: []byte("-"), Message: message[1]}
	var examples []string
	inExamples := false
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "¦"), "|")
		switch {
		case len(cells) < 3:
			inExamples = false
		case strings.TrimSpace(cells[len(cells)-2]) == "example":
			inExamples = true
		case inExamples && !strings.Contains(line, "---"):
			examples = append(examples, strings.Trim(strings.TrimSpace(cells[len(cells)-2]), "`"))
		}
	}
	if len(examples) < 35 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, expr := range examples {
		p, err := where.Compile(expr, now)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		} else if !p.Evaluator().Holds(&r) {
			t.Errorf("%s is not true", expr)
		}
	}
	names := regexp.MustCompile(`\b([a-z][A-Za-z]+)\(`)
	_, functions, _ := strings.Cut(string(page), "## Functions")
	for _, known := range []string{
		"len", "lower", "upper", "trim", "trimPrefix", "trimSuffix", "hasPrefix", "hasSuffix", "indexOf", "lastIndexOf", "replace", "split", "join", "string",
		"fromJSON", "type", "int", "float", "abs", "floor", "ceil", "round", "min", "max", "first", "last", "all", "any", "none", "one", "filter", "find", "map", "count", "sum",
	} {
		if !slices.ContainsFunc(names.FindAllStringSubmatch(functions, -1), func(m []string) bool { return m[1] == known }) {
			t.Errorf("%s is not documented", known)
		}
	}
}
