package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	ucli "github.com/urfave/cli/v2"
	"golang.org/x/term"

	"logstow/internal/cli"
	"logstow/store"
	"logstow/store/open"
)

// storesFlag is --store of the commands that keep stores in order.
func storesFlag() ucli.Flag {
	return &ucli.StringSliceFlag{
		Name: "store", EnvVars: []string{"LOGSTOW_STORE"},
		Usage: "`STORE` to keep in order: a directory, or azblob://CONTAINER; repeatable",
	}
}

// eachStore calls f for each store of the command line, one after the other. One
// that fails does not hide the others: its error is said, and is the exit status.
func eachStore(c *ucli.Context, f func(spec string, s store.Store) error) error {
	// A variable that is set to nothing names none.
	specs := slices.DeleteFunc(c.StringSlice("store"), func(spec string) bool { return spec == "" })
	if len(specs) == 0 {
		return cli.Usagef("--store is missing: a directory, or azblob://CONTAINER (or set LOGSTOW_STORE)")
	}
	var failed []error
	for _, spec := range specs {
		err := withStore(c.Context, spec, f)
		if c.Err() != nil {
			return &cli.Error{Status: cli.Interrupted, Err: errors.Join(append(failed, err)...)}
		}
		if err == nil {
			continue
		}
		failed = append(failed, err)
		if e := (*cli.Error)(nil); errors.As(err, &e) && e.Err == nil {
			continue // everything is said
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(c.App.ErrWriter, "%s: %s: %s\n", c.App.Name, spec, line)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return cli.Exit(cli.Status(err))
	}
	return nil
}

func withStore(ctx context.Context, spec string, f func(spec string, s store.Store) error) (err error) {
	s, err := open.Store(ctx, spec, open.Options{Getenv: os.Getenv, Log: newLogger(os.Stderr)})
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
	// progressWidth is that of the bar in characters.
	progressWidth = 30
	// progressEvery is how often it is drawn.
	progressEvery = 200 * time.Millisecond
)

// showProgress draws a bar on a terminal until stop is called; elsewhere it does
// nothing. ask says how many of all are done, and of what.
func showProgress(to io.Writer, ask func() (done, all int64, what string)) (stop func()) {
	file, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func() {}
	}
	const clearLine = "\r\x1b[K"
	end := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				fmt.Fprint(to, clearLine)
				return
			case <-ticker.C:
				done, all, what := ask()
				full := int(progressWidth * done / max(all, 1))
				fmt.Fprintf(to, "%s[%s%s] %d/%d %s", clearLine, strings.Repeat("#", full), strings.Repeat(".", progressWidth-full), done, all, what)
			}
		}
	})
	return func() {
		close(end)
		drawing.Wait()
	}
}
