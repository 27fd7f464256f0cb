package main

import (
	"fmt"
	"os"

	ucli "github.com/urfave/cli/v2"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/internal/cli"
	"logstow/store/azure"
)

func runCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "run",
		Usage:     "read files or standard input and ship their lines",
		ArgsUsage: "[FILE|GLOB|-]...",
		Description: `Reads files, globs (** is any number of directories) and standard input (-), and
ships their lines. Files are followed as they grow, are rotated and appear,
unless --once is given: then everything is read to its end, and the exit status
is 0 only when all of it is in storage and in the index.

Records are kept in a buffer on disk until they are in storage and in the index.
After a crash, a kill or an outage the next start with the same buffer goes on
where this one ended: nothing is lost, nothing is stored twice. A buffer belongs
to one running shipper. With --buffer memory nothing is kept: what is not in
storage when the process dies is lost.

SIGTERM or SIGINT ends it: what was read by then is shipped within
--drain-timeout, and what is left stays in the buffer for the next start (status
3). A second signal ends it at once; the buffer keeps everything.

Exit status: 0 done, 2 wrong command line, 3 incomplete or failed, 4 access
refused, 130 interrupted before --once was done, or at once.`,
		Flags: runFlags(),
		Action: func(c *ucli.Context) error {
			s, err := readSettings(c)
			if err != nil {
				return cli.Usagef("%w", err)
			}
			return ship(c.Context, s, func() (settings, error) { return readSettings(c) })
		},
	}
}

// runFlags are those of run and check.
func runFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "config", EnvVars: []string{"LOGSTOW_CONFIG"}, Usage: "read `FILE` (YAML); flags go before what it says, SIGHUP reads it again"},
		&ucli.StringFlag{Name: "store", Usage: "where to: a `DIRECTORY`, or azblob://CONTAINER (default: the configuration's, else $LOGSTOW_STORE)"},
		authFlag(),
		&ucli.StringFlag{Name: "service", Usage: "`NAME` of who logs; the first part of every blob's name"},
		&ucli.StringFlag{Name: "instance", Usage: "`NAME` of this shipper among those of the service (default: the host name)"},
		&ucli.StringFlag{Name: "class", Usage: "retention `CLASS` of the records (default: none)"},
		&ucli.BoolFlag{Name: "once", Usage: "read to the end, ship everything, and end"},
		&ucli.BoolFlag{Name: "from-start", Usage: "follow files that are there already from their start, not from their end"},
		&ucli.StringSliceFlag{Name: "syslog", Usage: "take syslog messages at `ADDRESS`: udp://:5140, tcp://:5140, unix:///run/x.sock; repeatable"},
		&ucli.StringFlag{Name: "forward", Usage: "take the Fluent Forward protocol at `ADDRESS`: :24224 (no host is the loopback interface)"},
		&ucli.StringFlag{Name: "http", Usage: "take OpenTelemetry logs (/v1/logs, gRPC) and lines (/v1/lines) at `ADDRESS`: :4318"},
		&ucli.BoolFlag{Name: "journald", Usage: "read the systemd journal"},
		&ucli.StringFlag{Name: "format", Value: "auto", Usage: "what wraps the lines of files: auto, cri, docker or none"},
		&ucli.StringFlag{Name: "multiline", Value: "off", Usage: "join lines to records: off, auto (stack traces), or a `REGEXP` that first lines match"},
		&ucli.StringSliceFlag{Name: "redact", Usage: "take out secrets of this `KIND`: bearer, sas, azure-key, connection-string, url-password, jwt, card or all; repeatable"},
		&ucli.StringFlag{Name: "flush-interval", Value: "1m", Usage: "ship records at the latest after this `TIME`"},
		&ucli.StringFlag{Name: "flush-size", Value: "8MiB", Usage: "ship a segment of this stored `SIZE`"},
		&ucli.StringFlag{Name: "bucket", Value: "60m", Usage: "`TIME` that a segment covers at most: 5, 10, 15, 20, 30 or 60m"},
		&ucli.StringFlag{Name: "filter", Value: "on", Usage: "on or off: write what lets logq find identifiers without reading the rest"},
		&ucli.StringFlag{Name: "time-zone", Value: "UTC", Usage: "`ZONE` of times that name none, for example Europe/Berlin"},
		&ucli.StringFlag{Name: "max-record", Value: "1MiB", Usage: "cut lines at this `SIZE`, at most 16MiB, with a mark"},
		&ucli.StringFlag{Name: "buffer", Value: "disk", Usage: "where records wait for storage: disk or memory"},
		&ucli.StringFlag{Name: "buffer-dir", Usage: "`DIRECTORY` of the buffer (default: logstow/SERVICE/INSTANCE in the state directory)"},
		&ucli.StringFlag{Name: "buffer-size", Value: "1GiB", Usage: "most that the buffer takes on disk, as a `SIZE`"},
		&ucli.StringFlag{Name: "sync", Value: "1s", Usage: "make records durable `WHEN`: always, every so often (1s), or never"},
		&ucli.StringFlag{Name: "on-full", Value: "block", Usage: "when the buffer is full: block, or drop-oldest"},
		&ucli.StringFlag{Name: "on-lost-positions", Value: "reread", Usage: "when a damaged buffer lost how far files were read: reread, skip or stop"},
		&ucli.StringFlag{Name: "drain-timeout", Value: "25s", Usage: "ship for at most this `TIME` after the first signal"},
		&ucli.StringFlag{Name: "metrics", Usage: "serve /metrics, /healthz and /readyz at `ADDRESS`: :9464 (no host is the loopback interface)"},
		&ucli.StringFlag{Name: "retry-for", Value: "30s", Usage: "with --once, give up when storage has not answered for this `TIME`"},
	}
}

// authFlag is --auth, another spelling of the variable that stores are opened by.
func authFlag() ucli.Flag {
	return &ucli.StringFlag{
		Name: "auth", EnvVars: []string{azure.AuthEnv},
		Usage: "Azure credential of this `KIND`: auto, key, sas, msi, workload or cli",
		Action: func(_ *ucli.Context, kind string) error {
			if _, err := azure.ParseAuth(kind); err != nil {
				return cli.Usagef("--auth: %w", err)
			}
			return os.Setenv(azure.AuthEnv, kind)
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
	d, err := cli.ParseDuration(value)
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

// hostInstance is the instance's name where none was given.
func hostInstance(errs *problems) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		*errs = append(*errs, fmt.Errorf("this host has no name; give --instance"))
		return "-"
	}
	return blobnaming.CleanInstance(host)
}

// problems are what is wrong with a command line.
type problems []error

// check notes a problem unless ok.
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
