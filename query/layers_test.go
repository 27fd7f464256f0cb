package query_test

import (
	"testing"

	"logstow/internal/test/layers"
)

// The files of each layer refer to each other in one direction. That packages do, the compiler
// checks. The formats in output and foreign, which are no layers, are chosen by the file that they build on.
func TestFilesReferInOneDirection(t *testing.T) {
	t.Parallel()
	layers.Check(t, layers.Minimum{Packages: 9, References: 70}, "output", "foreign")
}
