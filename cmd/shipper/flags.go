package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/blobnaming"
	"logstow/config"
	"logstow/input/kinds"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/logging"
	"logstow/internal/progress"
	"logstow/internal/timearg"
	"logstow/store/azure"
	"logstow/store/open"
)

func runCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "run",
		Usage: "read logs and ship them",
		UsageText: `shipper run --store /var/lib/logs --service web /var/log/nginx/*.log
shipper run --store azblob://logs --service web --once access.log
shipper run --config /etc/logstow/shipper.yaml`,
		ArgsUsage: "[FILE|GLOB|-]...",
		Description: `Reads files, globs (** is any number of directories) and standard input (-), and
ships their lines. Files are followed as they grow, are rotated and appear,
unless --once is given: then everything is read to its end, and the exit status
is 0 only when all of it is in storage and in the index. Without any input,
standard input is read if it is a pipe or a file.

Records are kept in a buffer on disk until they are in storage and in the index.
After a crash, a kill or an outage the next start with the same buffer continues
where this one ended: nothing is lost or stored twice. A buffer belongs to one
running shipper. With --buffer memory, records that are not in storage when the
process dies are lost.

Flags override the file of --config, with three exceptions: --service applies to
inputs without a service, --redact adds to the redaction of each input, and the
inputs of the command line are added to those of the file.

An ADDRESS is HOST:PORT. Without a host (:PORT) it listens on the loopback interface
only; 0.0.0.0:PORT is all interfaces.

SIGTERM or SIGINT ends it: the records read by then are shipped within
--drain-timeout, and the rest stays in the buffer for the next start (status 3). A
second signal ends it immediately; the buffer keeps everything.

Exit status: 0 done, 2 wrong command line, 3 incomplete or failed, 4 access denied
(with --once; else run retries), 130 interrupted before --once was done, or by a
second signal.`,
		Flags: runFlags(),
		Action: func(c *ucli.Context) error {
			s, err := readSettings(c)
			if err != nil {
				return cli.Usagef("%w", err)
			}
			opts := agent.Options{
				Version: version, Log: logging.New(os.Stderr), Getenv: open.WithAuth(os.Getenv, c.String("auth")),
				Reload: func() (agent.Settings, error) { return readSettings(c) },
			}
			forPeople(&opts, c.App.ErrWriter)
			return exitError(agent.Run(c.Context, s, opts))
		},
	}
}

// forPeople shows progress and a sentence at the end of a run if messages are printed to a terminal.
func forPeople(opts *agent.Options, messages io.Writer) {
	_, columns := progress.Screen(messages)
	if columns == 0 {
		return
	}
	if os.Getenv("TERM") == "dumb" { // it cannot redraw a line
		columns = 0
	}
	line := progress.New(messages, columns)
	opts.Log = slog.New(logging.NewHandler(line, true))
	opts.Progress = line.Start
	opts.Summarize = func(s agent.Summary) { fmt.Fprintf(line, "shipper: %v\n", s) }
}

// exitError gives an error of the agent its exit status.
func exitError(err error) error {
	var invalid *agent.SettingsError
	var incomplete *agent.IncompleteError
	switch {
	case errors.As(err, &invalid):
		return &cli.Error{Status: cli.Usage, Err: err}
	case errors.As(err, &incomplete) && incomplete.Denied:
		return &cli.Error{Status: cli.AccessDenied, Err: err}
	case errors.As(err, &incomplete):
		return &cli.Error{Status: cli.Incomplete, Err: err}
	case errors.Is(err, agent.ErrInterrupted):
		return &cli.Error{Status: cli.Interrupted, Err: err}
	}
	return err
}

