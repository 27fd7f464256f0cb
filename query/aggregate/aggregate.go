// Package aggregate computes functions of groups of records: the engine of logq stats --compute.
//
// An [Aggregation] is made of a [Spec]; it names the fields and conditions that it needs of every
// record. Any number of workers add records, then [Aggregation.Finish] merges what they have. The
// result does not depend on the number of workers, on which of them gets a record, or on the order:
// sums are exact (package exact), first and last follow times and sequences, and whether a quantile or
// a number of different values is approximate depends on the number of a group's values alone.
//
// Groups that exceed the memory are written to temporary files as sorted runs (package spill), which
// are merged at the end; none is dropped.
package aggregate

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"logstow/query/aggregate/spill"
)

// DefaultMemory is the default of [Options.Memory].
const DefaultMemory = 256 << 20

// Options are the means of an aggregation.
type Options struct {
	// Memory is about the number of bytes that the process may take for the aggregation, garbage
	// included; 0 is DefaultMemory. Little memory makes it slow, not wrong.
	Memory int64
	// Workers is the number of workers that will add records at the same time, at least 1: they share
	// the memory.
	Workers int
	// Dir is the directory of temporary files; the system's if it is empty.
	Dir string
}

const (
	// Tables take this part of the memory: the garbage collector may let as much garbage accumulate.
	tablesPart, sorterPart = 5. / 16, 1. / 16
	minLimit               = 64 << 10
)

// Aggregation computes the functions of a Spec. Close it.
type Aggregation struct {
	plan    *plan
	options Options

	mu      sync.Mutex
	workers []*Worker
	result  *Result
}

// New makes an aggregation. Errors are about the Spec.
func New(spec Spec, options Options) (*Aggregation, error) {
	p, err := newPlan(spec)
	if err != nil {
		return nil, err
	}
	if options.Memory <= 0 {
		options.Memory = DefaultMemory
	}
	options.Workers = max(options.Workers, 1)
	return &Aggregation{plan: p, options: options}, nil
}

// Fields are the fields that [Record.Values] must have, in this order, each once.
func (a *Aggregation) Fields() []Field { return slices.Clone(a.plan.fields) }

// Conditions are the functions whose Expr [Record.Holds] must have, in this order: one for each
// different text.
func (a *Aggregation) Conditions() []Function { return slices.Clone(a.plan.conditions) }

// Ordered reports whether [Record.Sequence] matters.
func (a *Aggregation) Ordered() bool { return a.plan.ordered }

// Timed reports whether [Record.Time] matters: for a time step, first and last, and for a rate without
// a range.
func (a *Aggregation) Timed() bool {
	return a.plan.step >= 0 || a.plan.ordered || !a.plan.bounded() &&
		slices.ContainsFunc(a.plan.Compute, func(f Function) bool { return f.Kind == Rate })
}

// CountsOnly reports whether all functions are of the number of records alone, so that
// [Worker.AddCount] may be used.
func (a *Aggregation) CountsOnly() bool {
	return !slices.ContainsFunc(a.plan.stats, func(s stat) bool { return s.kind != holds })
}

// Worker makes a worker. Safe for concurrent use.
func (a *Aggregation) Worker() *Worker {
	a.mu.Lock()
	defer a.mu.Unlock()
	limit := int64(float64(a.options.Memory)*tablesPart) / int64(a.options.Workers)
	w := newWorker(a.plan, max(limit, minLimit), a.options.Dir)
	a.workers = append(a.workers, w)
	return w
}

// Finish merges what the workers have. No worker may be used afterwards, and it is called once. The
// result is valid until Close.
func (a *Aggregation) Finish(ctx context.Context) (*Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	groups, err := newGroups(a.plan, a.workers)
	if err != nil {
		return nil, err
	}
	a.result = newResult(groups, a.options.Dir, int64(float64(a.options.Memory)*sorterPart))
	if err := a.result.build(ctx); err != nil {
		return nil, err
	}
	return a.result, nil
}

// Close removes all temporary files. It may be called twice.
func (a *Aggregation) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, w := range a.workers {
		errs = append(errs, w.runs.Close())
	}
	a.workers = nil
	if a.result != nil {
		errs = append(errs, a.result.sorter.Close())
	}
	return errors.Join(errs...)
}

// groups are those of all workers, merged. They can be read several times.
type groups struct {
	*plan
	workers []*Worker
	// refs are the sorted groups of every worker, if nothing was spilled.
	refs [][]uint64
	// total, from, to, ignored and seen are as those of a Worker.
	total    uint64
	from, to int64
	ignored  []uint64
	seen     []bool
	spilled  bool
}

// newGroups prepares the groups of workers. If any spilled, all do: the memory is needed for the result.
func newGroups(p *plan, workers []*Worker) (*groups, error) {
	g := &groups{plan: p, workers: workers, ignored: make([]uint64, len(p.fields)), seen: make([]bool, len(p.fields))}
	for i, w := range workers {
		if i == 0 || w.from < g.from {
			g.from = w.from
		}
		if i == 0 || w.to > g.to {
			g.to = w.to
		}
		g.total += w.total
		for i, n := range w.ignored {
			g.ignored[i] += n
			g.seen[i] = g.seen[i] || w.seen[i]
		}
		g.spilled = g.spilled || w.runs.Len() > 0
	}
	for _, w := range workers {
		if !g.spilled {
			g.refs = append(g.refs, w.table.sorted())
			continue
		}
		if err := w.spill(); err != nil {
			return nil, err
		}
		w.table = nil
	}
	return g, nil
}

// each calls f with every group in the order of the keys, as the only group of a table.
func (g *groups) each(ctx context.Context, f func(t *table, group ref) error) error {
	var cursors []spill.Cursor
	for i, w := range g.workers {
		if g.spilled {
			cursors = append(cursors, w.runs.Cursors()...)
		} else {
			cursors = append(cursors, &tableCursor{table: w.table, refs: g.refs[i]})
		}
	}
	merged, err := spill.Merge(cursors)
	if err != nil {
		return err
	}
	one := newSingle(g.plan)
	err = spill.Each(merged, func(key, payload []byte) error {
		if !one.has(key) {
			if err := one.flush(f); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			one.start(key)
		}
		return one.table.merge(one.group, payload)
	})
	if err == nil {
		err = one.flush(f)
	}
	return errors.Join(err, merged.Close())
}

// tableCursor reads the sorted groups of a table.
type tableCursor struct {
	table *table
	refs  []uint64
	text  []byte
}

func (c *tableCursor) Next() (key, payload []byte, err error) {
	if len(c.refs) == 0 {
		return nil, nil, io.EOF
	}
	r := ref(c.refs[0])
	c.refs = c.refs[1:]
	c.text = c.table.encode(c.text[:0], r)
	return c.table.key(r), c.text, nil
}

func (c *tableCursor) Close() error { return nil }

// single merges groups of one key at a time.
type single struct {
	table *table
	group ref // 0 if there is none
}

const singleMemory = 1 << 20

func newSingle(p *plan) *single { return &single{table: newTable(p, singleMemory)} }

// has reports whether the group has a key.
func (s *single) has(key []byte) bool {
	return s.group != 0 && string(s.table.key(s.group)) == string(key)
}

// start makes an empty group the only one.
func (s *single) start(key []byte) {
	s.table.reset()
	s.group = s.table.newGroup(key)
}

// flush calls f with the group, if there is one, and removes it.
func (s *single) flush(f func(t *table, group ref) error) error {
	if s.group == 0 {
		return nil
	}
	group := s.group
	s.group = 0
	return f(s.table, group)
}
