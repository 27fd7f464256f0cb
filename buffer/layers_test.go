package buffer_test

import (
	"testing"

	"logstow/internal/test/layers"
)

// The files of each package of the buffer refer to each other in one direction. That packages do, the compiler
// checks.
func TestFilesReferInOneDirection(t *testing.T) {
	t.Parallel()
	layers.Check(t, layers.Minimum{Packages: 8, References: 140})
}
