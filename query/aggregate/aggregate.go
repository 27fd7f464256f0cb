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
	"slices"
	"sync"

	"logstow/field"
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
func (a *Aggregation) Fields() []field.Name { return slices.Clone(a.plan.fields) }

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
	w := newWorker(a.plan, min(max(limit, minLimit), maxArena), a.options.Dir)
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
