package docscheck_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pages are those of the root and all of docs.
func pages(t *testing.T) []string {
	t.Helper()
	all, _ := filepath.Glob(filepath.Join(root, "*.md"))
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) < 15 {
		t.Fatalf("%d pages: %v", len(all), err)
	}
	return all
}

// anchors are a page's headings as GitHub makes links of them.
func anchors(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		a := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(a, " ", "-"))
	}
	return all
}

// Links between pages lead somewhere, to a heading where they name one.
func TestLinks(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]+`")
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		text := read(t, page)
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path, there := page, text
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
				info, err := os.Stat(path)
				if err != nil {
					t.Errorf("%s: %v", page, err)
					continue
				}
				if info.IsDir() {
					continue
				}
				there = read(t, path)
			}
			if anchor != "" && !slices.Contains(anchors(there), anchor) {
				t.Errorf("%s: %s has no heading %s", page, path, anchor)
			}
		}
	}
}

// docs/questions.md answers at least 30 questions, each with a page that exists (see [TestLinks]) and that docs/README.md leads to by at most
// two links.
func TestQuestions(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]+)`)
	linked := func(page string) (all []string) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			all = append(all, filepath.Join(filepath.Dir(page), m[1]))
		}
		return all
	}
	near := linked(filepath.Join(root, "docs", "README.md"))
	for _, page := range slices.Clone(near) {
		if strings.HasSuffix(page, ".md") {
			near = append(near, linked(page)...)
		}
	}
	rows := regexp.MustCompile(`(?m)^\| (.*\?) \| (.*) \|$`).FindAllStringSubmatch(read(t, root, "docs", "questions.md"), -1)
	if len(rows) < 30 {
		t.Errorf("%d questions", len(rows))
	}
	for _, row := range rows {
		answers := link.FindAllStringSubmatch(row[2], -1)
		if len(answers) == 0 {
			t.Errorf("%s: no answer", row[1])
		}
		for _, m := range answers {
			if page := filepath.Join(root, "docs", m[1]); !slices.Contains(near, page) {
				t.Errorf("%s: more than two links to %s", row[1], page)
			}
		}
	}
}

// go.mod states the reason for every direct dependency.
func TestDependencies(t *testing.T) {
	t.Parallel()
	direct := 0
	for _, m := range regexp.MustCompile(`(?m)^(?:\t|require )(\S+) v\S+(?: // (.*))?$`).FindAllStringSubmatch(read(t, root, "go.mod"), -1) {
		if m[2] == "indirect" {
			continue
		}
		direct++
		if len(m[2]) < 8 {
			t.Errorf("go.mod states no reason for %s", m[1])
		}
	}
	if direct < 20 {
		t.Errorf("%d dependencies", direct)
	}
}

// Each heading of docs/troubleshooting.md is a text that the code has.
func TestMessages(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			code.WriteString(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	headings := regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(read(t, root, "docs", "troubleshooting.md"), -1)
	if len(headings) < 20 {
		t.Fatalf("%d messages", len(headings))
	}
	for _, m := range headings {
		switch m[1] {
		case "it needs the role": // put together
			if !strings.Contains(code.String(), `"it needs "`) {
				t.Error(m[1])
			}
		default:
			if !strings.Contains(code.String(), m[1]) {
				t.Errorf("no program prints %q", m[1])
			}
		}
	}
}
