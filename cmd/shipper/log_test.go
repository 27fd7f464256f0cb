package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// No duration is logged as a number of nanoseconds, wherever it stands in a line.
func TestLoggedDurations(t *testing.T) {
	t.Parallel()
	const d = 90*time.Second + 250*time.Millisecond
	for _, text := range []bool{true, false} {
		var out bytes.Buffer
		slog.New(logHandler(&out, text)).With("with", d).WithGroup("group").Info("x",
			"duration", d, "group", slog.GroupValue(slog.Duration("duration", d)), "value", later{d}, "any", any(d))
		if got := out.String(); strings.Count(got, "1m30.25s") != 5 || strings.Contains(got, "90250000000") {
			t.Errorf("text %t: %s", text, got)
		}
	}
}

// later is a duration when it is logged.
type later struct{ time.Duration }

func (l later) LogValue() slog.Value { return slog.DurationValue(l.Duration) }
