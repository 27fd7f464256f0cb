package main

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/query"
	"logstow/query/output"
	"logstow/store"
)

// environment is what the program has around it.
type environment struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	out, err       screen // where those two end
	piped          bool   // stdout is a pipe: something else may be shown by what reads it
	now            func() time.Time
	tempDir        string
}

// say writes a line to standard error. What others named may be in it, so it
// is made visible.
func (e *environment) say(format string, args ...any) {
	fmt.Fprintf(e.stderr, "logq: %s\n", output.Visible(fmt.Sprintf(format, args...)))
}

// hint writes advice on a line of its own.
func (e *environment) hint(advice string) {
	fmt.Fprintf(e.stderr, "hint: %s\n", output.Visible(advice))
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

// newQuery compiles a selection; a mistake in it is a usage error.
func newQuery(stores []query.Store, sel query.Selection, opts query.Options) (*query.Query, error) {
	q, err := query.New(stores, sel, opts)
	if errors.Is(err, query.ErrSelection) {
		err = cli.Usagef("%w", err)
	}
	return q, err
}

// status is the exit status of a query that came to its end.
// Refused is one that no store let in; what else can not be read makes it incomplete.
func status(r *query.Report, matched bool, stores []query.Store) int {
	refused := map[string]bool{}
	for _, p := range r.Problems {
		if errors.Is(p, store.ErrAccessDenied) {
			refused[p.Store] = true
		}
	}
	switch {
	case len(refused) > 0 && len(refused) == len(stores) && r.SegmentsListed == 0:
		return cli.AccessDenied
	case len(r.Problems) > 0:
		return cli.Incomplete
	case !matched:
		return cli.NoMatch
	}
	return cli.OK
}
