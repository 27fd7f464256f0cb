package tail_test

import (
	"testing"

	"logstow/internal/test/layers"
)

// The files refer to each other in one direction: identity of files first, what executes it last.
func TestFilesReferInOneDirection(t *testing.T) {
	t.Parallel()
	layers.Check(t, layers.Minimum{Packages: 1, References: 80})
}
