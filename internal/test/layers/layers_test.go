package layers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logstow/internal/test/layers"
)

func TestCycle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]map[string]bool
		want  bool
	}{
		"chain":   {map[string]map[string]bool{"a": {"b": true}, "b": {"c": true}, "c": {}}, false},
		"diamond": {map[string]map[string]bool{"a": {"b": true, "c": true}, "b": {"d": true}, "c": {"d": true}, "d": {}}, false},
		"pair":    {map[string]map[string]bool{"a": {"b": true}, "b": {"a": true}}, true},
		"circle":  {map[string]map[string]bool{"x": {"a": true}, "a": {"b": true}, "b": {"c": true}, "c": {"a": true}}, true},
	} {
		if got := layers.Cycle(c.files); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// recorder is a test that records its errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// Check finds a circle in a package below, not in skipped directories, and reports that it saw too little.
func TestCheck(t *testing.T) { //nolint:paralleltest // the working directory
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"p/a.go": "package p\n\nfunc a() { b() }\n", "p/b.go": "package p\n\nfunc b() { c() }\n", "p/c.go": "package p\n\nfunc c() {}\n",
		"skipped/a.go": "package q\n\nfunc a() { b() }\n", "skipped/b.go": "package q\n\nfunc b() { a() }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		minimum layers.Minimum
		skip    []string
		want    string // in the only error; "" if there is none
	}{
		"no circle":          {layers.Minimum{Packages: 1, References: 2}, []string{"skipped"}, ""},
		"circle":             {layers.Minimum{Packages: 2, References: 4}, nil, "skipped: files that refer to each other in a circle: a.go, b.go"},
		"too few references": {layers.Minimum{Packages: 1, References: 3}, []string{"skipped"}, "checks too little"},
		"too few packages":   {layers.Minimum{Packages: 2, References: 2}, []string{"skipped"}, "checks too little"},
	} {
		r := &recorder{TB: t}
		layers.Check(r, c.minimum, c.skip...)
		if c.want == "" && len(r.errors) > 0 || c.want != "" && (len(r.errors) != 1 || !strings.Contains(r.errors[0], c.want)) {
			t.Errorf("%s: errors %q, want %q", name, r.errors, c.want)
		}
	}
}
