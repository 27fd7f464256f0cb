package mutate_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"logstow/internal/test/effort"
	"logstow/internal/test/mutate"
)

var update = flag.Bool("update", false, "rewrite testdata/faults.txt")

// module writes a module of testdata to a new directory.
func module(t *testing.T, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := txtar.Write(archive, dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	return dir
}

// All faults of testdata/find.txt are those in testdata/faults.txt, no lock, deferred call
// or logger among them.
func TestFind(t *testing.T) {
	dir := module(t, "find.txt")
	faults, err := mutate.Load(t.Context(), dir, "./...")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, f := range faults {
		src, err := os.ReadFile(f.File)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(f.Diff(src) + "\n")
	}
	golden := filepath.Join("testdata", "faults.txt")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

// Each outcome is reported, the files stay as they are, and tests that fail without a
// fault are an error.
func TestRun(t *testing.T) {
	effort.Need(t, effort.Full, "takes seconds")
	dir := module(t, "run.txt")
	before := map[string][]byte{}
	for _, name := range []string{"run.go", "more.go"} {
		path := filepath.Join(dir, name)
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before[path] = src
	}
	faults, err := mutate.Load(t.Context(), dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	r := &mutate.Runner{Dir: dir, Timeout: 20 * time.Second}
	if err := r.Check(t.Context(), "."); err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]mutate.Outcome{
		"operator < is <= // caught":               mutate.Caught,
		"operator > is >= // survived":             mutate.Survived,
		"operator > is >= // by the user":          mutate.Survived,
		"statement is missing // hangs":            mutate.TimedOut,
		"statement is missing // does not compile": mutate.Invalid,
	}
	for _, f := range faults {
		_, comment, _ := strings.Cut(f.Diff(before[f.File]), "// ")
		comment, _, _ = strings.Cut(comment, "\n")
		line := f.Kind + " // " + comment
		want, ok := outcomes[line]
		if !ok {
			continue
		}
		delete(outcomes, line)
		if got, _, err := r.Run(t.Context(), f); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", line, got, err, want)
		}
		if want == mutate.Survived && strings.Contains(line, "by the user") {
			more := &mutate.Runner{Dir: dir, Timeout: r.Timeout, Tests: []string{"./user"}}
			if got, by, err := more.Run(t.Context(), f); got != mutate.Caught || by != "Test" || err != nil {
				t.Errorf("with the tests of its user: %s by %s, %v", got, by, err)
			}
		}
	}
	if len(outcomes) > 0 {
		t.Errorf("no faults in %q", outcomes)
	}
	for path, src := range before {
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(src, after) {
			t.Errorf("%s was changed: %v", path, err)
		}
	}
	if err := r.Check(t.Context(), "./failing"); err == nil {
		t.Error("failing tests are not reported")
	}
}
