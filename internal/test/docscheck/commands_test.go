package docscheck_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

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
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOFLAGS", "CGO_ENABLED"} {
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

// The figures of docs/cost.md follow from package price, and from the numbers that the page names.
func TestCost(t *testing.T) {
	t.Parallel()
	page, prices := regexp.MustCompile(`\n  +`).ReplaceAllString(read(t, root, "docs", "cost.md"), " "), price.Default()
	const month, instances = 30 * 24 * 3600, 200
	// segments is the cost of n segments with their entities, polls that of a poll by each instance every so many seconds.
	segments := func(n float64) float64 { return n * prices.Cost(price.Usage{Create: 1, Table: 1}) }
	polls := func(seconds int64) float64 { return prices.Cost(price.Usage{Table: month / seconds}) }
	each := func(seconds int64) float64 { return segments(float64(month / seconds)) }
	const stored, softDeleted = 600, 7 * 20 // GB
	kept, columns, deleted := stored*prices.Month, 0.05*stored*prices.Month, softDeleted*prices.Month
	compaction := func(n float64) float64 {
		hours := float64(month / 3600)
		return hours*prices.Cost(price.Usage{List: 20}) + n*(1+1.0/256)*prices.Cost(price.Usage{Read: 1})
	}
	retention := func(n float64) float64 { return n / 5000 * prices.Cost(price.Usage{List: 1}) }
	other := func(n float64) float64 {
		return columns + compaction(n) + 2*deleted + instances*polls(60) + retention(n)
	}
	total := func(n float64) float64 { return segments(n) + kept + other(n) }
	minute, five, most := float64(instances*month/60), float64(instances*month/300), 100e9*30/(1<<20)
	const analytics, basic, auxiliary = 2.30 * 3000, 0.50 * 3000, 0.05 * 3000
	p := message.NewPrinter(language.English)
	for _, want := range []string{
		fmt.Sprintf("| write (create a blob), 10,000 | %v |", prices.Create),
		fmt.Sprintf("| list, 10,000 | %v |", prices.List),
		fmt.Sprintf("| read, 10,000 | %v |", prices.Read),
		fmt.Sprintf("| table request, 10,000 | %v |", prices.Tables),
		fmt.Sprintf("| keep 10^9 bytes for a month | %v |", prices.Month),
		fmt.Sprintf("| 10s | 259,200 | %.2f | %.2f |", each(10), instances*each(10)),
		fmt.Sprintf("| 1m (default) | 43,200 | %.2f | %.2f |", each(60), instances*each(60)),
		fmt.Sprintf("| 5m | 8,640 | %.2f | %.2f |", each(300), instances*each(300)),
		fmt.Sprintf("| 15m | 2,880 | %.2f | %.2f |", each(900), instances*each(900)),
		fmt.Sprintf("= %.4f\n", each(60)),
		fmt.Sprintf("/ 60 / 10,000 x 0.00036 = %.4f dollars", polls(60)),
		fmt.Sprintf("/ 5 / 10,000 x 0.00036 = %.4f dollars", polls(5)),
		p.Sprintf("%.0f segments a month at 1m, %.0f with 15m, %.0f at 5m", minute, most, five),
		fmt.Sprintf("compaction %.2f, soft delete of merged and of expired segments %.2f each, columns %.2f, polling for", compaction(minute), deleted, columns),
		fmt.Sprintf("watches %.2f (%.2f if a service is followed at least once an hour), and retention %.2f.", instances*polls(60), instances*polls(5), retention(minute)),
		fmt.Sprintf("| Logstow, 1m | %.2f | %.2f | %.2f | - | **%.0f** |", segments(minute), kept, other(minute), total(minute)),
		fmt.Sprintf("interval 15m` | %.2f | %.2f | %.2f | - | **%.0f** |", segments(most), kept, other(most), total(most)),
		fmt.Sprintf("| Logstow, 5m | %.2f | %.2f | %.2f | - | **%.0f** |", segments(five), kept, other(five), total(five)),
		p.Sprintf("Analytics, Analytics | %.2f | included | - | - | **%.0f** |", analytics, analytics),
		p.Sprintf("100 GB a day | %.2f | included | - | - | **%.0f** |", 0.85*analytics, 0.85*analytics),
		p.Sprintf("Basic | %.2f | included | queries | - | **%.0f** and", basic, basic),
		p.Sprintf("Auxiliary | %.2f | included | queries | - | **%.0f** and", auxiliary, auxiliary),
		p.Sprintf("then it is %.0f, %.0f and %.2f,", 0.75*analytics, 0.75*basic, 0.75*auxiliary),
		fmt.Sprintf("= %.4f dollars", prices.Cost(price.Usage{List: 3, Read: 12_000})),
		p.Sprintf("every second | %.2f | %.2f | %.2f | - | **%.0f** |", instances*month/1e4*prices.Create, 660*prices.Month, 7*22*prices.Month,
			instances*month/1e4*prices.Create+(660+7*22)*prices.Month),
		fmt.Sprintf("buffered for 1m | %.2f | %.2f | %.2f | - | **%.0f** |", minute/1e4*prices.Create, 660*prices.Month, 7*22*prices.Month,
			minute/1e4*prices.Create+(660+7*22)*prices.Month),
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
	if len(tasks) < 15 {
		t.Errorf("%d tasks", len(tasks))
	}
}
