package tail

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"logstow/input"
)

// settle is the least time between two looks at the files.
const settle = 100 * time.Millisecond

// follow reads files as they grow until ctx ends.
func (t *Tailer) follow(ctx context.Context) error {
	late, cancel := input.Grace(ctx, t.opts.StopWait)
	defer cancel()
	w := t.watch()
	defer w.close()
	defer func() {
		for _, f := range t.files {
			f.close()
		}
	}()
	t.scan(w, !t.opts.FromStart)
	scanned := t.opts.Now()
	for {
		more, err := t.pass(late)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return t.finish(late, w)
		}
		if !more {
			t.wait(ctx, w)
		}
		if now := t.opts.Now(); w.takeNames() || now.Sub(scanned) >= t.opts.ScanInterval {
			t.scan(w, false)
			scanned = now
		}
	}
}

// wait sleeps until something may have changed.
func (t *Tailer) wait(ctx context.Context, w *watcher) {
	rest := time.NewTimer(settle)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return
	}
	poll := time.NewTimer(max(t.opts.PollInterval-settle, 0))
	defer poll.Stop()
	select {
	case <-w.wake:
	case <-poll.C:
	case <-ctx.Done():
	}
}

// pass gives every file one turn, those that were opened first first, and
// closes those that are done with. It reports whether any has more.
func (t *Tailer) pass(ctx context.Context) (more bool, err error) {
	for _, f := range t.inOrder() {
		now := t.opts.Now()
		again, err := f.follow(ctx, now)
		if err != nil {
			return false, err
		}
		more = more || again
		if f.finished(now) {
			if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
				return false, err
			}
			f.close()
			delete(t.files, f.id)
		}
	}
	return more, nil
}

// finish reads what the files hold by now and ends them.
func (t *Tailer) finish(ctx context.Context, w *watcher) error {
	t.scan(w, false)
	for more := true; more; {
		var err error
		if more, err = t.pass(ctx); err != nil {
			return err
		}
	}
	for _, f := range t.inOrder() {
		if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
			return err
		}
	}
	return nil
}

// inOrder lists the files: those without a name before the others, since they
// are older, then by path.
func (t *Tailer) inOrder() []*file {
	return slices.SortedFunc(maps.Values(t.files), func(a, b *file) int {
		if a.gone.IsZero() != b.gone.IsZero() {
			if a.gone.IsZero() {
				return 1
			}
			return -1
		}
		return strings.Compare(a.path, b.path)
	})
}

// scan looks for new files, for new names of known files and for those that
// have none any more. fromEnd is for files there at the start.
func (t *Tailer) scan(w *watcher, fromEnd bool) {
	present := make(map[fileID]bool)
	for _, p := range t.patterns {
		files, errs := p.find()
		t.complain(p.text, joined(errs))
		if p.rest != "" {
			w.add(p.base)
		}
		for _, found := range files {
			w.addParent(found.path)
			id := idOf(found.path, found.info)
			if present[id] {
				continue
			}
			present[id] = true
			if f := t.files[id]; f != nil {
				f.path, f.gone = found.path, time.Time{}
				continue
			}
			f, err := t.open(found, fromEnd)
			t.complain(found.path, explain(err))
			if err == nil {
				t.files[f.id] = f
				present[f.id] = true
			}
		}
	}
	for id, f := range t.files {
		if !present[id] && f.gone.IsZero() {
			f.gone = t.opts.Now()
		}
	}
}

// complain logs what is wrong with a file or pattern when it begins, and that
// it is over; nil is nothing wrong.
func (t *Tailer) complain(about string, err error) {
	switch {
	case err != nil && !t.said[about]:
		t.said[about] = true
		t.opts.Log.Warn("can not be read for now; trying again", "file", about, "error", err)
	case err == nil && t.said[about]:
		delete(t.said, about)
		t.opts.Log.Info("can be read again", "file", about)
	}
}
