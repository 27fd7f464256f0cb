package docscheck_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// limits are the rows of the tables of docs/limits.md.
func limits(t *testing.T) (all [][]string) {
	t.Helper()
	for line := range strings.Lines(read(t, root, "docs", "limits.md")) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") && !strings.HasPrefix(line, "| bound |") {
			all = append(all, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	if len(all) < 80 {
		t.Fatalf("docs/limits.md has %d rows", len(all))
	}
	return all
}

// Every limit is measured by tests that exist, with their effort as stated, and by one that runs the programs.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, row := range limits(t) {
		if len(row) != 3 {
			t.Errorf("%q: want bound, value and test", row)
			continue
		}
		programs := false
		for _, m := range regexp.MustCompile("`([^`]+)`(?: \\((full|long)\\))?").FindAllStringSubmatch(row[2], -1) {
			if strings.HasPrefix(m[1], "testdata/browser/") {
				read(t, root, m[1])
				programs = true
				continue
			}
			dir, name, _ := strings.Cut(m[1], ".")
			source := testSource(t, dir, name)
			if source == "" {
				t.Errorf("%s: there is no test %s", row[0], m[1])
			}
			if m[2] != "" && !strings.Contains(source, "effort.") {
				t.Errorf("%s: %s has the same effort in all runs, not that of make %s", row[0], m[1], m[2])
			}
			if m[2] == "long" && !strings.HasPrefix(name, "TestLong") {
				t.Errorf("%s: make long does not run %s", row[0], m[1])
			}
			if body, _, _ := strings.Cut(source, "\n}\n"); m[2] == "" && strings.Contains(body, "\n\teffort.Need(t, effort.Full") {
				t.Errorf("%s: %s runs with make full: want (full) after it", row[0], m[1])
			}
			programs = programs || dir == "e2e"
		}
		if !programs {
			t.Errorf("%s: want a test that runs the programs", row[0])
		}
	}
}

// testSource is the file of a test in a package, from the test on; "" if there is none.
func testSource(t *testing.T, dir, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, from, found := strings.Cut(string(text), "\nfunc "+name+"(t *testing.T)"); found {
			return from
		}
	}
	return ""
}
