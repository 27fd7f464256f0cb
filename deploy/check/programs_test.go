package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// shipper builds the program once.
var shipper = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "deploy-check")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "shipper")
	build := exec.Command("go", "build", "-o", program, "./cmd/shipper")
	build.Dir = filepath.Join("..", "..")
	build.Stderr = os.Stderr
	return program, build.Run()
})

// Every flag in a manifest or unit is one that the program has.
func TestFlags(t *testing.T) {
	t.Parallel()
	program, err := shipper()
	if err != nil {
		t.Fatal(err)
	}
	lines := [][]string{}
	for _, w := range append(workloads(t, "node"), workloads(t, "example")...) {
		for _, c := range append(w.template.Spec.InitContainers, w.template.Spec.Containers...) {
			if strings.HasSuffix(strings.Split(c.Image, ":")[0], "/shipper") {
				lines = append(lines, c.Args)
			}
		}
	}
	unit := regexp.MustCompile(`(?m)^ExecStart=\S+ (.*)$`).FindSubmatch(read(t, "..", "systemd", "logstow-shipper.service"))
	lines = append(lines, strings.Fields(string(unit[1])))
	if len(lines) != 6 {
		t.Fatalf("%d command lines, want 6", len(lines))
	}
	for _, args := range lines {
		help, err := exec.Command(program, args[0], "--help").Output()
		if err != nil {
			t.Fatal(args, err)
		}
		for _, a := range args[1:] {
			name, _, _ := strings.Cut(a, "=")
			if strings.HasPrefix(name, "--") && !strings.Contains(string(help), name+" ") {
				t.Errorf("shipper %s has no %s", args[0], name)
			}
		}
	}
}

// The node's configuration is one that the program takes.
func TestNodeConfiguration(t *testing.T) {
	t.Parallel()
	program, err := shipper()
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command(program, "check", "--config", filepath.Join("..", "kubernetes", "base", "shipper.yaml"), "--store", t.TempDir())
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The pages that the unit refers to are about it, and its manual page is one that a program has.
func TestUnitReferences(t *testing.T) {
	t.Parallel()
	unit := string(read(t, "..", "systemd", "logstow-shipper.service"))
	pages := regexp.MustCompile(`docs/\S+\.md`).FindAllString(unit, -1)
	for _, page := range pages {
		if text := string(read(t, "..", "..", page)); !strings.Contains(text, "logstow-shipper.service") {
			t.Errorf("%s is not about the unit", page)
		}
	}
	if len(pages) == 0 || !strings.Contains(unit, "\nDocumentation=man:shipper(1)\n") {
		t.Errorf("refers to %q", pages)
	}
}

// systemd-analyze accepts the unit. Manual pages need not be installed.
func TestUnit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here")
	}
	program, err := shipper()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(read(t, "..", "systemd", "logstow-shipper.service")), "/usr/local/bin/shipper", program)
	unit := filepath.Join(t.TempDir(), "logstow-shipper.service")
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
