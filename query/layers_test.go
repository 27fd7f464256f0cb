package query_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logstow/internal/layers"
)

// The files of each layer refer to each other in one direction. That packages do, the compiler
// checks. The formats in output and foreign, which are no layers, are chosen by the file that they build on.
func TestFilesReferInOneDirection(t *testing.T) {
	t.Parallel()
	references, packages := 0, 0
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if slices.Contains([]string{"testdata", "output", "foreign"}, d.Name()) {
			return fs.SkipDir
		}
		files, err := layers.References(dir)
		if err != nil {
			return err
		}
		if len(files) > 0 {
			packages++
		}
		for _, to := range files {
			references += len(to)
		}
		if cycle := layers.Cycle(files); cycle != nil {
			t.Errorf("%s: files that refer to each other in a circle: %s", dir, strings.Join(cycle, ", "))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if packages < 9 || references < 70 {
		t.Errorf("%d packages with %d references between files: the test checks too little", packages, references)
	}
}
