package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"logstow/internal/cli"
	"logstow/internal/progress"
	"logstow/query"
	"logstow/query/output"
	"logstow/store"
)

// environment is the program's environment: streams, variables, clock.
type environment struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	// line shows progress below what is written to stderr; set by withMessages.
	line     *progress.Line
	out, err screen // where those two end
	piped    bool   // stdout is a pipe, whose reader may write to the same terminal
	noPager  bool   // long output is not paged
	now      func() time.Time
	tempDir  string
	// completeTime limits what completion reads of the stores; 0 is [completeTime].
	completeTime time.Duration
	// observe measures the requests to a store; nil does not.
	observe func(store.Store) store.Store
}

// printf writes a line to standard error, with control characters escaped: names from
// storage may be in it.
func (e *environment) printf(format string, args ...any) {
	fmt.Fprintf(e.stderr, "logq: %s\n", output.Visible(fmt.Sprintf(format, args...)))
}

// hint writes a hint line to standard error.
func (e *environment) hint(advice string) {
	fmt.Fprintf(e.stderr, "hint: %s\n", output.Visible(advice))
}

// limitMemory sets the soft memory limit of the Go runtime, in bytes, unless GOMEMLIMIT is set.
func (e *environment) limitMemory(limit int64) {
	if e.getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// limitGroups sets the soft memory limit for a command that keeps up to memory bytes of groups or records. About half of these bytes
// are live, and the heap would otherwise grow to the limit with garbage.
func (e *environment) limitGroups(memory int64) {
	e.limitMemory(max(memoryLimit, memory+groupsLimit))
}

// status is the exit status of a command that was not interrupted, as an error: access denied if every store denies it, incomplete if
// something else could not be read.
func status(r *query.Report, matched bool, stores []query.Store) error {
	refused := map[string]bool{}
	for _, p := range r.Problems {
		if errors.Is(p, store.ErrAccessDenied) {
			refused[p.Store] = true
		}
	}
	switch {
	case len(refused) > 0 && len(refused) == len(stores) && r.SegmentsListed == 0:
		return cli.Exit(cli.AccessDenied)
	case len(r.Problems) > 0:
		return cli.Exit(cli.Incomplete)
	case !matched:
		return cli.Exit(cli.NoMatch)
	}
	return nil
}
