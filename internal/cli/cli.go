// Package cli holds what Logstow's commands share of their command line: flags
// that may stand anywhere, exit statuses, and the spelling of durations and sizes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/hint"
	"logstow/store"
)

// The exit statuses of both commands.
const (
	OK          = 0
	NoMatch     = 1   // nothing matched
	Usage       = 2   // wrong command line or configuration
	Incomplete  = 3   // incomplete or failed
	Refused     = 4   // access refused
	Interrupted = 130 // ended by the user
)

// Error is a failure with its exit status. A nil Err ends the command with the
// status alone, without a message.
type Error struct {
	Status int
	Err    error
}

// Error is the cause's text.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Exit ends a command with a status and no message.
func Exit(status int) error { return &Error{Status: status} }

// Usagef makes a usage error: exit status 2.
func Usagef(format string, args ...any) error {
	return &Error{Status: Usage, Err: fmt.Errorf(format, args...)}
}

// Status is the exit status that an error stands for: its own where it is an
// [*Error], 4 for refused access, 130 for an interrupted context, else 3.
func Status(err error) int {
	var e *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Status
	case errors.Is(err, store.ErrRefused):
		return Refused
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return Incomplete
}

// Run runs an application on the arguments (the program's name first) and
// returns the exit status. Flags may stand before or after positional
// arguments; an error is one line on app.ErrWriter, behind the program's name.
// "help [COMMAND]" is "[COMMAND] --help".
func Run(ctx context.Context, app *ucli.App, args []string) int {
	if len(args) > 1 && args[1] == "help" {
		args = append([]string{args[0]}, append(args[2:], "--help")...)
	}
	app.ExitErrHandler = func(*ucli.Context, error) {}
	usage := func(_ *ucli.Context, err error, _ bool) error { return Usagef("%w", err) }
	app.OnUsageError = usage
	app.DisableSliceFlagSeparator = true
	app.CommandNotFound = nil
	app.HideHelpCommand = true
	app.Setup()
	for _, c := range app.Commands {
		c.OnUsageError = usage
	}
	err := run(ctx, app, args)
	status := Status(err)
	var e *Error
	silent := err == nil || status == Interrupted || errors.As(err, &e) && e.Err == nil
	if !silent {
		fmt.Fprintf(app.ErrWriter, "%s: %s\n", app.Name, oneLine(err.Error()))
		if advice := hint.Of(err); advice != "" {
			fmt.Fprintf(app.ErrWriter, "hint: %s\n", oneLine(advice))
		}
		if status == Usage {
			fmt.Fprintf(app.ErrWriter, "%s: see %s --help\n", app.Name, strings.TrimSpace(app.Name+" "+commandName(app, args)))
		}
	}
	return status
}

func run(ctx context.Context, app *ucli.App, args []string) error {
	name := commandName(app, args)
	if name == "" {
		for _, a := range args[1:] {
			if !strings.HasPrefix(a, "-") {
				if slices.ContainsFunc(args[1:], func(a string) bool { return app.Command(a) != nil }) {
					return Usagef("the command comes first: %s COMMAND [flags]", app.Name)
				}
				return Usagef("unknown command %q", a)
			}
		}
		flags, err := Permute(app.Flags, args[1:])
		if err != nil {
			return err
		}
		return app.RunContext(ctx, append([]string{args[0]}, flags...))
	}
	rest := make([]string, 0, len(args))
	found := false
	for _, a := range args[1:] {
		if !found && a == name {
			found = true
			continue
		}
		rest = append(rest, a)
	}
	permuted, err := Permute(app.Command(name).Flags, rest)
	if err != nil {
		return err
	}
	return app.RunContext(ctx, append([]string{args[0], name}, permuted...))
}

// commandName is the first argument where it names a command, "" otherwise.
func commandName(app *ucli.App, args []string) string {
	if len(args) > 1 {
		if c := app.Command(args[1]); c != nil {
			return args[1]
		}
	}
	return ""
}

// oneLine keeps an error on one line whatever it quotes.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
