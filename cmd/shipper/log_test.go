package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"logstow/internal/hint"
	"logstow/store"
)

// Advice is an attribute beside the error, wherever that stands.
func TestLoggedHint(t *testing.T) {
	t.Parallel()
	failure := errors.New("broken")
	for _, c := range []struct {
		err  error
		json string
		text string
	}{
		{failure, `"error":"broken"}`, `error=broken`},
		{hint.Wrap(failure, "mend it"), `"error":"broken","hint":"mend it"}`, `error=broken hint="mend it"`},
		{
			fmt.Errorf("ship: %w", &store.Error{Op: "read", Object: "x", Class: store.ErrRefused, Hint: "ask"}),
			`"error":"ship: cannot read x: access refused","hint":"ask"}`, `error="ship: cannot read x: access refused" hint=ask`,
		},
	} {
		for _, people := range []bool{false, true} {
			var out bytes.Buffer
			log := slog.New(newHandler(&out, people))
			log.With("error", c.err).Error("message", "n", 1)
			log.Error("message", "n", 1, "error", c.err)
			want := c.json
			if people {
				want = c.text
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(lines) != 2 || !strings.HasSuffix(lines[1], want) || !strings.Contains(lines[0], strings.TrimSuffix(want, "}")) {
				t.Errorf("%v, %v: %s", c.err, people, &out)
			}
		}
	}
}
