package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/logging"
	"logstow/internal/price"
	"logstow/internal/progress"
	"logstow/internal/retry"
	"logstow/store"
	"logstow/store/open"
)

// storesFlag is --store of the maintenance commands.
func storesFlag() cli.Flag {
	return cli.Repeated("store=$LOGSTOW_STORE", "`STORE`: directory or azblob://CONTAINER; repeatable (default: $LOGSTOW_STORE)")
}

// The flags that several maintenance commands have.
func servicesFlag() cli.Flag {
	return cli.Repeated("service,s", "`GLOB`: service name or glob; repeatable (default: all)")
}

func rateFlag(done string) cli.Flag {
	return cli.Text("rate=1000", "`N`: maximum number of blobs "+done+" per second; 0 for no limit")
}

func tempDirFlag() cli.Flag {
	return cli.Text("temp-dir", "`DIR`: directory of temporary files (default: the system's)")
}

func metricsFileFlag() []ucli.Flag {
	return cli.Under(categoryMetrics,
		cli.Text("metrics-file", "`FILE`: write the metrics of the run to this file, for the textfile collector of node_exporter"))
}

// parseServices reads --service.
func parseServices(errs *problems, c *ucli.Context) []string {
	all := cli.List(c, "service")
	for _, pattern := range all {
		errs.check(doublestar.ValidatePattern(pattern), "--service %q: %w", pattern, doublestar.ErrBadPattern)
	}
	return all
}

// parseRate reads --rate.
func parseRate(errs *problems, c *ucli.Context) float64 {
	rate, err := strconv.ParseFloat(c.String("rate"), 64)
	errs.check(err == nil && rate >= 0, "--rate %q: want a number of blobs per second", c.String("rate"))
	return rate
}

// pricesOf are the prices of the requests to a store: those to a directory cost nothing. nil is the list prices.
func pricesOf(spec string) *price.Table {
	if _, local := open.Dir(spec); local {
		return new(price.Table)
	}
	return nil
}

// maintenance is a command that does a job for each of the stores of the command line. O are the options of the job, R is its report.
type maintenance[O, R any] struct {
	// settings reads the command line.
	settings func(c *ucli.Context) (O, error)
	open     open.Options
	// job does the job for a store and prints the report, as JSON or as text. There may be no report.
	job func(c *ucli.Context, spec string, s store.Store, o O, asJSON bool) (*R, error)
	// writeMetrics writes the file of --metrics-file; nil if there is no such flag.
	writeMetrics func(path string, reports []R) error
}

func (m *maintenance[O, R]) run(c *ucli.Context) error {
	o, err := m.settings(c)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	var reports []R
	err = eachStore(c, m.open, func(spec string, s store.Store) error {
		report, err := m.job(c, spec, s, o, asJSON(c))
		if report != nil {
			reports = append(reports, *report)
		}
		return err
	})
	if file := c.String("metrics-file"); file != "" && len(reports) > 0 {
		err = errors.Join(err, m.writeMetrics(file, reports))
	}
	return err
}

// runReported runs a job with a progress line and prints its report, unless it ended before anything was looked at. The error is the
// report's.
func runReported[R interface{ Err() error }](
	c *ucli.Context, asJSON bool, draw func() string, run func(ctx context.Context) (report R, looked bool, err error), print func(to io.Writer, report R) error,
) error {
	line := newProgress(c)
	stop := line.Start(draw)
	report, looked, err := run(reporting(c, line))
	stop()
	switch {
	case err != nil && !looked && !asJSON:
		return err
	case asJSON:
		err = jsonlines.Write(c.App.Writer, report)
	default:
		err = print(c.App.Writer, report)
	}
	return errors.Join(err, report.Err())
}

// eachStore calls f for each store of the command line in turn. The error of one is
// printed, does not stop the others, and sets the exit status.
func eachStore(c *ucli.Context, opts open.Options, f func(spec string, s store.Store) error) error {
	specs := cli.List(c, "store")
	if len(specs) == 0 {
		return hint.Wrap(cli.Usagef("--store is missing"), "give a directory or azblob://CONTAINER, or set LOGSTOW_STORE")
	}
	var failed []error
	for _, spec := range specs {
		err := withStore(c, spec, opts, f)
		if c.Err() != nil {
			return &cli.Error{Status: cli.Interrupted, Err: errors.Join(append(failed, err)...)}
		}
		if err == nil {
			continue
		}
		failed = append(failed, err)
		if e := (*cli.Error)(nil); errors.As(err, &e) && e.Err == nil {
			continue // already printed
		}
		printLines(c.App.ErrWriter, c.App.Name+": "+open.Shown(spec), err)
	}
	if err := errors.Join(failed...); err != nil {
		return cli.Exit(cli.Status(err))
	}
	return nil
}

// printLines prints each line of an error after a prefix, and its hints.
func printLines(w io.Writer, prefix string, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(w, "%s: %s\n", prefix, line)
	}
	for _, advice := range hint.All(err) {
		fmt.Fprintf(w, "hint: %s\n", advice)
	}
}

// withStore calls f with an open store. opts.Log is by default the program's log.
func withStore(c *ucli.Context, spec string, opts open.Options, f func(spec string, s store.Store) error) (err error) {
	opts.Getenv, opts.Auth = os.Getenv, c.String("auth")
	if opts.Log == nil {
		opts.Log = logging.New(os.Stderr)
	}
	s, err := open.Store(c.Context, spec, opts)
	if errors.Is(err, store.ErrInvalid) {
		return cli.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return f(spec, s)
}

// newProgress is the program's messages with a progress line, if they go to a terminal.
func newProgress(c *ucli.Context) *progress.Line {
	_, columns := progress.Screen(c.App.ErrWriter)
	return progress.New(c.App.ErrWriter, columns)
}

// progressText is a bar with the numbers of done and all units, once there are any.
func progressText(done, all int64, what string) string {
	if all == 0 {
		return "listing services"
	}
	return fmt.Sprintf("%s  %d of %d %s", progress.Bar(done, all), done, all, what)
}

// reporting is a context under which retries that last are reported.
func reporting(c *ucli.Context, messages io.Writer) context.Context {
	return retry.WithReporter(c.Context, func(r retry.Attempt) { fmt.Fprintf(messages, "%s: %v\n", c.App.Name, r) })
}
