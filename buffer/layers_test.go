package buffer_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"logstow/internal/layers"
)

// The files of each package of the buffer refer to each other in one direction. That packages do, the compiler
// checks.
func TestFilesReferInOneDirection(t *testing.T) {
	t.Parallel()
	references, packages := 0, 0
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
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
	if packages < 9 || references < 140 {
		t.Errorf("%d packages with %d references between files: the test checks too little", packages, references)
	}
}
