package main

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// newLogger writes for people on a terminal and for programs elsewhere.
func newLogger(to *os.File) *slog.Logger {
	return slog.New(logHandler(to, term.IsTerminal(int(to.Fd()))))
}

// logHandler writes text or JSON. In both, durations are as [time.Duration.String] has
// them: JSON's own form of them is a number of nanoseconds.
func logHandler(to io.Writer, text bool) slog.Handler {
	opts := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}}
	if text {
		return slog.NewTextHandler(to, opts)
	}
	return slog.NewJSONHandler(to, opts)
}
