package main

import (
	"log/slog"
	"os"

	"golang.org/x/term"
)

// newLogger writes for people on a terminal and for programs elsewhere.
func newLogger(to *os.File) *slog.Logger {
	if term.IsTerminal(int(to.Fd())) {
		return slog.New(slog.NewTextHandler(to, nil))
	}
	return slog.New(slog.NewJSONHandler(to, nil))
}
