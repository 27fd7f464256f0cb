package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	ucli "github.com/urfave/cli/v2"
	"golang.org/x/term"

	"logstow/internal/cli"
	"logstow/internal/hint"
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
	opts.Getenv, opts.Auth, opts.Log = os.Getenv, c.String("auth"), newLogger(os.Stderr)
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

const (
	// progressWidth is the width of the bar in characters.
	progressWidth = 30
	// progressEvery is the interval at which the bar is drawn.
	progressEvery = 200 * time.Millisecond
)

// bar is a progress bar on a terminal; elsewhere it prints nothing.
type bar struct {
	to io.Writer // nil if it is not a terminal
	// mu keeps the bar and what is printed above it apart.
	mu      sync.Mutex
	end     chan struct{}
	drawing sync.WaitGroup
}

// startBar draws a bar until stop is called; ask returns the numbers of done and all units.
func startBar(to io.Writer, ask func() (done, all int64, what string)) *bar {
	b := &bar{end: make(chan struct{})}
	file, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return b
	}
	b.to = to
	b.drawing.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-b.end:
				b.above(func() {})
				return
			case <-ticker.C:
				done, all, what := ask()
				full := int(progressWidth * done / max(all, 1))
				b.above(func() {
					fmt.Fprintf(to, "[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(".", progressWidth-full), done, all, what)
				})
			}
		}
	})
	return b
}

// above clears the bar's line and calls f, which may print.
func (b *bar) above(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.to != nil {
		fmt.Fprint(b.to, "\r\x1b[K")
	}
	f()
}

// reporting is a context under which retries that last are reported above the bar.
func (b *bar) reporting(c *ucli.Context) context.Context {
	return retry.WithReporter(c.Context, func(r retry.Attempt) {
		b.above(func() {
			fmt.Fprintf(c.App.ErrWriter, "%s: retrying for %v, next in %v: %v\n", c.App.Name, r.For.Round(time.Second), r.Next.Round(time.Second), r.Err)
		})
	})
}

// stop removes the bar.
func (b *bar) stop() {
	close(b.end)
	b.drawing.Wait()
}
