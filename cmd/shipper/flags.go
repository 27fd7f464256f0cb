package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/blobnaming"
	"logstow/buffer"
	"logstow/input"
	"logstow/internal/cli"
	"logstow/record"
)

// settings are what a run is told.
type settings struct {
	store, service, instance, class string
	once, fromStart                 bool
	flushInterval                   time.Duration
	flushSize                       int64
	bucket                          time.Duration
	zone                            *time.Location
	maxRecord                       int
	retryFor, drainTimeout          time.Duration
	// bufferDir is where the buffer is kept; "" is memory alone.
	bufferDir  string
	bufferSize int64
	sync       buffer.Sync
	onFull     buffer.OnFull
	// paths are files and globs; stdin says that standard input is read too.
	paths []string
	stdin bool
}

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
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "store", EnvVars: []string{"LOGSTOW_STORE"}, Usage: "where to: a `DIRECTORY`, or azblob://CONTAINER"},
			&ucli.StringFlag{Name: "service", Usage: "`NAME` of who logs; the first part of every blob's name"},
			&ucli.StringFlag{Name: "instance", Usage: "`NAME` of this shipper among those of the service (default: the host name)"},
			&ucli.StringFlag{Name: "class", Usage: "retention `CLASS` of the records (default: none)"},
			&ucli.BoolFlag{Name: "once", Usage: "read to the end, ship everything, and end"},
			&ucli.BoolFlag{Name: "from-start", Usage: "follow files that are there already from their start, not from their end"},
			&ucli.StringFlag{Name: "flush-interval", Value: "1m", Usage: "ship records at the latest after this `TIME`"},
			&ucli.StringFlag{Name: "flush-size", Value: "8MiB", Usage: "ship a segment of this stored `SIZE`"},
			&ucli.StringFlag{Name: "bucket", Value: "60m", Usage: "`TIME` that a segment covers at most: 5, 10, 15, 20, 30 or 60m"},
			&ucli.StringFlag{Name: "time-zone", Value: "UTC", Usage: "`ZONE` of times that name none, for example Europe/Berlin"},
			&ucli.StringFlag{Name: "max-record", Value: "1MiB", Usage: "cut lines at this `SIZE`, at most 16MiB, with a mark"},
			&ucli.StringFlag{Name: "buffer", Value: "disk", Usage: "where records wait for storage: disk or memory"},
			&ucli.StringFlag{Name: "buffer-dir", Usage: "`DIRECTORY` of the buffer (default: logstow/SERVICE/INSTANCE in the state directory)"},
			&ucli.StringFlag{Name: "buffer-size", Value: "1GiB", Usage: "most that the buffer takes on disk, as a `SIZE`"},
			&ucli.StringFlag{Name: "sync", Value: "1s", Usage: "make records durable `WHEN`: always, every so often (1s), or never"},
			&ucli.StringFlag{Name: "on-full", Value: "block", Usage: "when the buffer is full: block, or drop-oldest"},
			&ucli.StringFlag{Name: "drain-timeout", Value: "25s", Usage: "ship for at most this `TIME` after the first signal"},
			&ucli.StringFlag{Name: "retry-for", Value: "30s", Usage: "with --once, give up when storage has not answered for this `TIME`"},
		},
		Action: func(c *ucli.Context) error {
			s, err := readSettings(c)
			if err != nil {
				return cli.Usagef("%w", err)
			}
			return ship(c.Context, s)
		},
	}
}

