package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/agent"
	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/input/kinds"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/logging"
	"logstow/internal/progress"
	"logstow/internal/timearg"
	"logstow/internal/units"
	"logstow/store/azure"
	"logstow/store/open"
	"logstow/watch"
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
	return slices.Concat(cli.Categorize(categoryConfiguration,
		&ucli.StringFlag{Name: "config", EnvVars: []string{"LOGSTOW_CONFIG"}, Usage: "`FILE`: configuration file (YAML); flags override the file, SIGHUP reloads it"},
	), cli.Categorize(categoryStore,
		&ucli.StringFlag{Name: "store", Usage: "`STORE`: directory, azblob://CONTAINER or grant://FILE to ship to (default: that of --config, else $LOGSTOW_STORE)"},
		authFlag(),
	), cli.Categorize(categoryService,
		&ucli.StringFlag{Name: "service", Usage: "`NAME`: service name, first part of every blob name; required unless every input of --config has one"},
		&ucli.StringFlag{Name: "instance", Usage: "`NAME`: name of this shipper among those of the service (default: the host name)"},
		cli.Clearable{StringFlag: &ucli.StringFlag{Name: "class", Usage: "`CLASS`: retention class of the segments, which shipper retain --class selects (default: without a class)"}},
	), cli.Categorize(categoryInputs,
		&ucli.BoolFlag{Name: "once", Usage: "read every input to its end, from its saved position or else its start, ship everything, and exit"},
		&ucli.BoolFlag{Name: "from-start", Usage: "read existing files and the journal from their start, not their end, if no position is saved; implied by --once; not for inputs of --config"},
	), cli.Categorize(categoryInputs, inputFlags()...), cli.Categorize(categoryRecords,
		&ucli.StringFlag{Name: "format", Value: "auto", Usage: "`FORMAT`: container log format of files: auto (detected), cri, docker or none"},
		&ucli.StringFlag{Name: "multiline", Value: "auto", Usage: "`REGEXP`: join lines of files and standard input into records: auto (stack traces and the like), off, or a regular expression that matches first lines"},
		&ucli.StringFlag{Name: "parse", Value: "auto", Usage: "`PARSER`: how to find the fields of messages, as one argument: auto, none, csv, \"csv 'time,user'\", \"pattern '<ip> <_>'\" or \"regexp '(?P<ip>[0-9.]+)'\""},
		&ucli.StringFlag{Name: "date-order", Value: "mdy", Usage: "`FORMAT`: order of dates such as 10/11/2026: mdy or dmy"},
		&ucli.StringFlag{Name: "time-zone", Value: "UTC", Usage: "`ZONE`: time zone of timestamps without one, such as Europe/Berlin"},
		&ucli.StringFlag{Name: "max-record", Value: "1MiB", Usage: "`SIZE`: truncate longer lines and mark them, and split longer multi-line records; 1KiB to 16MiB"},
		&cli.ListFlag{Name: "redact", Usage: "`KIND`: secrets to redact: bearer, sas, azure-key, connection-string, url-password, jwt, card or all; repeatable (default: none)"},
	), cli.Categorize(categorySegments,
		&ucli.StringFlag{Name: "flush-interval", Value: "1m", Usage: "`DURATION`: maximum age of a record before its segment is uploaded; --flush-size may upload it earlier"},
		&ucli.StringFlag{Name: "max-flush-interval", Value: "0", Usage: "`DURATION`: maximum age of a record, instead of --flush-interval, while its service has less than 1 MiB of text to upload and no one follows it; 0 disables it"},
		&ucli.StringFlag{Name: "watch-interval", Value: "5s", Usage: "`DURATION`: interval between polls for watches, which make shippers upload followed services about every 2s; at least 1m on billed storage while no one has followed for an hour; 0 disables watches"},
		&ucli.IntFlag{Name: "max-watch-flushes", Value: watch.DefaultMaxFlushes, Usage: "`N`: maximum number of segments uploaded early because of watches, per service and UTC day"},
		&ucli.StringFlag{Name: "flush-size", Value: "8MiB", Usage: "`SIZE`: compressed size at which a segment is uploaded; it is also uploaded at 512 MiB of text"},
		&ucli.StringFlag{Name: "bucket", Value: "60m", Usage: "`DURATION`: length of time buckets: 5m, 10m, 15m, 20m, 30m or 60m; all records of a segment are of one bucket"},
		&ucli.StringFlag{Name: "filter", Value: "on", Usage: "`MODE`: write the token filter, which speeds up searches for identifiers: on or off"},
		&ucli.StringFlag{Name: "index", Value: "on", Usage: "`MODE`: write the index and respond to watches, which need tables: on, or off for accounts without tables"},
		&ucli.StringFlag{Name: "columns", Value: "auto", Usage: "`LIST`: write columns of these fields and of frequent ones, which speed up conditions and aggregations; auto and off write none (shipper compact adds them)"},
	), cli.Categorize(categoryBuffer,
		&ucli.StringFlag{Name: "buffer", Value: "disk", Usage: "`MODE`: where records are buffered: disk, or memory, which excludes the other flags of the buffer"},
		&ucli.StringFlag{Name: "buffer-dir", Usage: "`DIR`: directory of the buffer (default: logstow/SERVICE/INSTANCE in the state directory; _several for several services)"},
		&ucli.StringFlag{Name: "buffer-size", Value: "1GiB", Usage: "`SIZE`: maximum disk usage of the buffer, at least 1MiB"},
		&ucli.StringFlag{Name: "sync", Value: "1s", Usage: "`MODE`: fsync policy: always, an interval such as 1s, or never"},
		&ucli.StringFlag{Name: "on-full", Value: "block", Usage: "`MODE`: what to do when the buffer is full: block (inputs wait) or drop-oldest (drop the oldest records)"},
		&ucli.StringFlag{Name: "on-lost-positions", Value: "reread", Usage: "`MODE`: what to do when the saved positions of inputs are lost: reread (may store lines twice), skip (may miss lines) or stop"},
	), cli.Categorize(categoryLimits,
		&ucli.StringFlag{Name: "drain-timeout", Value: "25s", Usage: "`DURATION`: maximum time to ship what was read after the first signal"},
		&ucli.StringFlag{Name: "retry-for", Value: "30s", Usage: "`DURATION`: with --once, maximum time without a response from storage; otherwise retries are unlimited"},
	), cli.Categorize(categoryMetrics,
		&ucli.StringFlag{Name: "metrics", Usage: "`ADDRESS`: serve /metrics, /healthz and /readyz, such as :9464"},
	))
}

