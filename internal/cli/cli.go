// Package cli has the parts of the command line that Logstow's programs share: flags in any position, help and exit
// statuses.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/hint"
	"logstow/internal/suggest"
	"logstow/store"
)

// The exit statuses of both commands.
const (
	OK           = 0
	NoMatch      = 1   // nothing matched
	Usage        = 2   // wrong command line or configuration
	Incomplete   = 3   // incomplete or failed
	AccessDenied = 4   // access denied
	Interrupted  = 130 // ended by the user
)

// Error is a failure with its exit status. A nil Err exits with the status alone, without a
// message.
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

// Exit returns an error that exits with a status and no message.
func Exit(status int) error { return &Error{Status: status} }

// Usagef makes a usage error: exit status 2.
func Usagef(format string, args ...any) error {
	return &Error{Status: Usage, Err: fmt.Errorf(format, args...)}
}

// Status is the exit status of an error: its own for an [*Error], 4 for access denied, 130 for an
// interrupted context, otherwise 3.
func Status(err error) int {
	var e *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Status
	case errors.Is(err, store.ErrAccessDenied):
		return AccessDenied
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return Incomplete
}

// Program is a program's command line: an application of urfave/cli, and what its help and its
// errors add. Examples are the UsageText of the application and of each command, one per line.
type Program struct {
	*ucli.App
	// OtherNames maps names of commands in other programs to the command to type here.
	OtherNames map[string]string
	// OtherFlags maps names of flags in other programs, without dashes, to the flag to type here, with its dashes and perhaps a value.
	OtherFlags map[string]string
	// Variables are the environment variables that it reads.
	Variables []Variable
	// Rules are the rules for flags that are given together.
	Rules []Rule
	// Manual names the page of the documentation.
	Manual string
}

// Variable is an environment variable.
type Variable struct {
	Name string
	// Usage is a noun phrase for the help.
	Usage string
	// Commands are the commands that read it; none is all.
	Commands []string
}

// Run runs a program on the arguments (its name first) and returns the exit status. Flags may stand
// before or after positional arguments; an error is printed in one line on ErrWriter, after the
// program's name, and its hint in another. "help [COMMAND]" is "[COMMAND] --help". A program may be
// run again, but not concurrently: its flags hold values of the environment.
func Run(ctx context.Context, p Program, args []string) int {
	if len(args) > 1 && args[1] == "help" {
		args = append([]string{args[0]}, append(args[2:], "--help")...)
	}
	err := run(ctx, p, args)
	status := Status(err)
	var e *Error
	silent := err == nil || status == Interrupted || errors.As(err, &e) && e.Err == nil
	if !silent {
		Report(p.ErrWriter, p.Name, err)
		if status == Usage {
			fmt.Fprintf(p.ErrWriter, "%s: see %s --help\n", p.Name, strings.TrimSpace(p.Name+" "+commandName(p, args)))
		}
	}
	return status
}

// Report prints an error in one line after a program's name, and each of its hints in another.
func Report(w io.Writer, name string, err error) {
	fmt.Fprintf(w, "%s: %s\n", name, oneLine(err.Error()))
	for _, advice := range hint.All(err) {
		fmt.Fprintf(w, "hint: %s\n", oneLine(advice))
	}
}

func run(ctx context.Context, p Program, args []string) error {
	name := commandName(p, args)
	command, flags, rest := p.Command(name), Under("", Switch("version,v", "")), args[1:]
	if command != nil {
		flags, rest = slices.Clone(command.Flags), args[2:]
	} else if i := slices.IndexFunc(rest, func(a string) bool { return !strings.HasPrefix(a, "-") }); i >= 0 {
		return p.unknownCommand(rest[i], rest)
	}
	permuted, err := Permute(append(flags, Under("", Switch("help,h", ""))...), p.OtherFlags, rest)
	if err != nil {
		return err
	}
	end := slices.Index(permuted, "--")
	given, positional := permuted[:end], permuted[end+1:]
	switch {
	case slices.Contains(given, "--help"):
		return p.writeHelp(command)
	case command != nil:
		return act(ctx, p, command, permuted)
	case slices.Contains(given, "--version"):
		_, err := fmt.Fprintf(p.Writer, "%s version %s\n", p.Name, p.Version)
		return err
	case len(positional) > 0:
		return p.unknownCommand(positional[0], rest)
	}
	return p.writeHelp(nil)
}

// act runs a command with arguments that [Permute] has returned.
func act(ctx context.Context, p Program, command *ucli.Command, args []string) error {
	set := flag.NewFlagSet(command.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range command.Flags {
		if err := f.Apply(set); err != nil {
			return Usagef("%w", err)
		}
	}
	if err := set.Parse(args); err != nil {
		return Usagef("%w", err)
	}
	c := ucli.NewContext(p.App, set, nil)
	c.Context, c.Command = ctx, command
	if err := check(c, p.Rules); err != nil {
		return err
	}
	return command.Action(c)
}

// unknownCommand suggests a command for an unknown word.
func (p Program) unknownCommand(word string, args []string) error {
	if slices.ContainsFunc(args, func(a string) bool { return p.Command(a) != nil }) {
		return hint.Wrap(Usagef("the command comes first"), "%s COMMAND [flags]", p.Name)
	}
	if args[0] != word { // a flag with its value
		return hint.Wrap(Usagef("a command is missing before %s", args[0]), "the commands are %s", strings.Join(p.commandNames(), ", "))
	}
	err := Usagef("unknown command %q", word)
	if instead := p.OtherNames[word]; instead != "" {
		return hint.Wrap(err, "%s", instead)
	}
	names := p.commandNames()
	if near := suggest.Nearest(word, names); near != "" {
		return hint.Wrap(err, "did you mean %s %s?", p.Name, near)
	}
	return hint.Wrap(err, "the commands are %s", strings.Join(names, ", "))
}

// commandNames are the names of the commands that help lists.
func (p Program) commandNames() (names []string) {
	for _, c := range p.VisibleCommands() {
		names = append(names, c.Name)
	}
	return names
}

// commandName returns the first argument if it names a command, otherwise "".
func commandName(p Program, args []string) string {
	if len(args) > 1 && p.Command(args[1]) != nil {
		return args[1]
	}
	return ""
}

// oneLine keeps an error in one line whatever it quotes, and removes control characters. What several layers report, such as a full disk, is
// printed once.
func oneLine(s string) string {
	var lines []string
	for _, line := range strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	var out strings.Builder
	for _, r := range strings.Join(lines, "; ") {
		if unicode.IsControl(r) && r != '\t' {
			fmt.Fprintf(&out, `\x%02x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}
