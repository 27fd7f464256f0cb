package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"
)

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// programs builds both programs once, in a directory.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "deploy-check")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./cmd/shipper", "./cmd/logq")
	build.Dir = filepath.Join("..", "..")
	build.Stderr = os.Stderr
	return dir, build.Run()
})

// built is the path of a program.
func built(t *testing.T, program string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, program)
}

// units are the units with the program that each runs.
var units = map[string]string{"logstow-shipper.service": "shipper", "logstow-serve.service": "logq"}

func unit(t *testing.T, name string) string {
	t.Helper()
	return string(read(t, "..", "systemd", name))
}

// Every flag in a manifest or unit is one that the program has.
func TestFlags(t *testing.T) {
	t.Parallel()
	lines := map[string][][]string{} // by program
	for _, name := range valueFiles(t) {
		for _, w := range workloads(t, name) {
			for _, c := range append(w.template.Spec.InitContainers, w.template.Spec.Containers...) {
				for _, program := range []string{"shipper", "logq"} {
					if strings.HasSuffix(strings.Split(c.Image, ":")[0], "/"+program) {
						lines[program] = append(lines[program], c.Args)
					}
				}
			}
		}
	}
	for name, program := range units {
		line := regexp.MustCompile(`(?m)^ExecStart=\S+ (.*)$`).FindStringSubmatch(unit(t, name))
		lines[program] = append(lines[program], strings.Fields(line[1]))
	}
	if len(lines["shipper"]) != 35 || len(lines["logq"]) != 3 {
		t.Fatalf("%d and %d command lines: %q", len(lines["shipper"]), len(lines["logq"]), lines)
	}
	for program, all := range lines {
		for _, args := range all {
			help, err := exec.Command(built(t, program), args[0], "--help").Output()
			if err != nil {
				t.Fatal(args, err)
			}
			for _, a := range args[1:] {
				name, _, _ := strings.Cut(a, "=")
				if strings.HasPrefix(name, "--") && !regexp.MustCompile(regexp.QuoteMeta(name)+`\s`).Match(help) {
					t.Errorf("%s %s has no %s", program, args[0], name)
				}
			}
		}
	}
}

// The configurations of nodes and relays, and that of the packages, are ones that the program takes. The one with labels of pods
// differs in those alone.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	configs := map[string]string{"package": string(read(t, "..", "packages", "shipper.yaml"))}
	for _, name := range []string{"default", "pod-metadata", "node", "node-inputs", "relay", "everything"} {
		for _, w := range workloads(t, name) {
			if w.config != "" {
				configs[name+" "+w.name] = w.config
			}
		}
	}
	if len(configs) != 8 {
		t.Fatalf("configurations %q", configs)
	}
	for name, text := range configs {
		// Here is no service account: the API server is named instead. The buffer's directory is another machine's.
		text = strings.Replace(text, "pod-metadata:\n", "pod-metadata:\n    server: https://127.0.0.1\n", 1)
		text = regexp.MustCompile(`/var/lib/logstow/\w+`).ReplaceAllString(text, t.TempDir())
		file := filepath.Join(t.TempDir(), "shipper.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check := exec.Command(built(t, "shipper"), "check", "--config", file, "--store", t.TempDir())
		check.Env = append(os.Environ(), "NODE_NAME=node-1")
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, text)
		}
	}
	parse := func(name string) (config map[string]any) {
		if err := yaml.Unmarshal([]byte(configs[name+" logstow-node"]), &config); err != nil {
			t.Fatal(err)
		}
		return config
	}
	base, pods := parse("default"), parse("pod-metadata")
	input := pods["inputs"].([]any)[0].(map[string]any)
	if input["pod-metadata"] == nil {
		t.Error("no pod-metadata")
	}
	delete(input, "pod-metadata")
	if !reflect.DeepEqual(base, pods) {
		t.Errorf("default %v\npod-metadata %v", base, pods)
	}
}

// The metrics from logs that alerts use are ones that the program takes, and the rules' labels are theirs.
func TestLogMetrics(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shipper.yaml")
	text := string(read(t, "..", "prometheus", "log-metrics.shipper.yaml")) + "service: web\ninputs: [{stdin: true}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	check := exec.Command(built(t, "shipper"), "check", "--config", file, "--store", t.TempDir(), "--buffer", "memory", "--metrics", "127.0.0.1:0")
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	labels := map[string][]string{}
	for _, m := range logMetrics(t) {
		labels[m.Name], labels[m.Name+"_bucket"] = m.Labels, append(m.Labels, "le")
	}
	metrics, found := known(t), 0
	for _, r := range parseRules(t, "log-metrics") {
		for _, matchers := range checkQuery(t, r.Alert, r.Expr, metrics) {
			var of []string
			for _, m := range matchers {
				if m.Name == "__name__" {
					of = labels[m.Value]
				}
			}
			for _, m := range matchers {
				if of != nil && m.Name != "__name__" {
					found++
					if !slices.Contains(of, m.Name) {
						t.Errorf("%s: no label %s", r.Alert, m.Name)
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("no labels are compared")
	}
}

// The pages that a unit refers to are about it, and its manual page is one that its program has.
func TestUnitReferences(t *testing.T) {
	t.Parallel()
	for name, program := range units {
		text := unit(t, name)
		pages := regexp.MustCompile(`docs/\S+\.md`).FindAllString(text, -1)
		for _, page := range pages {
			if text := string(read(t, "..", "..", page)); !strings.Contains(text, name) {
				t.Errorf("%s is not about %s", page, name)
			}
		}
		if len(pages) == 0 || !strings.Contains(text, "\nDocumentation=man:"+program+"(1)\n") {
			t.Errorf("%s refers to %q", name, pages)
		}
	}
}

// systemd-analyze accepts the units. Manual pages need not be installed.
func TestUnit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here")
	}
	for name, program := range units {
		text := strings.ReplaceAll(unit(t, name), "/usr/bin/"+program, built(t, program))
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
