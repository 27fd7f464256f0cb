package main

import (
	"context"
	"errors"

	"logstow/internal/cli"
	"logstow/query"
	"logstow/store"
)

// compile compiles the selection; an invalid one is a usage error.
func (r *request) compile() (err error) {
	if r.compiled, err = query.New(nil, r.sel, r.opts); errors.Is(err, query.ErrSelection) {
		err = cli.Usagef("%w", err)
	}
	return err
}

// answer calls find with the query over the stores of the command line, then prints the report. find
// plans, reads and prints; it reports whether it found anything. The error has the exit status.
func (r *request) answer(find func(*query.Query) (found bool, err error)) error {
	return r.withStores(func(q *query.Query, stores []query.Store) error {
		if r.c.Bool("fresh") {
			if err := r.awaitFlush(r.c.Context, stores); err != nil {
				return err
			}
		}
		found, err := find(q)
		if err != nil && !errors.Is(err, query.ErrBudget) {
			return err
		}
		if found {
			r.noteMissingServices(r.c.Context, q)
		}
		report := q.Report()
		r.printReport(&report)
		if err != nil {
			return r.overBudget(err)
		}
		return status(&report, found, stores)
	})
}

// withStores calls use with the query over the stores of the command line. What arrives is in none.
func (r *request) withStores(use func(*query.Query, []query.Store) error) error {
	if r.compiled == nil {
		if err := r.compile(); err != nil {
			return err
		}
	}
	over := func(stores []query.Store) error {
		r.begin(stores)
		q, err := r.compiled.Over(stores, r.opts)
		if err != nil {
			return err
		}
		return use(q, stores)
	}
	if r.arriving {
		return over(nil)
	}
	return r.env.withStores(r.c.Context, r.c, over)
}

// begin prepares opened stores for the plan, and prints the range.
func (r *request) begin(stores []query.Store) {
	if r.opts.Plan == query.PlanIndex {
		for i := range stores { // such as that of a grant, whose index may be known not to cover the range
			if err := store.Covers(stores[i].Tables, r.sel.From, r.sel.To); err != nil {
				stores[i].Tables = unopened{err}
			}
		}
		r.notef("segments were found by the index: segments that are not indexed yet may be missing")
	}
	r.printRange()
}

// plan plans, and shows the progress of what follows.
func (r *request) plan(ctx context.Context, q *query.Query) (*query.Plan, error) {
	r.progress.watch(&r.env, q)
	p, err := q.Plan(ctx)
	if err != nil {
		return nil, err
	}
	r.planned(q, p)
	return p, nil
}

// readPlan plans and calls read, whose progress is shown; it returns the plan too.
func readPlan[T any](r *request, q *query.Query, read func(*query.Plan) (T, error)) (result T, p *query.Plan, err error) {
	defer r.progress.end()
	if p, err = r.plan(r.c.Context, q); err == nil {
		result, err = read(p)
	}
	return result, p, err
}

// planned prints what is known of a plan, and shows the progress of reading it.
func (r *request) planned(q *query.Query, p *query.Plan) {
	r.warnFuture(p)
	r.printPlan(q, p)
	r.progress.planned(q, p)
}
