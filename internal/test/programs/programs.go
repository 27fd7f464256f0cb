// Package programs builds the programs that tests run, once for the test binaries of all packages.
package programs

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"logstow/internal/test/module"
)

// Crashpoints is the build tag of programs that can be killed at named points.
const Crashpoints = "crashpoints"

// Build builds main packages, given by import path, with a build tag or "", and returns the directory that has the programs.
// It is below bin/ of the source tree and stays: the compiler leaves a program that is up to date as it is, so that only the
// first of several test binaries, or of several runs, links anything. Test binaries that build at the same time take turns.
// A test binary builds the same programs once, however often it asks for them. Call it in a test, not in TestMain: see readSources.
func Build(tag string, packages ...string) (dir string, err error) {
	key := fmt.Sprint(tag, packages)
	mu.Lock()
	defer mu.Unlock()
	if built[key] == "" {
		if built[key], err = build(tag, packages); err != nil {
			return "", err
		}
	}
	return built[key], nil
}

// built are the directories of what this process has built.
//
//nolint:gochecknoglobals // as long as the process
var (
	mu    sync.Mutex
	built = map[string]string{}
)

func build(tag string, packages []string) (dir string, err error) {
	root, err := module.Root()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(root, "bin", "test", cmp.Or(tag, "plain"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build %q: %w", packages, err)
	}
	unlock, err := module.Lock(filepath.Join(root, "bin", "test", ".lock"))
	if err != nil {
		return "", fmt.Errorf("build %q: lock %s: %w", packages, dir, err)
	}
	defer unlock()
	cmd := exec.Command("go",
		append([]string{"build", "-tags", tag, "-ldflags", "-s -w", "-o", dir + string(filepath.Separator)}, packages...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %q: %w\n%s", packages, err, out)
	}
	return dir, readSources(root, tag, packages)
}

// readSources reads what the programs are made of. The go command keeps the result of a test that passed until a file of the module that
// the test itself opened, after TestMain called Run, has changed; it does not know of those that "go build" reads.
func readSources(root, tag string, packages []string) error {
	const files = `{{with .Module}}{{if .Main}}{{$.Dir}}{{range $.EmbedFiles}}{{"\n"}}{{$.Dir}}/{{.}}{{end}}{{end}}{{end}}`
	cmd := exec.Command("go", append([]string{"list", "-deps", "-tags", tag, "-f", files}, packages...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the sources of %q: %w", packages, err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if info, err := os.Stat(path); err != nil {
			return err
		} else if !info.IsDir() {
			continue
		}
		if _, err := os.ReadDir(path); err != nil {
			return err
		}
	}
	return nil
}
