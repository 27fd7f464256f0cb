package logging

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

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
			fmt.Errorf("ship: %w", &store.Error{Op: "read", Object: "x", Class: store.ErrAccessDenied, Hint: "ask"}),
			`"error":"ship: cannot read x: access denied","hint":"ask"}`, `error="ship: cannot read x: access denied" hint=ask`,
		},
	} {
		for _, people := range []bool{false, true} {
			var out bytes.Buffer
			log := slog.New(NewHandler(&out, people))
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

// No duration is logged as a number of nanoseconds, wherever it stands in a line.
func TestLoggedDurations(t *testing.T) {
	t.Parallel()
	const d = 90*time.Second + 250*time.Millisecond
	for _, text := range []bool{true, false} {
		var out bytes.Buffer
		slog.New(NewHandler(&out, text)).With("with", d).WithGroup("group").Info("x",
			"duration", d, "group", slog.GroupValue(slog.Duration("duration", d)), "value", later{d}, "any", any(d))
		if got := out.String(); strings.Count(got, "1m30.25s") != 5 || strings.Contains(got, "90250000000") {
			t.Errorf("text %t: %s", text, got)
		}
	}
}

// later is a duration when it is logged.
type later struct{ time.Duration }

func (l later) LogValue() slog.Value { return slog.DurationValue(l.Duration) }

// A clock that goes back does not silence the log until it is where it was.
func TestLimiterClockBack(t *testing.T) {
	t.Parallel()
	var l Limiter
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{{0, true}, {9 * time.Second, false}, {10 * time.Second, true}, {-24 * time.Hour, true}, {-24*time.Hour + time.Second, false}} {
		if got := l.AllowAt(now.Add(c.at)); got != c.want {
			t.Errorf("at %v: %v", c.at, got)
		}
	}
}
