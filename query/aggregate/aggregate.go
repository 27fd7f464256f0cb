// Package aggregate computes functions of groups of records: the engine of logq stats --compute.
//
// A [Spec] is compiled to a [Plan], which tells what an [Aggregation] needs of each record. Any number of workers add records, then
// [Aggregation.Finish] merges their groups. The result does not depend on the number of workers, on which worker gets a record, or on
// the order of records: sums are exact (package exact), first and last follow times and sequences, and whether a quantile or a number
// of distinct values is approximate depends only on the number of values in its group.
//
// Groups that exceed the memory are written to temporary files as sorted runs (package spill), which are merged at the end.
// No group is dropped.
package aggregate

import (
	"context"
	"errors"
	"sync"
)

// DefaultMemory is the default of [Options.Memory].
const DefaultMemory = 256 << 20

// Options limit the resources of an aggregation.
type Options struct {
	// Memory is the approximate memory in bytes that the aggregation may use, garbage included; 0 is DefaultMemory. With
	// less memory the aggregation is slower, but the result is the same.
	Memory int64
	// Workers is the number of workers that add records concurrently and share the memory; at least 1.
	Workers int
	// Dir is the directory of temporary files; "" is the system's directory.
	Dir string
}

const (
	// tablesPart and sorterPart are the fractions of the memory for tables and the sorter. They leave more than half to
	// garbage, which may grow as large as the live heap.
	tablesPart, sorterPart = 5. / 16, 1. / 16
	// minLimit is the minimum memory of a worker's table in bytes.
	minLimit = 64 << 10
)

// Aggregation computes the functions of a Spec. Close it.
type Aggregation struct {
	*Plan
	options Options

	mu      sync.Mutex
	workers []*Worker
	result  *Result
}

// New makes an aggregation.
func New(p *Plan, options Options) *Aggregation {
	if options.Memory <= 0 {
		options.Memory = DefaultMemory
	}
	options.Workers = max(options.Workers, 1)
	return &Aggregation{Plan: p, options: options}
}

// Worker makes a worker. Safe for concurrent use.
func (a *Aggregation) Worker() *Worker {
	a.mu.Lock()
	defer a.mu.Unlock()
	limit := int64(float64(a.options.Memory)*tablesPart) / int64(a.options.Workers)
	w := newWorker(a.Plan, min(max(limit, minLimit), maxArena), a.options.Dir)
	a.workers = append(a.workers, w)
	return w
}

// Finish merges the groups of the workers. It must be called once, and no worker may be used afterwards. The result is valid
// until Close.
func (a *Aggregation) Finish(ctx context.Context) (*Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	groups, err := newGroups(a.Plan, a.workers)
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
