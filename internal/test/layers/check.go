package layers

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Minimum are the least numbers of packages and of references between their files that [Check]
// must see, so that it does not pass without having checked anything.
type Minimum struct{ Packages, References int }

// Check fails a test if files of a package refer to each other in a circle, in the working
// directory of the test or a directory below it. It skips directories named testdata or as in skip.
func Check(t testing.TB, minimum Minimum, skip ...string) {
	t.Helper()
	var seen Minimum
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" || slices.Contains(skip, d.Name()) {
			return fs.SkipDir
		}
		files, err := References(dir)
		if err != nil {
			return err
		}
		if len(files) > 0 {
			seen.Packages++
		}
		for _, to := range files {
			seen.References += len(to)
		}
		if cycle := Cycle(files); cycle != nil {
			t.Errorf("%s: files that refer to each other in a circle: %s", dir, strings.Join(cycle, ", "))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen.Packages < minimum.Packages || seen.References < minimum.References {
		t.Errorf("%d packages with %d references between files: the test checks too little", seen.Packages, seen.References)
	}
}
