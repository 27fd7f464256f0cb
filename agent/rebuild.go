package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"logstow/audit"
	"logstow/internal/hint"
	"logstow/internal/retry"
	"logstow/store"
)

// rebuildInterval is the interval between checks for an incomplete index. A check costs one stat
// for a store in a directory, and nothing for others.
const rebuildInterval = 10 * time.Second

// errNotRebuilt reports that an index is still incomplete after a rebuild.
type errNotRebuilt struct{ err error }

func (e errNotRebuilt) Error() string { return e.err.Error() }
func (e errNotRebuilt) Unwrap() error { return e.err }

// rebuildLoop rebuilds indexes whose databases were replaced, until ctx ends.
func (p *pipeline) rebuildLoop(ctx context.Context) {
	logged := ""
	retry.Every(ctx, rebuildInterval, func() {
		err := p.rebuildIndexes(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			logged = ""
		case err.Error() != logged:
			logged = err.Error()
			p.log.Error("index incomplete; retrying", "error", err)
		}
	})
}

// rebuildIndexes rebuilds the incomplete indexes of all open stores from their blobs. Its error is an
// [errNotRebuilt].
func (p *pipeline) rebuildIndexes(ctx context.Context) error {
	var errs []error
	for _, s := range p.opened.all() {
		if err := p.rebuildIndex(ctx, s); err != nil {
			errs = append(errs, fmt.Errorf("cannot rebuild the index of %s: %w", s, err))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return errNotRebuilt{hint.Wrap(errors.Join(errs...), "run shipper reindex on the store")}
}

func (p *pipeline) rebuildIndex(ctx context.Context, s store.Store) error {
	id, err := store.PendingReindex(s)
	if id == "" || err != nil {
		return err
	}
	began := time.Now()
	p.log.Info("index incomplete; rebuilding it from the blobs", "store", s.String())
	report, err := audit.Reindex(ctx, s, audit.Options{})
	if err = errors.Join(err, report.Err()); err != nil {
		return err
	}
	p.log.Info("index rebuilt", "store", s.String(), "segments", report.Blobs, "written", report.Written,
		"duration", time.Since(began).Round(time.Millisecond).String())
	return nil
}
