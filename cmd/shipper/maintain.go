package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/logging"
	"logstow/internal/progress"
	"logstow/internal/retry"
	"logstow/store"
	"logstow/store/open"
)

// storesFlag is --store of the maintenance commands.
func storesFlag() ucli.Flag {
	return &cli.ListFlag{
		Name: "store", EnvVars: []string{"LOGSTOW_STORE"}, Category: categoryStore,
		Usage: "`STORE`: directory or azblob://CONTAINER; repeatable (default: $LOGSTOW_STORE)",
	}
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
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(c.App.ErrWriter, "%s: %s: %s\n", c.App.Name, open.Shown(spec), line)
		}
		for _, advice := range hint.All(err) {
			fmt.Fprintf(c.App.ErrWriter, "hint: %s\n", advice)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return cli.Exit(cli.Status(err))
	}
	return nil
}

func withStore(c *ucli.Context, spec string, opts open.Options, f func(spec string, s store.Store) error) (err error) {
	opts.Getenv, opts.Auth, opts.Log = os.Getenv, c.String("auth"), logging.New(os.Stderr)
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
