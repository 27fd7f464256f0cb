package hint_test

import (
	"errors"
	"fmt"
	"testing"

	"logstow/internal/hint"
)

func TestHint(t *testing.T) {
	t.Parallel()
	cause := errors.New("cannot open store: no such directory")
	err := fmt.Errorf("query: %w", hint.Wrap(cause, "create %s", "it"))
	if got := err.Error(); got != "query: cannot open store: no such directory" {
		t.Errorf("text %q", got)
	}
	if got := hint.Of(err); got != "create it" {
		t.Errorf("hint %q", got)
	}
	if got := hint.Of(hint.Wrap(err, "outer")); got != "outer" {
		t.Errorf("outermost hint %q", got)
	}
	if !errors.Is(err, cause) || hint.Of(cause) != "" || hint.Wrap(nil, "x") != nil {
		t.Error("a hint hides or invents an error")
	}
}
