package upload

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// giveUp records that the run has given up a store, if err is a [gaveUp] and there are others: the run continues with these. Otherwise
// it returns false, and the caller ends the run with err.
func (r *run) giveUp(ctx context.Context, name string, err error) bool {
	if ctx.Err() != nil || !errors.As(err, new(gaveUp)) || r.u.only(name) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed[name] == nil {
		r.failed[name] = err
		r.u.opts.Log.Error("gave up a store; delivering to the others", "store", name, "error", err)
	}
	if r.end == nil { // the buffer may be full of batches of this store
		r.end = time.AfterFunc(r.u.opts.RetryFor, func() { r.cancel(err) })
	}
	return true
}

// only reports whether a store is the only one that the configuration names.
func (u *Uploader) only(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.route == nil && name == u.current.name
}

// progress postpones the end of a run that has given up a store.
func (r *run) progress() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		r.end.Reset(r.u.opts.RetryFor)
	}
}

// gaveUp joins the errors of the stores that the run, which has ended, has given up; nil if there are none.
func (r *run) gaveUp() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		r.end.Stop()
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(r.failed)) {
		all = append(all, r.failed[name])
	}
	return errors.Join(all...)
}
