package engine

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"logstow/logql/syntax"
)

// maxInner is the maximum number of series between operators if there are few steps, unless Limits.Series is greater.
const maxInner = 100_000

// inner returns the maximum number of series between operators: these may have as many points as the largest result.
func (l Limits) inner(steps int) int {
	return max(l.Series, min(l.Series*l.Points/max(steps, 1), maxInner))
}

func checkSeries(n, limit int) error {
	if limit > 0 && n > limit {
		return fmt.Errorf("%w: the query has more than %d series (maximum number of series); narrow the selector, or aggregate with sum by (…) of fewer labels",
			ErrLimit, limit)
	}
	return nil
}

func checkSteps(n, limit int64) error {
	if limit > 0 && n > limit {
		return fmt.Errorf("%w: the query has %d steps, more than %d (maximum number of points); increase the step or shorten the range",
			ErrLimit, n, limit)
	}
	return nil
}

// memory counts the memory of a query against its limit. Safe for concurrent use.
type memory struct {
	held  atomic.Int64
	limit int64
}

func (m *memory) take(n int64) error {
	if held := m.held.Add(n); m.limit > 0 && held > m.limit {
		return fmt.Errorf("%w: the query holds more than %d MiB of samples (maximum memory); narrow the selector or the range, or aggregate by fewer labels",
			ErrLimit, m.limit>>20)
	}
	return nil
}

// scarce reports whether more than half of the memory is held.
func (m *memory) scarce() bool { return m.limit > 0 && m.held.Load() > m.limit/2 }

func (m *memory) release(n int64) { m.held.Add(-n) }

// ticker checks a context from time to time. Not safe for concurrent use.
type ticker struct {
	ctx context.Context //nolint:containedctx // the interface of workers has none
	n   int
	// always is set if one step may take long: a template may run for a second.
	always bool
}

// ticks is the number of steps between two checks of the context.
const ticks = 512

func (t *ticker) tick() error {
	if t.n++; t.n%ticks != 0 && !t.always {
		return nil
	}
	return t.ctx.Err()
}

// newTicker makes the ticker of stages that process records.
func newTicker(ctx context.Context, stages []syntax.Stage) ticker {
	return ticker{ctx: ctx, always: slices.ContainsFunc(stages, func(s syntax.Stage) bool {
		switch s.(type) {
		case *syntax.LineFormat, *syntax.LabelFormat:
			return !labelsOnly(s)
		}
		return false
	})}
}
