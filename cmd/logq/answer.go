package main

import (
	"context"
	"errors"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/query"
)

// answer calls find with a compiled query over the stores of the command line, then prints the report. find
// plans, reads and prints; it reports whether it found anything. The error has the exit status.
func (r *request) answer(ctx context.Context, c *ucli.Context, compiled *query.Query, find func(*query.Query) (found bool, err error)) error {
	return r.withStores(ctx, c, compiled, func(q *query.Query, stores []query.Store) error {
		if r.fresh {
			if err := r.awaitFlush(ctx, stores); err != nil {
				return err
			}
		}
		found, err := find(q)
		if err != nil && !errors.Is(err, query.ErrBudget) {
			return err
		}
		report := q.Report()
		r.printReport(&report)
		if err != nil {
			return r.overBudget(err)
		}
		if s := status(&report, found, stores); s != cli.OK {
			return cli.Exit(s)
		}
		return nil
	})
}

// withStores opens the stores of the command line, calls use with a compiled query over them, and closes them.
func (r *request) withStores(ctx context.Context, c *ucli.Context, compiled *query.Query, use func(*query.Query, []query.Store) error) (err error) {
	stores, closeStores, err := r.openStores(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStores()) }()
	r.coverIndex(stores)
	q, err := compiled.Over(stores, r.opts)
	if err != nil {
		return err
	}
	r.warnIndex()
	r.printRange()
	return use(q, stores)
}

// openStores opens the stores of the command line. What arrives is in none.
func (r *request) openStores(ctx context.Context, c *ucli.Context) ([]query.Store, func() error, error) {
	if r.arriving {
		return nil, func() error { return nil }, nil
	}
	return r.env.openStores(ctx, c)
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

// planned prints what is known of a plan, and shows the progress of reading it.
func (r *request) planned(q *query.Query, p *query.Plan) {
	r.warnFuture(p)
	r.printPlan(q, p)
	r.progress.planned(q, p)
}
