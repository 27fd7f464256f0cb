// Command shipper reads logs and ships them to blob storage.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
	_ "time/tzdata" // --time-zone works on machines without a zone database

	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/internal/cli"
	"logstow/internal/manual"
)

// version is set when a release is built.
var version = "dev" //nolint:gochecknoglobals // the linker sets it

// memoryLimit is the soft memory limit, unless GOMEMLIMIT is set. With the memory that
// it does not count, the process stays below 128 MiB.
const memoryLimit = 90 << 20

func main() { os.Exit(run()) }

// run is the whole program; it returns the exit status.
func run() int {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if status, ok := runAsService(); ok {
		return status
	}
	ctx, stop := signals()
	defer stop()
	p := program()
	if manual.Complete(p.App, os.Args, nil) {
		return cli.OK
	}
	return cli.Run(ctx, *p, os.Args)
}

// program is the command line.
func program() *cli.Program {
	p := &cli.Program{
		App: &ucli.App{
			Name:  "shipper",
			Usage: "ship logs to blob storage",
			UsageText: `shipper run --store /var/lib/logs --service web /var/log/nginx/access.log
shipper check --config /etc/logstow/shipper.yaml
shipper retain --store azblob://logs --keep 30d --dry-run`,
			Version:   cli.Version(version),
			Writer:    os.Stdout,
			ErrWriter: os.Stderr,
			Commands:  []*ucli.Command{runCommand(), checkCommand(), statusCommand(), tapCommand(), quarantineCommand(), resendCommand(), retainCommand(), compactCommand(), exportCommand(), importCommand(), verifyCommand(), reindexCommand(), grantCommand()},
		},
		OtherNames: instead(), OtherFlags: map[string]string{"s": "--service", "c": "--config"},
		Variables: variables(), Manual: "docs/README.md",
	}
	p.Commands = append(p.Commands, manual.CompletionCommand(p.App, ""), manual.ManCommand(p))
	return p
}

// sameStop is how long after the first signal others are the same request: timeout(1), npm and other wrappers signal their
// child and then its process group, which it is in.
const sameStop = 500 * time.Millisecond

// signals returns a context that SIGINT or SIGTERM ends; a later one ends the process at once.
func signals() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for first := (time.Time{}); ; {
			select {
			case <-received:
				switch {
				case first.IsZero():
					first = time.Now()
					cancel(agent.ErrStopped)
				case time.Since(first) > sameStop:
					os.Exit(cli.Interrupted)
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(done)
		cancel(nil)
	}
}