// runFlags are the flags of run and check.
func runFlags() []ucli.Flag {
	var common config.Common
	settings := slices.Concat(config.New().Flags(), common.Flags())
	under := func(heading string) (all []ucli.Flag) {
		for _, one := range settings {
			if one.Heading == heading {
				all = append(all, cli.Under(heading, settingFlag(one))...)
			}
		}
		return all
	}
	return slices.Concat(cli.Under(categoryConfiguration,
		cli.Text("config=$LOGSTOW_CONFIG", "`FILE`: configuration file (YAML); flags override the file, SIGHUP reloads it"),
	), cli.Under(categoryStore,
		cli.Text("store",
			"`STORE`: directory, azblob://CONTAINER or grant://FILE to ship to (default: that of --config, else $LOGSTOW_STORE)"),
		authFlag(),
	), cli.Under(categoryService,
		cli.Text("service", "`NAME`: service name, first part of every blob name; required unless every input of --config has one"),
	), under(categoryService), cli.Under(categoryInputs,
		cli.Switch("once", "read every input to its end, from its saved position or else its start, ship everything, and exit"),
		cli.Switch("from-start",
			"read existing files and the journal from their start, not their end, if no position is saved; implied by --once; not for inputs of --config"),
	), inputFlags(), under(categoryRecords), cli.Under(categoryRecords,
		cli.Repeated("redact",
			"`KIND`: secrets to redact: bearer, sas, azure-key, connection-string, url-password, jwt, card or all; repeatable (default: none)"),
	), under(categorySegments), under(categoryBuffer), under(categoryLimits), under(categoryMetrics))
}

// settingFlag is the flag of a setting.
func settingFlag(s config.Setting) cli.Flag {
	f := cli.Text(s.Flag+"="+s.Default, s.Usage)
	if s.Clearable {
		return f.Clearable()
	}
	return f
}

// inputFlags are the flags of the kinds of inputs.
func inputFlags() (all []ucli.Flag) {
	for _, spec := range kinds.All() {
		switch kind := spec.Kind(); {
		case kind.Usage == "":
		case kind.CheckAddress == nil:
			all = append(all, cli.Under(categoryInputs, cli.Switch(kind.Name, kind.Usage))...)
		default:
			all = append(all, cli.Under(categoryInputs, cli.Repeated(kind.Name, kind.Usage))...)
		}
	}
	return all
}

// authFlag is --auth.
func authFlag() cli.Flag {
	return cli.Text("auth=$"+azure.AuthEnv, "`KIND`: Azure credential: key, sas, workload, msi, cli, or auto (the first of these that is set) (default: $LOGSTOW_AUTH, else auto)")
}

// hostInstance is the default instance: the host name.
func hostInstance(errs *problems) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		errs.advise(false, "this host has no name", "name the shipper with --instance")
		return "-"
	}
	return blobnaming.CleanInstance(host)
}

// problems are the errors of a command line.
type problems []error

// advise adds a problem with a hint unless ok.
func (p *problems) advise(ok bool, problem, advice string) {
	if !ok {
		*p = append(*p, hint.Wrap(errors.New(problem), "%s", advice))
	}
}

// check adds a problem unless ok.
func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// flag adds a problem with the value of a flag, unless err is nil.
func (p *problems) flag(name, value string, err error) {
	if err == nil {
		return
	}
	separator := ": "
	if text := err.Error(); strings.HasPrefix(text, value+": ") || strings.HasPrefix(text, strconv.Quote(value)+": ") {
		separator = " " // --flag VALUE: want …
	}
	p.check(false, "--%s%s%w", name, separator, err)
}

// noArguments adds a problem if a command has arguments.
func (p *problems) noArguments(c *ucli.Context) {
	p.check(c.NArg() == 0, "%s takes no arguments", c.Command.Name)
}

// parse reads a flag's value.
func parse[T any](errs *problems, c *ucli.Context, name string, read func(string) (T, error)) T {
	v, err := read(c.String(name))
	errs.flag(name, c.String(name), err)
	return v
}

// parseGiven is parse for a flag that may be missing; then the value is zero.
func parseGiven[T any](errs *problems, c *ucli.Context, name string, read func(string) (T, error)) (v T) {
	if c.String(name) != "" {
		v = parse(errs, c, name, read)
	}
	return v
}

// parseRange parses the flags of a range of time: --since, --from and --to. Missing times are zero.
func parseRange(errs *problems, c *ucli.Context, now time.Time) (from, to time.Time) {
	at := func(flag string, read func(string, time.Time) (time.Time, error)) time.Time {
		return parseGiven(errs, c, flag, func(text string) (time.Time, error) { return read(text, now) })
	}
	from, to = at("from", timearg.Parse), at("to", timearg.ParseEnd)
	if since := at("since", timearg.ParseSince); !since.IsZero() {
		errs.check(!c.IsSet("from"), "--since cannot be used together with --from: both set the start of the range")
		from = since
	}
	return from, to
}

// checkRange adds a problem if a range is empty.
func (p *problems) checkRange(from, to time.Time) {
	p.check(to.IsZero() || from.Before(to), "the range is empty: its start is not before its end")
}