// inputFlags are the flags of the kinds of inputs.
func inputFlags() (all []ucli.Flag) {
	for _, spec := range kinds.All() {
		switch kind := spec.Kind(); {
		case kind.Usage == "":
		case kind.CheckAddress == nil:
			all = append(all, &ucli.BoolFlag{Name: kind.Name, Usage: kind.Usage})
		default:
			all = append(all, &cli.ListFlag{Name: kind.Name, Usage: kind.Usage})
		}
	}
	return all
}

// authFlag is --auth.
func authFlag() ucli.Flag {
	return &ucli.StringFlag{
		Name: "auth", EnvVars: []string{azure.AuthEnv}, Category: categoryStore,
		Usage: "`KIND`: Azure credential: key, sas, workload, msi, cli, or auto (the first of these that is set) (default: $LOGSTOW_AUTH, else auto)",
		Action: func(_ *ucli.Context, kind string) error {
			if _, err := azure.ParseAuth(kind); err != nil {
				return cli.Usagef("--auth: %w", err)
			}
			return nil
		},
	}
}

func parseSync(value string) (buffer.Sync, error) {
	switch value {
	case "always":
		return buffer.SyncAlways, nil
	case "never":
		return buffer.SyncNever, nil
	}
	d, err := units.ParseDuration(value)
	if err != nil {
		return 0, fmt.Errorf("%q: want always, never or an interval such as 1s", value)
	}
	return buffer.Sync(d), nil
}

func parseOnFull(value string) (buffer.OnFull, error) {
	switch value {
	case "block":
		return buffer.Block, nil
	case "drop-oldest":
		return buffer.DropOldest, nil
	}
	return 0, fmt.Errorf("%q: want block or drop-oldest", value)
}

func parseOnLostPositions(value string) (buffer.LostPositions, error) {
	for _, p := range []buffer.LostPositions{buffer.RereadLost, buffer.SkipLost, buffer.StopLost} {
		if value == p.String() {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%q: want reread, skip or stop", value)
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

// parse reads a flag's value.
func parse[T any](errs *problems, c *ucli.Context, name string, read func(string) (T, error)) T {
	v, err := read(c.String(name))
	errs.check(err == nil, "--%s: %w", name, err)
	return v
}

// parseRange parses the flags of a range of time: --since, --from and --to. Missing times are zero.
func parseRange(wrong *problems, c *ucli.Context, now time.Time) (from, to time.Time) {
	at := func(flag string, parse func(string, time.Time) (time.Time, error)) (t time.Time) {
		if text := c.String(flag); text != "" {
			var err error
			t, err = parse(text, now)
			wrong.check(err == nil, "--%s: %w", flag, err)
		}
		return t
	}
	from, to = at("from", timearg.Parse), at("to", timearg.ParseEnd)
	if since := at("since", timearg.ParseSince); !since.IsZero() {
		wrong.check(!c.IsSet("from"), "--since cannot be used together with --from: both set the start of the range")
		from = since
	}
	return from, to
}

// checkRange adds a problem if a range is empty.
func (p *problems) checkRange(from, to time.Time) {
	p.check(to.IsZero() || from.Before(to), "the range is empty: its start is not before its end")
}
