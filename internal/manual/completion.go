package manual

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/suggest"
)

// The last argument of a command line to complete. With the second one, candidates have descriptions behind a TAB, as fish prints them.
const (
	completeFlag     = "--generate-bash-completion"
	completeFishFlag = "--generate-fish-completion"
)

// scripts are the completion scripts of the shells, for a program called NAME.
//
//go:embed completion/*
var scripts embed.FS //nolint:gochecknoglobals // embedded files are

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// CompletionCommand prints the script by which a shell completes command lines of app. note is what the program completes in addition
// to commands and flags; it may be empty.
func CompletionCommand(app *ucli.App, note string) *ucli.Command {
	named := func(text string) string { return strings.ReplaceAll(text, "NAME", app.Name) }
	return &ucli.Command{
		Name: "completion", Usage: "print a shell's completion script", ArgsUsage: "bash|zsh|fish|powershell",
		UsageText: named("NAME completion bash\nNAME completion fish\nNAME completion powershell"),
		Description: named(`  bash, in ~/.bashrc:  source <(NAME completion bash)
  zsh, in ~/.zshrc:    source <(NAME completion zsh)    after compinit
  fish:                NAME completion fish | source    in config.fish
  pwsh, in $PROFILE:   NAME completion powershell | Out-String | iex`) + note,
		Action: func(c *ucli.Context) error {
			shell := c.Args().First()
			if c.NArg() != 1 || !slices.Contains(shells(), shell) {
				return hint.Wrap(cli.Usagef("completion needs the name of a shell: bash, zsh, fish or powershell"), "%s",
					suggest.DidYouMean(shell, shells()))
			}
			script, err := scripts.ReadFile("completion/" + shell)
			if err == nil {
				_, err = io.WriteString(c.App.Writer, named(string(script)))
			}
			return err
		},
	}
}

// Complete prints the completions of a command line, one per line. It reports whether the command line requests completion. values
// returns the known values of a flag of a command line; it may be nil.
func Complete(app *ucli.App, args []string, values func(flag string, words []string) []string) bool {
	last := len(args) - 1
	if last < 1 || args[last] != completeFlag && args[last] != completeFishFlag {
		return false
	}
	for _, one := range completions(app, args[1:last], values) {
		if args[last] == completeFlag {
			one, _, _ = strings.Cut(one, "\t")
		}
		fmt.Fprintln(app.Writer, one)
	}
	return true
}

// completions are the candidates for the next word, or for the last of words if that begins with a dash; commands and flags have
// descriptions behind a TAB.
func completions(app *ucli.App, words []string, values func(flag string, words []string) []string) (all []string) {
	var command *ucli.Command
	if len(words) > 0 {
		command = app.Command(words[0])
	}
	if command == nil {
		for _, c := range app.VisibleCommands() {
			all = append(all, c.Name+"\t"+c.Usage)
		}
		return append(all, "--help", "--version")
	}
	known := func(d *cli.Doc) []string {
		if len(d.Words) > 0 || values == nil {
			return d.Words
		}
		return values(strings.TrimLeft(d.Names[0], "-"), words)
	}
	last := words[len(words)-1]
	name, _, joined := strings.Cut(last, "=")
	docs := cli.Docs(command)
	at := slices.IndexFunc(docs, func(d cli.Doc) bool { return slices.Contains(d.Names, name) })
	switch {
	case at >= 0 && joined:
		for _, value := range known(&docs[at]) {
			all = append(all, name+"="+value)
		}
		return all
	case at >= 0 && docs[at].TakesValue():
		return known(&docs[at])
	case command.Name == "completion" && len(words) == 1:
		return shells()
	case !strings.HasPrefix(last, "-"):
		return nil
	}
	for i := range docs {
		for _, name := range docs[i].Names {
			if len(name) > len("-x") {
				all = append(all, name+"\t"+docs[i].About)
			}
		}
	}
	return append(all, "--help")
}
