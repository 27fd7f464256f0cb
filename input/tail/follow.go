package tail

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"logstow/buffer"
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
	err := t.read(ctx, late, w)
	if t.opts.Resume && ctx.Err() != nil && late.Err() != nil {
		t.opts.Log.Info("files were not read to their end in time; the next run goes on where this one ended")
		return nil
	}
	return err
}

// read reads files until ctx ends, and then, until late ends, what they hold.
func (t *Tailer) read(ctx, late context.Context, w *watcher) error {
	if err := t.begin(late, w); err != nil {
		return err
	}
	scanned := t.opts.Now()
	cleaned := scanned
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
		now := t.opts.Now()
		if w.takeNames() || now.Sub(scanned) >= t.opts.ScanInterval {
			t.scan(w, nil)
			scanned = now
		}
		if now.Sub(cleaned) >= cleanInterval {
			if _, err := t.renamed(late, t.present()); err != nil {
				return err
			}
			cleaned = now
		}
	}
}

// begin opens what is there at the start, notes where reading it starts, and
// reads to their end the files that were renamed while nobody read them.
func (t *Tailer) begin(ctx context.Context, w *watcher) error {
	t.scan(w, func(p pattern) bool {
		_, before := t.opts.Sink.Position(p.input())
		return !before && !t.opts.FromStart
	})
	renamed, err := t.renamed(ctx, t.present())
	if err != nil {
		return err
	}
	for _, found := range renamed {
		f, err := t.open(found, false)
		t.complain(found.path, explain(err))
		if err != nil {
			continue
		}
		f.gone = t.opts.Now()
		t.files[f.id] = f
		for more := true; more; {
			if more, err = f.follow(ctx, f.gone); err != nil {
				return err
			}
		}
	}
	// From here on a file that is not known is one that appeared later.
	var all []buffer.Position
	for _, f := range t.inOrder() {
		all = append(all, f.positions(f.source.Offset()-f.source.Held())...)
	}
	for _, p := range t.patterns {
		all = append(all, buffer.Position{Input: p.input(), Value: []byte{positionVersion}})
	}
	_, err = t.opts.Sink.Append(ctx, buffer.Chunk{Positions: all})
	return err
}

// present are the files that are open.
func (t *Tailer) present() map[fileID]bool {
	present := make(map[fileID]bool, len(t.files))
	for id := range t.files {
		present[id] = true
	}
	return present
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
			if err := t.forgetRemoved(ctx, f); err != nil {
				return false, err
			}
			f.close()
			delete(t.files, f.id)
		}
	}
	return more, nil
}

// finish reads what the files hold by now and, unless the next run goes on there, ends them.
func (t *Tailer) finish(ctx context.Context, w *watcher) error {
	t.scan(w, nil)
	for more := true; more; {
		var err error
		if more, err = t.pass(ctx); err != nil {
			return err
		}
	}
	if t.opts.Resume {
		return nil
	}
	for _, f := range t.inOrder() {
		if err := t.feed.End(ctx, f.source, f.reference()); err != nil {
			return err
		}
	}
	return nil
}

// inOrder lists the files: those that lost their name before the others, since
// they are older, then by path.
func (t *Tailer) inOrder() []*file {
	return slices.SortedFunc(maps.Values(t.files), func(a, b *file) int {
		switch aOld, bOld := a.old(), b.old(); {
		case aOld && !bOld:
			return -1
		case bOld && !aOld:
			return 1
		}
		return strings.Compare(a.path, b.path)
	})
}

// old reports whether another file may have the name under which f was found first.
func (f *file) old() bool { return f.moved || !f.gone.IsZero() }

// scan looks for new files, for new names of known files and for those that
// have none any more. fromEnd says whose files are read from their end where
// nothing else is known of them; nil is none.
func (t *Tailer) scan(w *watcher, fromEnd func(pattern) bool) {
	present := make(map[fileID]bool)
	for _, p := range t.patterns {
		files, errs := t.find(p)
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
				f.moved = f.moved || f.path != found.path
				f.path, f.gone = found.path, time.Time{}
				continue
			}
			f, err := t.open(found, fromEnd != nil && fromEnd(p))
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
