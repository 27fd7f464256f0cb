// Command logq searches logs in blob storage.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
	_ "time/tzdata" // --tz works on machines without a zone database

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/manual"
	"logstow/internal/progress"
	"logstow/internal/retry"
)

// version is set when the program is built.
var version = "dev" //nolint:gochecknoglobals // the linker writes it

// memoryLimit is the soft memory limit, unless GOMEMLIMIT is set: with the memory that it does not count, the
// process stays below 128 MiB.
const memoryLimit = 96 << 20

// groupsLimit is the soft memory limit in addition to --memory: with what it does not count, and large buffers that are allocated
// while memory is collected, the process stays below --memory and 96 MiB.
const groupsLimit = 32 << 20

// gcPercent is the growth of the heap between collections unless GOGC is set. memoryLimit bounds the heap; with Go's default of
// 100, collections take a fifth of the time of a query of 20 ms.
const gcPercent = 400

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	// A closed pipe is an error of the write, which ends the program quietly.
	signal.Ignore(syscall.SIGPIPE)
	env := environment{
		getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		out: screenOf(os.Stdout), err: screenOf(os.Stderr), piped: isPipe(os.Stdout), now: time.Now, tempDir: os.TempDir(),
	}
	if env.piped {
		env.stdout = pipe{os.Stdout}
	}
	status := run(ctx, os.Args, env)
	stop()
	os.Exit(status)
}

// screenOf is the terminal that a file is, if it is one.
func screenOf(f *os.File) screen {
	rows, columns := progress.Screen(f)
	return screen{rows, columns}
}

// errLeft means that the reader of standard output is gone, which is a success.
var errLeft = errors.New("standard output is closed") //nolint:gochecknoglobals // a sentinel

// pipe is a standard output whose reader may leave. Connections to storage may break with the same error of the system, which is a failure.
type pipe struct{ io.Writer }

func (p pipe) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = errLeft
	}
	return n, err
}

func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

func commands(env environment) (all []*ucli.Command) {
	for _, one := range []struct {
		*ucli.Command
		run func(*ucli.Context, environment) error
	}{
		{queryCommand(), runQuery},
		{statsCommand(), runStats},
		{fieldsCommand(), runFields},
		{patternsCommand(), runPatterns},
		{qlCommand(), runQL},
		{savedCommand(), runSaved},
		{serveCommand(), runServe},
		{servicesCommand(), listServices},
		{segmentsCommand(), listSegments},
	} {
		one.Flags = flagsOf(one.Name)
		one.Action = func(c *ucli.Context) error {
			env := env
			env.noPager = c.Bool("no-pager") || env.getenv("TERM") == "dumb"
			if err := one.run(c, env); !errors.Is(err, errLeft) {
				return err
			}
			return nil
		}
		all = append(all, one.Command)
	}
	return all
}

// program is the command line in an environment.
func program(env environment) *cli.Program {
	p := &cli.Program{
		App: &ucli.App{
			Name:  "logq",
			Usage: "search logs in blob storage",
			UsageText: `logq query -s shop --since 2h -l error+
logq query --since yesterday --where 'status >= 500' 4bf92f3577b34da6
logq stats --since 1d --by hour`,
			Version: cli.Version(version),
			Writer:  env.stdout, ErrWriter: env.stderr,
			Commands: commands(env),
		},
		OtherNames: instead(), OtherFlags: flagsInstead(), Variables: variables(), Rules: rules(), Manual: "docs/query.md",
	}
	p.Commands = append(p.Commands, manual.CompletionCommand(p.App, completionNote), manual.ManCommand(p))
	return p
}

// run runs the program in an environment and returns its exit status.
func run(ctx context.Context, args []string, env environment) int {
	env.out, env.err = env.out.as(env.getenv("COLUMNS")), env.err.as(env.getenv("COLUMNS"))
	ctx, env = withMessages(ctx, env)
	p := program(env)
	if manual.Complete(p.App, args, func(flag string, words []string) []string { return values(ctx, flag, words, env) }) {
		return cli.OK
	}
	return cli.Run(ctx, *p, args)
}

// withMessages adds a progress line below the messages on standard error, among them reports of
// requests that are retried.
func withMessages(ctx context.Context, env environment) (context.Context, environment) {
	columns := env.err.columns
	if env.getenv("TERM") == "dumb" {
		columns = 0
	}
	env.line = progress.New(env.stderr, columns)
	env.stderr = env.line
	return retry.WithReporter(ctx, func(r retry.Attempt) { env.printf("%v", r) }), env
}
