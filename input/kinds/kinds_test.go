package kinds_test

import (
	"testing"

	"logstow/input"
	"logstow/input/kinds"
)

// An input with options that its protocols reject is not opened.
func TestOpenHTTPChecksOptions(t *testing.T) {
	t.Parallel()
	if r, err := new(kinds.HTTP).Open(t.Context(), input.Opening{Options: input.Options{MaxRecord: 1}}); err == nil {
		t.Errorf("got %v and no error", r)
	}
}