// readSettings reads and checks the flags; the error tells everything that is wrong.
func readSettings(c *ucli.Context) (settings, error) {
	var errs problems
	s := settings{
		store:     c.String("store"),
		service:   c.String("service"),
		instance:  c.String("instance"),
		class:     c.String("class"),
		once:      c.Bool("once"),
		fromStart: c.Bool("from-start"),
		maxRecord: int(parse(&errs, c, "max-record", cli.ParseSize)),

		flushInterval: parse(&errs, c, "flush-interval", cli.ParseDuration),
		flushSize:     parse(&errs, c, "flush-size", cli.ParseSize),
		bucket:        parse(&errs, c, "bucket", cli.ParseDuration),
		retryFor:      parse(&errs, c, "retry-for", cli.ParseDuration),
		zone:          parse(&errs, c, "time-zone", time.LoadLocation),

		bufferSize:   parse(&errs, c, "buffer-size", cli.ParseSize),
		sync:         parse(&errs, c, "sync", parseSync),
		onFull:       parse(&errs, c, "on-full", parseOnFull),
		drainTimeout: parse(&errs, c, "drain-timeout", cli.ParseDuration),
	}
	if s.instance == "" {
		s.instance = hostInstance(&errs)
	}
	errs.check(s.store != "", "--store is missing: a directory, or azblob://CONTAINER (or set LOGSTOW_STORE)")
	errs.check(s.service != "", "--service is missing: name who logs")
	errs.check(s.service == "" || blobnaming.ValidService(s.service), "--service %q: want a-z, 0-9 and . _ - inside, at most 63", s.service)
	errs.check(blobnaming.ValidInstance(s.instance), "--instance %q: want 1 to %d of A-Z a-z 0-9 . _ -", s.instance, blobnaming.MaxInstance)
	errs.check(blobnaming.ValidClass(s.class), "--class %q: want at most %d of a-z and 0-9", s.class, blobnaming.MaxClass)
	errs.check(s.bucket == 0 || blobnaming.ValidWidth(s.bucket), "--bucket %s: want 5m, 10m, 15m, 20m, 30m or 60m", c.String("bucket"))
	errs.check(s.flushSize > 0 || len(errs) > 0, "--flush-size must be more than 0")
	errs.check(s.maxRecord == 0 || s.maxRecord >= input.MinMaxRecord && s.maxRecord <= record.MaxSize,
		"--max-record %s: want 1KiB to 16MiB", c.String("max-record"))
	errs.check(s.once || !c.IsSet("retry-for"), "--retry-for is for --once: without it, storage is tried for ever")
	errs.check(s.bufferSize == 0 || s.bufferSize >= minBufferSize, "--buffer-size %s: want at least 1MiB", c.String("buffer-size"))
	s.inputs(&errs, c.Args().Slice())
	s.buffer(&errs, c)
	return s, errors.Join(errs...)
}

// minBufferSize is the smallest that --buffer-size may be.
const minBufferSize = 1 << 20

// buffer reads where the buffer is.
func (s *settings) buffer(errs *problems, c *ucli.Context) {
	switch mode := c.String("buffer"); mode {
	case "disk":
	case "memory":
		for _, name := range []string{"buffer-dir", "buffer-size", "sync", "on-full"} {
			errs.check(!c.IsSet(name), "--%s is for a buffer on disk", name)
		}
		return
	default:
		errs.check(false, "--buffer %q: want disk or memory", mode)
		return
	}
	s.bufferDir = c.String("buffer-dir")
	if s.bufferDir != "" || len(*errs) > 0 {
		return
	}
	dir, err := defaultBufferDir(s.service, s.instance)
	errs.check(err == nil, "%w", err)
	s.bufferDir = dir
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

// inputs sorts the arguments. Without any, a pipe or a file on standard input is read.
func (s *settings) inputs(errs *problems, args []string) {
	errs.check(!slices.Contains(args, ""), "an empty file name")
	for _, a := range args {
		if a == "-" {
			s.stdin = true
		} else {
			s.paths = append(s.paths, a)
		}
	}
	if len(s.paths) > 0 || s.stdin {
		return
	}
	info, err := os.Stdin.Stat()
	s.stdin = err == nil && (info.Mode().IsRegular() || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0)
	errs.check(s.stdin, "nothing to read: name files or globs, or - for standard input")
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
