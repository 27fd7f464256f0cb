package wal

import (
	"fmt"
	"maps"
	"slices"

	"logstow/internal/crashpoint"
)

// Trim removes the oldest files whose records all have numbers below needed. It first begins a
// new file if the current one is full, or if force is set and the current one has records. With
// force set, a current file without records is replaced by a snapshot if that frees much space.
func (l *Log) Trim(needed uint64, force bool) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	current := l.current()
	size := l.opts.FileSize
	switch {
	case current.size >= size || force && current.last > 0:
		if err := l.roll(); err != nil {
			return err
		}
	case force && current.size > l.begun+maxCoverage:
		if err := l.replace(); err != nil {
			return err
		}
	}
	return l.drop(needed)
}

// roll ends the current file and begins the next. Both locks are held.
func (l *Log) roll() error {
	current := l.current()
	crashpoint.Here("wal.roll.before-sync")
	if err := l.finishFile(current); err != nil {
		return err
	}
	l.synced, l.durable = l.last, current.size
	l.rolls++
	oldCopy := l.copy
	file, next, err := l.create(current.seq+1, true)
	if err != nil {
		return err
	}
	oldCopy.close()
	l.durable, l.begun = next.size, next.size
	old := l.file
	l.file, l.files = file, append(l.files, next)
	if err := old.Close(); err != nil {
		return l.fail("close", current.path, err)
	}
	return nil
}

// maxCoverage is how many bytes may follow the snapshot of a file without records before Trim
// replaces the file.
const maxCoverage = 3 << 10

// replace replaces the current file, which has no records, by one with only a snapshot of the
// same state. The copy is removed first: after a crash it would not match the new file, and on
// a full disk its space is needed. Both locks are held.
func (l *Log) replace() error {
	last := len(l.files) - 1
	hadCopy, err := l.dropCopy()
	if err != nil {
		return err
	}
	file, f, err := l.create(l.files[last].seq, hadCopy)
	if err != nil {
		return err
	}
	l.synced, l.durable, l.begun = l.last, f.size, f.size
	old := l.file
	l.file, l.files[last] = file, f
	if err := old.Close(); err != nil {
		return l.fail("close", f.path, err)
	}
	return nil
}

// drop removes the oldest files while all their record numbers are below needed, and then
// the coverage of the removed records. mu is held.
func (l *Log) drop(needed uint64) error {
	lastRemoved, removed := uint64(0), false
	for len(l.files) > 1 && l.files[0].last < needed {
		f := l.files[0]
		crashpoint.Here("wal.drop.before-remove")
		err := l.dir.removeFile(l.dir.copyPath(f.seq))
		if err == nil && !f.missing {
			err = l.recycled.recycleOrRemove(l.dir.fs, f)
		}
		if err != nil {
			return fmt.Errorf("cannot remove a log file: %w", err)
		}
		crashpoint.Here("wal.drop.after-remove")
		lastRemoved, removed = max(lastRemoved, f.last), true
		l.files = slices.Delete(l.files, 0, 1)
		// Synced one by one: a crash that restores a file must not leave a gap before it, and
		// its coverage must not be dropped before the removal is durable.
		if err := l.dir.sync(); err != nil {
			return l.fail("sync", l.dir.path, err)
		}
	}
	if !removed {
		return nil
	}
	maps.DeleteFunc(l.coverage, func(_ Key, through uint64) bool { return through <= lastRemoved })
	return nil
}
