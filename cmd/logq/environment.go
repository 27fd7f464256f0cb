package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/timearg"
	"logstow/query"
	"logstow/query/cache"
	"logstow/query/output"
	"logstow/store"
	"logstow/store/open"
)

// environment is what the program has around it.
type environment struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	terminal       bool // stdout is one
	now            func() time.Time
	tempDir        string
}

// say writes a line to standard error. What others named may be in it, so it
// is made visible.
func (e *environment) say(format string, args ...any) {
	fmt.Fprintf(e.stderr, "logq: %s\n", output.Visible(fmt.Sprintf(format, args...)))
}

// quietPipe makes a pipe that is closed early a success: whoever reads has seen enough.
func quietPipe(action ucli.ActionFunc) ucli.ActionFunc {
	return func(c *ucli.Context) error {
		err := action(c)
		if errors.Is(err, syscall.EPIPE) {
			return nil
		}
		return err
	}
}

// storeFlags and rangeFlags are shared by the commands.
func storeFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringSliceFlag{Name: "store", Usage: "read `STORE`: a directory, or azblob://CONTAINER; repeatable (default: $LOGSTOW_STORE)"},
	}
}

func rangeFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringSliceFlag{Name: "service", Aliases: []string{"s"}, Usage: "`SERVICE` or glob; repeatable (default: all)"},
		&ucli.StringFlag{Name: "since", Usage: "the last `DURATION`: 90s, 15m, 2h, 3d, 1w"},
		&ucli.StringFlag{Name: "from", Usage: "from this `TIME` on: RFC 3339, '2026-11-20 15:04', 2026-11-20, 15:04, yesterday, -2h, Unix time"},
		&ucli.StringFlag{Name: "to", Usage: "up to but not including this `TIME` (default: now)"},
		&ucli.BoolFlag{Name: "utc", Usage: "times without a zone, and times printed for people, are UTC (default: local)"},
	}
}

// location is the zone of times that name none.
func location(c *ucli.Context) *time.Location {
	if c.Bool("utc") {
		return time.UTC
	}
	return time.Local
}

// timeRange reads --since, --from and --to. given is false where none was given; then
// the times are zero.
func timeRange(c *ucli.Context, now time.Time) (from, to time.Time, given bool, err error) {
	now = now.In(location(c))
	since, fromText, toText := c.String("since"), c.String("from"), c.String("to")
	switch {
	case since == "" && fromText == "" && toText == "":
		return from, to, false, nil
	case since != "" && (fromText != "" || toText != ""):
		return from, to, false, cli.Usagef("--since can not be used together with --from or --to")
	case since != "":
		d, err := cli.ParseDuration(since)
		if err != nil {
			return from, to, false, cli.Usagef("--since: %w", err)
		}
		// What is read at this moment may be dated a little ahead.
		return now.Add(-d), now.Add(time.Hour), true, nil
	case fromText == "":
		return from, to, false, cli.Usagef("--to needs --from")
	}
	if from, err = timearg.Parse(fromText, now); err != nil {
		return from, to, false, cli.Usagef("--from: %w", err)
	}
	to = now.Add(time.Hour)
	if toText != "" {
		if to, err = timearg.Parse(toText, now); err != nil {
			return from, to, false, cli.Usagef("--to: %w", err)
		}
	}
	if !from.Before(to) {
		return from, to, false, cli.Usagef("the range is empty: --from %s is not before --to %s",
			from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	return from, to, true, nil
}

// openStores opens the stores named by --store or the environment. close closes them.
func (e *environment) openStores(ctx context.Context, c *ucli.Context) (stores []query.Store, closeAll func() error, err error) {
	specs := c.StringSlice("store")
	if spec := e.getenv("LOGSTOW_STORE"); len(specs) == 0 && spec != "" {
		specs = []string{spec}
	}
	if len(specs) == 0 {
		return nil, nil, cli.Usagef("no store named: give --store or set LOGSTOW_STORE to a directory or azblob://CONTAINER")
	}
	var opened []store.Store
	var kept *cache.Cache
	closeAll = func() (err error) {
		for _, s := range opened {
			err = errors.Join(err, s.Close())
		}
		if kept != nil && ctx.Err() == nil {
			err = errors.Join(err, kept.Close(ctx))
		}
		return err
	}
	if slices.ContainsFunc(specs, remote) {
		if kept, err = e.cache(c); err != nil {
			return nil, nil, err
		}
	}
	for _, spec := range specs {
		s, err := open.Store(ctx, spec, open.Options{Getenv: e.getenv})
		if errors.Is(err, store.ErrInvalid) {
			err = cli.Usagef("%w", err)
		}
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		opened = append(opened, s)
		reading := query.Reading(s)
		if remote(spec) {
			reading.Cache = kept
		}
		stores = append(stores, reading)
	}
	return stores, closeAll, nil
}

// remote reports whether a store costs time and money to read; a directory is as
// fast as the cache.
func remote(spec string) bool { return strings.HasPrefix(spec, "azblob://") }

// cache opens the cache; nil is none. Where it can not be made there is none.
func (e *environment) cache(c *ucli.Context) (*cache.Cache, error) {
	if c.Bool("no-cache") {
		return nil, nil //nolint:nilnil // none is one of the answers
	}
	size := int64(0)
	if text := e.getenv("LOGSTOW_CACHE_SIZE"); text != "" {
		var err error
		if size, err = cli.ParseSize(text); err != nil {
			return nil, cli.Usagef("LOGSTOW_CACHE_SIZE: %w", err)
		}
	}
	dir := e.getenv("LOGSTOW_CACHE_DIR")
	if dir == "" {
		base := e.getenv("XDG_CACHE_HOME")
		if home := e.getenv("HOME"); base == "" && home != "" {
			base = filepath.Join(home, ".cache")
		}
		if base == "" {
			return nil, nil //nolint:nilnil // as above
		}
		dir = filepath.Join(base, "logstow")
	}
	kept, err := cache.Open(dir, size)
	if err != nil {
		e.say("%v; nothing is kept", err)
		return nil, nil //nolint:nilerr,nilnil // as above
	}
	return kept, nil
}

// newQuery compiles a selection; a mistake in it is a usage error.
func newQuery(stores []query.Store, sel query.Selection, opts query.Options) (*query.Query, error) {
	q, err := query.New(stores, sel, opts)
	if errors.Is(err, query.ErrSelection) {
		err = cli.Usagef("%w", err)
	}
	return q, err
}

// status is the exit status of a query that came to its end.
func status(r *query.Report, matched bool) int {
	for _, p := range r.Problems {
		if errors.Is(p, store.ErrRefused) {
			return cli.Refused
		}
	}
	switch {
	case len(r.Problems) > 0:
		return cli.Incomplete
	case !matched:
		return cli.NoMatch
	}
	return cli.OK
}
