package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"logstow/internal/cli"
	"logstow/internal/price"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/query/plan"
	"logstow/serve/access"
	"logstow/serve/limits"
	"logstow/serve/loki"
	"logstow/serve/saved"
	"logstow/serve/tailwatch"
	"logstow/store"
	"logstow/store/listcache"
)

// newAPI makes the API of logq serve over opened stores. What a request may read and what it is limited to are in its context:
// access.FromContext and limits.FromContext; what it read goes to limits.Query.Add.
// Live tails are watched by watching, if it is not nil; shared returns the queries that all users share, nil is none.
func newAPI(env environment, stores []query.Store, reading query.Options, maxDuration time.Duration, watching *tailwatch.Watches, shared func() ([]saved.Query, error), log *slog.Logger) http.Handler {
	for i := range stores {
		stores[i].Blobs, stores[i].Compacted = listcache.New(stores[i].Blobs, stores[i].Compacted, env.now)
	}
	all := storage.New(stores, reading, env.now)
	noTail := ""
	if slices.ContainsFunc(stores, func(s query.Store) bool { return s.Archive != nil }) {
		noTail = "no live tails with --layout: blobs of other programs are read once; run the query again for later records"
	}
	max := loki.DefaultLimits()
	max.Duration = maxDuration
	return loki.New(loki.Options{
		View: func(ctx context.Context) loki.Backend {
			q := limits.FromContext(ctx)
			return &backend{
				View:     all.View(storage.Access{Services: access.FromContext(ctx).Globs(), MaxBytes: q.MaxBytes, MaxCost: q.MaxCost}),
				limits:   q,
				watching: watching,
			}
		},
		Scope:  func(ctx context.Context) string { return access.FromContext(ctx).Scope() },
		Saved:  shared,
		NoTail: noTail,
		Limits: max, Now: env.now, Version: cli.Version(version), Logger: log,
		Observe: func(ctx context.Context, used loki.Use) {
			q := limits.FromContext(ctx)
			q.SetRange(used.From, used.To)
			_ = addRead(q, used.Report) // the next query is refused
		},
	})
}

// newServeWatches are the watches of the stores, except those that cannot be written. Prices that are nil are the default ones.
func newServeWatches(ctx context.Context, stores []query.Store, prices *price.Table, log *slog.Logger) *tailwatch.Watches {
	var all []tailwatch.Store
	for _, s := range stores {
		tables, ok := s.Tables.(store.Tables)
		if !ok {
			continue
		}
		watched := tailwatch.Store{Name: s.Name, Container: s.Container, Tables: tables}
		if !s.Free {
			watched.Prices = new(prices.OrDefault())
		} else {
			watched.Exists = func(ctx context.Context) (bool, error) {
				_, err := plan.Services(ctx, s)
				if errors.Is(err, store.ErrNoContainer) {
					return false, nil
				}
				return err == nil, err
			}
		}
		all = append(all, watched)
	}
	return tailwatch.New(ctx, all, log)
}

// addRead adds what a request has read until now.
func addRead(q *limits.Query, report query.Report) error {
	bytes, cost := q.Read()
	return q.Add(report.BytesStoredRead-bytes, report.CostUSD-cost)
}

// backend is the storage of a request.
type backend struct {
	*storage.View
	limits   *limits.Query
	watching *tailwatch.Watches // nil for none
	tail     *tailwatch.Tail    // nil before Tail
}

// Watched reports whether shippers flush early for Tail.
func (b *backend) Watched() bool { return b.tail != nil && b.tail.Watched() }

// Tail is Tail of the view, but ends when the budget of the day is spent. The services that it reads are watched until then.
func (b *backend) Tail(ctx context.Context, log *syntax.LogExpr, from int64, limit int, poll time.Duration, emit func(*engine.Entry) error, idle func() error) error {
	if b.watching != nil {
		b.tail = b.watching.Tail()
		defer b.tail.Close()
		b.Watch(b.tail)
		ctx = listcache.NewContext(ctx, func() time.Duration {
			if b.tail.Interval(poll) < poll {
				return tailwatch.Interval / 2 // tails share listings, but none of their own previous poll
			}
			return listcache.Recent
		})
	}
	return b.View.Tail(ctx, log, from, limit, poll, emit, func() error {
		if err := addRead(b.limits, b.Report()); err != nil {
			return err
		}
		return idle()
	})
}
