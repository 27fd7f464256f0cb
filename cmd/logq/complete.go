package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/suggest"
	"logstow/query"
	"logstow/query/explain"
	"logstow/store/open"
)

// completeFlag is the last argument of a command line to complete.
const completeFlag = "--generate-bash-completion"

// completeTime limits reading the stores.
const completeTime = 3 * time.Second

// The completion scripts of the shells.
var (
	//go:embed completion/logq.bash
	bashScript string //nolint:gochecknoglobals // embedded files are
	//go:embed completion/logq.zsh
	zshScript string //nolint:gochecknoglobals // as above
	//go:embed completion/logq.fish
	fishScript string //nolint:gochecknoglobals // as above
	//go:embed completion/logq.ps1
	powerShellScript string //nolint:gochecknoglobals // as above
)

func completionCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "completion",
		Usage:     "print a shell's completion script",
		UsageText: "logq completion bash\nlogq completion fish\nlogq completion powershell",
		ArgsUsage: "bash|zsh|fish|powershell",
		Description: `  bash, in ~/.bashrc:  source <(logq completion bash)
  zsh, in ~/.zshrc:    source <(logq completion zsh)    after compinit
  fish:                logq completion fish | source    in config.fish
  pwsh, in $PROFILE:   logq completion powershell | Out-String | iex

Services and fields are those of the store that the line, or $LOGSTOW_STORE,
names; fields are those of the newest records of the service.`,
	}
}

func printCompletion(c *ucli.Context, env environment) error {
	script, known := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript, "powershell": powerShellScript}[c.Args().First()]
	if !known || c.NArg() != 1 {
		return hint.Wrap(cli.Usagef("completion needs the name of a shell: bash, zsh, fish or powershell"), "%s", suggest.DidYouMean(c.Args().First(), shells()))
	}
	_, err := fmt.Fprint(env.stdout, script)
	return err
}

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// complete prints the completions of a command line, one per line. It reports whether the
// command line requests completion.
func complete(ctx context.Context, app *ucli.App, args []string, env environment) bool {
	last := len(args) - 1
	if last < 1 || args[last] != completeFlag {
		return false
	}
	for _, one := range completions(ctx, app, args[1:last], env) {
		fmt.Fprintln(env.stdout, one)
	}
	return true
}

// completions are the candidates for the next word, or for the last of words if that
// begins with a dash.
func completions(ctx context.Context, app *ucli.App, words []string, env environment) (all []string) {
	var command *ucli.Command
	if len(words) > 0 {
		command = app.Command(words[0])
	}
	if command == nil {
		for _, c := range app.VisibleCommands() {
			all = append(all, c.Name)
		}
		return all
	}
	last := words[len(words)-1]
	name, _, joined := strings.Cut(last, "=")
	switch f := flagOf(command, name); {
	case joined && f != nil:
		for _, value := range values(ctx, f.Names()[0], words, env) {
			all = append(all, name+"="+value)
		}
		return all
	case f != nil && cli.TakesValue(f):
		return values(ctx, f.Names()[0], words, env)
	case command.Name == "completion" && len(words) == 1:
		return shells()
	case !strings.HasPrefix(last, "-"):
		return nil
	}
	for _, f := range command.VisibleFlags() {
		for _, n := range f.Names() {
			if len(n) > 1 {
				all = append(all, "--"+n)
			}
		}
	}
	return append(all, "--help")
}

func flagOf(c *ucli.Command, word string) ucli.Flag {
	name := strings.TrimLeft(word, "-")
	for _, f := range c.Flags {
		if word != name && slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// values are the known values of a flag.
func values(ctx context.Context, flag string, words []string, env environment) []string {
	switch flag {
	case "service":
		return servicesOf(ctx, words, env)
	case "level":
		return append(explain.LevelNames(), "warn+", "error+")
	case "by":
		return append([]string{"level", "minute", "hour", "day", "service", "source", "instance"}, fieldsOf(ctx, words, env, listedName)...)
	case "sort":
		if words[0] == "stats" {
			return append(keysOf(words), "count")
		}
		fallthrough
	case "fields", "distinct":
		return append(fixedFields(), fieldsOf(ctx, words, env, listedName)...)
	case "where":
		return append(fixedFields(), fieldsOf(ctx, words, env, conditionName)...)
	case "tz":
		return []string{"local", "UTC"}
	case "auth":
		return []string{"auto", "key", "sas", "msi", "workload", "cli"}
	case "since":
		return []string{"15m", "1h", "1d", "1w", "today", "yesterday"}
	}
	return choices(words[0], flag)
}

// given are the values in words of a flag, which has several names.
func given(words []string, names ...string) (all []string) {
	for i, word := range words {
		name, value, joined := strings.Cut(word, "=")
		switch {
		case !slices.Contains(names, name):
		case joined:
			all = append(all, value)
		case i+1 < len(words):
			all = append(all, words[i+1])
		}
	}
	return all
}

// servicesOf are the services of the stores that words name. A store that cannot be
// listed has none.
func servicesOf(ctx context.Context, words []string, env environment) (all []string) {
	eachStore(ctx, words, env, func(ctx context.Context, s query.Store) {
		names, _ := query.Services(ctx, s)
		all = append(all, names...)
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// eachStore calls f with the stores that words name, for [completeTime] in all. One that cannot be opened
// is left out, and --file names none.
func eachStore(ctx context.Context, words []string, env environment, f func(context.Context, query.Store)) {
	if len(given(words, "--file")) > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(env.completeTime, completeTime))
	defer cancel()
	for _, spec := range env.storeSpecs(given(words, "--store"), given(words, "--grant")) {
		s, err := open.Store(ctx, spec, open.Options{Getenv: env.getenv, Auth: strings.Join(given(words, "--auth"), "")})
		if err != nil {
			continue
		}
		f(ctx, query.ReadOnly(s))
		_ = s.Close() // nothing was written
	}
}
