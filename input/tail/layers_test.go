package tail_test

import (
	"strings"
	"testing"

	"logstow/internal/layers"
)

// The files refer to each other in one direction: identity of files first, what executes it last.
func TestFilesReferInOneDirection(t *testing.T) {
	t.Parallel()
	files, err := layers.References(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 15 {
		t.Errorf("%d files: the test checks too little", len(files))
	}
	if cycle := layers.Cycle(files); cycle != nil {
		t.Errorf("files that refer to each other in a circle: %s", strings.Join(cycle, ", "))
	}
}
