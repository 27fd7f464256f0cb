package docscheck_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"logstow/internal/price"
	"logstow/internal/test/effort"
	"logstow/internal/test/programs"
)

// bin is the directory of shipper and logq.
func bin(t *testing.T) string {
	t.Helper()
	effort.Need(t, effort.Test, "builds the programs")
	dir, err := programs.Build("", "logstow/cmd/shipper", "logstow/cmd/logq")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// block is a fenced block that can run without a network: `sh offline`, commands; or
// `console offline`, commands behind "$ " and what each prints.
type block struct {
	kind, text string
}

func blocks(text string) (all []block) {
	for _, m := range regexp.MustCompile("(?ms)^```(sh|console) offline\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		all = append(all, block{m[1], m[2]})
	}
	return all
}

// Every block that can run offline runs, a page's in one shell after the other, and prints
// the output shown.
func TestBlocks(t *testing.T) {
	t.Parallel()
	ran := 0
	for _, page := range pages(t) {
		found := blocks(read(t, page))
		if len(found) == 0 {
			continue
		}
		ran += len(found)
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			runPage(t, found)
		})
	}
	if ran < 5 {
		t.Errorf("only %d blocks can run", ran)
	}
}

func runPage(t *testing.T, found []block) {
	t.Helper()
	var script strings.Builder
	var want []string
	script.WriteString("set -e\n")
	for _, b := range found {
		if b.kind == "sh" {
			fmt.Fprintf(&script, "{\n%s} >&2\n", b.text)
			continue
		}
		for _, step := range strings.Split("\n"+b.text, "\n$ ")[1:] {
			command, output, _ := strings.Cut(step, "\n")
			// A search that finds nothing ends with 1.
			fmt.Fprintf(&script, "%s || [ $? -eq 1 ]\n", command)
			if output != "" && !strings.HasSuffix(output, "\n") {
				output += "\n"
			}
			want = append(want, output)
		}
	}
	dir := t.TempDir()
	shell := exec.Command("bash", "-c", script.String())
	shell.Dir = dir
	shell.Env = freshHome(bin(t), dir)
	var out, notices strings.Builder
	shell.Stdout, shell.Stderr = &out, &notices
	if err := shell.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), notices.String())
	}
	if got, want := out.String(), strings.Join(want, ""); got != want {
		t.Errorf("printed\n%s\nwant\n%s\n%s", got, want, notices.String())
	}
}

// freshHome is the environment of a new user, with
// what "go run" needs. Buffers are below the home directory, for root too.
func freshHome(bin, home string) []string {
	env := []string{"TZ=UTC", "PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state")}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOFLAGS"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil && len(out) > 1 {
			env = append(env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	return env
}

// Every flag in a command line of the docs is one that the command has.
func TestFlags(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile("(?m)^(?:    |\\$ |\\t)?(?:    )?(?:\\$ )?(?:[A-Z_]+=\\S+ )*(?:bin/)?(shipper|logq) ([a-z]+)((?: [^\n]*)?(?:\\\\\n[^\n]*)*)$")
	flag := regexp.MustCompile(`(?:^|[\s\[])(--[a-z][a-z-]*)`)
	help, lines := map[string]string{}, 0
	for _, page := range pages(t) {
		for _, m := range line.FindAllStringSubmatch(read(t, page), -1) {
			command := m[1] + " " + m[2]
			if !strings.HasPrefix(m[0], " ") && !strings.HasPrefix(m[0], "$") && !strings.Contains(m[3], " --") {
				continue // prose
			}
			if help[command] == "" {
				out, err := exec.Command(filepath.Join(bin(t), m[1]), m[2], "--help").Output()
				if err != nil {
					t.Errorf("%s: %s: %v", page, command, err)
					continue
				}
				help[command] = string(out)
			}
			lines++
			rest, _, _ := strings.Cut(m[3], " | ")
			rest, _, _ = strings.Cut(rest, " # ")
			for _, f := range flag.FindAllStringSubmatch(rest, -1) {
				if !regexp.MustCompile(regexp.QuoteMeta(f[1]) + `\b`).MatchString(help[command]) {
					t.Errorf("%s: %s has no %s", page, command, f[1])
				}
			}
		}
	}
	if lines < 20 {
		t.Errorf("only %d command lines found", lines)
	}
}

// The numbers of docs/cost.md are those of the price table.
func TestCost(t *testing.T) {
	t.Parallel()
	page, prices := read(t, root, "docs", "cost.md"), price.Default()
	month := func(seconds int64) float64 {
		n := 30 * 24 * 3600 / seconds
		return prices.Cost(price.Usage{Create: n, Table: n})
	}
	kept := 600 * prices.Month
	for _, want := range []string{
		fmt.Sprintf("| write (create a blob), 10,000 | %v |", prices.Create),
		fmt.Sprintf("| list, 10,000 | %v |", prices.List),
		fmt.Sprintf("| read, 10,000 | %v |", prices.Read),
		fmt.Sprintf("| table request, 10,000 | %v |", prices.Tables),
		fmt.Sprintf("| keep 10^9 bytes for a month | %v |", prices.Month),
		fmt.Sprintf("| 10s | 259,200 | %.2f | %.2f |", month(10), 200*month(10)),
		fmt.Sprintf("| 1m (default) | 43,200 | %.2f | %.2f |", month(60), 200*month(60)),
		fmt.Sprintf("| 5m | 8,640 | %.2f | %.2f |", month(300), 200*month(300)),
		fmt.Sprintf("| 15m | 2,880 | %.2f | %.2f |", month(900), 200*month(900)),
		fmt.Sprintf("= %.4f\n", month(60)),
		fmt.Sprintf("| Logstow, 1m | %.2f | %.2f | - | **%.0f** |", 200*month(60), kept, 200*month(60)+kept),
		fmt.Sprintf("| Logstow, 5m | %.2f | %.2f | - | **%.0f** |", 200*month(300), kept, 200*month(300)+kept),
		fmt.Sprintf("= %.4f dollars", prices.Cost(price.Usage{List: 3, Read: 12_000})),
		fmt.Sprintf("every second | 2,851.20 | %.2f | - | **2,865** |", 660*prices.Month),
		fmt.Sprintf("buffered for 1m | %.2f | %.2f | - | **61** |", 200*43_200/1e4*prices.Create, 660*prices.Month),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}

// Every task of the cookbook has a command that TestBlocks runs.
func TestCookbook(t *testing.T) {
	t.Parallel()
	tasks := strings.Split(read(t, filepath.Join(root, "docs", "cookbook.md")), "\n## ")[1:]
	for _, task := range tasks {
		title, text, _ := strings.Cut(task, "\n")
		if found := blocks(text); len(found) == 0 || !strings.Contains(found[0].text, "$ ") {
			t.Errorf("task %q has no command that runs", title)
		}
	}
	if len(tasks) < 20 {
		t.Errorf("%d tasks", len(tasks))
	}
}
