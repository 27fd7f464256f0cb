package main

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"logstow/internal/hint"
)

// newLogger writes for people on a terminal and for programs elsewhere.
func newLogger(to *os.File) *slog.Logger {
	return slog.New(newHandler(to, term.IsTerminal(int(to.Fd()))))
}

// newHandler writes text for people, else JSON. In both, what to do about an error
// stands in an attribute of its own, hint, and durations are as
// [time.Duration.String] has them: JSON's own form of them is a number of nanoseconds.
func newHandler(to io.Writer, people bool) slog.Handler {
	opts := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(a.Value.Duration().String())
			return a
		}
		err, ok := a.Value.Any().(error)
		advice := hint.Of(err)
		if !ok || advice == "" {
			return a
		}
		return slog.Attr{Value: slog.GroupValue(slog.String(a.Key, err.Error()), slog.String("hint", advice))}
	}}
	if people {
		return slog.NewTextHandler(to, opts)
	}
	return slog.NewJSONHandler(to, opts)
}
