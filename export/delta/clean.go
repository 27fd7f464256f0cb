package delta

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"logstow/store"
)

// Garbage are blobs of a table that no reader needs.
type Garbage struct {
	// Entries are entries and checkpoints of the log, Files data files.
	Entries, Files []store.Blob
}

// Refs returns the blobs of the garbage.
func (g Garbage) Refs() []store.BlobRef {
	refs := make([]store.BlobRef, 0, len(g.Entries)+len(g.Files))
	for _, all := range [][]store.Blob{g.Files, g.Entries} {
		for _, b := range all {
			refs = append(refs, b.Ref())
		}
	}
	return refs
}

// Bytes is the stored size.
func (g Garbage) Bytes() (n int64) {
	for _, all := range [][]store.Blob{g.Files, g.Entries} {
		for _, b := range all {
			n += b.Size
		}
	}
	return n
}

// FindGarbage finds what may be deleted at a time:
//
//   - data files under prefix that were removed from the table longer ago than its retention, 7 days by default
//   - data files under prefix that are not of the table, were created longer ago than that, and for which own is true: those of commits
//     that failed
//   - entries and checkpoints before the last checkpoint that is older than the retention of the log, 30 days by default, if it covers an
//     entry that is as old
//
// One listing each of the files and the log.
func (t *Table) FindGarbage(ctx context.Context, s *Snapshot, prefix string, own func(name string) bool, now time.Time) (g Garbage, err error) {
	if g.Files, err = t.oldFiles(ctx, s, prefix, own, now); err != nil {
		return g, err
	}
	g.Entries, err = t.oldEntries(ctx, s, now)
	return g, err
}

func (t *Table) oldFiles(ctx context.Context, s *Snapshot, prefix string, own func(name string) bool, now time.Time) (old []store.Blob, err error) {
	keep, ok := s.Retention(FileRetention, fileRetention)
	if !ok {
		return nil, nil
	}
	before := now.Add(-keep)
	needed := make(map[string]bool, len(s.Files))
	removed := make(map[string]bool)
	for path := range s.Files {
		needed[nameOf(path)] = true
	}
	for path, r := range s.Removed {
		expired := r.Deleted == nil || *r.Deleted < before.UnixMilli()
		needed[nameOf(path)] = needed[nameOf(path)] || !expired
		removed[nameOf(path)] = true
	}
	for page, err := range t.Retry.List(ctx, t.Blobs, prefix) {
		if errors.Is(err, store.ErrNoContainer) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot list the files of the table: %w", err)
		}
		for _, b := range page {
			if !needed[b.Name] && b.Created.Before(before) && (own(b.Name) || removed[b.Name]) {
				old = append(old, b)
			}
		}
	}
	return old, nil
}

// nameOf returns the name of the blob of a path in an action, relative to the table.
func nameOf(path string) string {
	if name, err := url.PathUnescape(path); err == nil {
		return name
	}
	return path
}

func (t *Table) oldEntries(ctx context.Context, s *Snapshot, now time.Time) (old []store.Blob, err error) {
	keep, ok := s.Retention(LogRetention, logRetention)
	l, err := t.list(ctx)
	if err != nil || !ok {
		return nil, err
	}
	before := now.Add(-keep)
	last := int64(-1) // the last entry that is old
	for _, e := range l.entries {
		if !e.Created.Before(before) {
			break
		}
		last = e.version
	}
	// The last checkpoint up to it is where readers of earlier versions begin.
	cut := int64(-1)
	for _, c := range l.checkpoints {
		if c.version <= last {
			cut = c.version
		}
	}
	for _, all := range [][]logBlob{l.entries, l.checkpoints} {
		for _, b := range all {
			if b.version < cut {
				old = append(old, b.Blob)
			}
		}
	}
	return old, nil
}

// Delete deletes garbage. What is gone already counts as deleted.
func (t *Table) Delete(ctx context.Context, g Garbage) error {
	refs := g.Refs()
	err := t.Retry.Do(ctx, func() error { return t.Blobs.Delete(ctx, refs) })
	if err != nil {
		return fmt.Errorf("cannot delete old files of the table: %w", err)
	}
	return nil
}
