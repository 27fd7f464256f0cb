package hint_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"logstow/internal/hint"
)

// advised is an error of another package that carries advice.
type advised struct{}

func (advised) Error() string  { return "x" }
func (advised) Advice() string { return "ask" }

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
	joined := errors.Join(cause, fmt.Errorf("a: %w", err), hint.Wrap(cause, "two"), hint.Wrap(cause, "create it"))
	if got := hint.All(joined); !slices.Equal(got, []string{"create it", "two"}) {
		t.Errorf("hints %q", got)
	}
	if got := hint.Of(advised{}); got != "ask" {
		t.Errorf("advice %q", got)
	}
	if got := hint.Of(hint.Wrap(advised{}, "")); got != "ask" {
		t.Errorf("advice behind an empty hint %q", got)
	}
	if !errors.Is(err, cause) || hint.Of(cause) != "" || hint.Wrap(nil, "x") != nil {
		t.Error("a hint hides or invents an error")
	}
}
