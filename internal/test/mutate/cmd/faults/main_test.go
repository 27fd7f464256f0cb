package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"logstow/internal/test/effort"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// A seed chooses the same faults each time, and one that survives is an error.
func TestRun(t *testing.T) {
	effort.Need(t, effort.Full, "takes seconds")
	archive, err := txtar.ParseFile(filepath.Join("..", "..", "testdata", "run.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := txtar.Write(archive, dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var first string
	for range 2 {
		var out bytes.Buffer
		// Nothing tests More: any fault of it survives.
		if err := run(t.Context(), []string{"-n", "1", "-seed", "3", "-files", "more.go$", "."}, &out); !errors.Is(err, errSurvived) {
			t.Fatalf("error %v, want %v\n%s", err, errSurvived, &out)
		}
		if first == "" {
			first = out.String()
		}
		if diff := cmp.Diff(first, out.String()); diff != "" {
			t.Error(diff)
		}
	}
	if !strings.HasPrefix(first, "seed 3: 1 of ") || !strings.Contains(first, "\n1. survived: more.go:") || !strings.HasSuffix(first, "\n0 caught, 1 survived\n") {
		t.Error(first)
	}
	if err := run(t.Context(), []string{"-seed", "x"}, &bytes.Buffer{}); err == nil {
		t.Error("a wrong flag is no error")
	}
}
