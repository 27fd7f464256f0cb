package docscheck_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What the README shows first is what the programs print of generated logs; the bars are
// those of a terminal, as long as the counts.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile("(?s)```console\n(.*?)```").FindStringSubmatchIndex(read(t, root, "README.md"))
	if block == nil {
		t.Fatal("README.md has no example")
	}
	text := read(t, root, "README.md")
	if line := strings.Count(text[:block[1]], "\n"); line > 40 {
		t.Errorf("the example ends in line %d", line)
	}
	home := t.TempDir()
	env := append(freshHome(bin(t), home), "LOGSTOW_STORE="+filepath.Join(home, "logs"))
	run := func(dir, command string) string {
		t.Helper()
		shell := exec.Command("bash", "-c", command)
		shell.Dir, shell.Env = dir, env
		out, err := shell.Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return string(out)
	}
	run(root, "go run ./internal/test/loggen/cmd/loggen -size 5MB -start 2026-11-20T15:00:00Z > "+home+"/api.log")
	run(home, "shipper run --once --service api api.log")
	bar := regexp.MustCompile(`(?m) +(█+)$`)
	var want strings.Builder
	var got strings.Builder
	bars := 0
	for _, step := range strings.Split("\n"+text[block[2]:block[3]], "\n$ ")[1:] {
		command, output, _ := strings.Cut(step, "\n")
		got.WriteString(run(home, command))
		want.WriteString(strings.TrimSuffix(bar.ReplaceAllString(output, ""), "\n") + "\n")
		counts := regexp.MustCompile(`(?m)^\w+ +(\d+) .* (█+)$`).FindAllStringSubmatch(output, -1)
		for _, row := range counts {
			bars++
			if length := 40 * number(t, row[1]) / number(t, counts[0][1]); len([]rune(row[2])) != max(1, length) {
				t.Errorf("%s: a bar of %d, want %d", row[0], len([]rune(row[2])), length)
			}
		}
	}
	if bars < 3 {
		t.Errorf("only %d bars", bars)
	}
	if got.String() != want.String() {
		t.Errorf("printed\n%s\nREADME.md has\n%s", got.String(), want.String())
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
