// Package logging is how the programs write their logs.
package logging

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"logstow/internal/hint"
)

// New makes a logger that writes text to a terminal and JSON elsewhere.
func New(to *os.File) *slog.Logger {
	return slog.New(NewHandler(to, term.IsTerminal(int(to.Fd()))))
}

// OrDiscard returns the logger; one that discards everything if it is nil.
func OrDiscard(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}

// NewHandler makes a handler that writes text for people, or JSON. In both, the hints of an error are in the attribute
// hint, and durations are strings, as of [time.Duration.String].
func NewHandler(to io.Writer, people bool) slog.Handler {
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
