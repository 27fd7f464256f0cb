// Package unindexed keeps the index entities of stored batches until the index has them, so that the
// batches themselves need not wait for it. Their number is limited: beyond that the oldest are dropped and
// counted. An entity can always be made again from its blob.
//
// Entities are in files, each with those of one store, in the order in which they were added. A file is
// written by appending, and removed as a whole. docs/format/buffer.md describes the bytes.
package unindexed

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"logstow/buffer/disk"
	"logstow/buffer/internal/wait"
	"logstow/internal/event"
	"logstow/internal/logging"
)

// maxGroup is the maximum number of entities in a file.
const maxGroup = 1000

// Options configure [Entities]. Dir, FS and Reserve are not used in memory.
type Options struct {
	// Dir is the directory of the files, which exists; "" keeps the entities in memory.
	Dir string
	FS  disk.FS
	// Limit is the maximum number of entities, MaxBytes of their bytes on disk; 0 is no limit of bytes.
	Limit    int
	MaxBytes int64
	// Reserve calls a function that writes a few KiB, and calls it again after it released reserved space on a full disk.
	Reserve func(write func() error) error
	Log     *slog.Logger
	// Failure gets the final error, after which memory and disk may differ.
	Failure *wait.Failure
}

// Entities are the entities that wait for the index. They are safe for concurrent use.
type Entities struct {
	opts Options
	// changed is notified when entities were added.
	changed event.Event

	mu sync.Mutex
	// groups are in the order in which they were begun.
	groups  []*Group
	next    uint64
	waiting int
	bytes   int64
	dropped uint64
	limit   logging.Limiter
}

// Group is the entities of one file. Its fields are guarded by the lock of the Entities.
type Group struct {
	store  string
	number uint64
	count  int
	bytes  int64
	// closed is set when nothing is appended any more, taken while a caller of Take has the group.
	closed, taken bool
	// entities are those of a group in memory.
	entities []Entity
}

// Open returns the entities that an earlier process left in a directory.
func Open(ctx context.Context, opts Options) (*Entities, error) {
	e := &Entities{opts: opts, limit: logging.Limiter{Every: time.Minute}}
	if opts.Dir == "" {
		return e, nil
	}
	numbers, sizes, err := list(opts.FS, opts.Dir)
	if err != nil {
		return nil, err
	}
	for i, number := range numbers {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		e.next = number + 1
		path := e.path(number)
		data, err := disk.ReadFile(opts.FS, path, maxFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read index entities: %w", err)
		}
		f := parse(data)
		if f.damaged {
			opts.Log.Error("a file of index entities is damaged: segments may stay unindexed; they are found by listing, and shipper reindex adds them",
				"file", path, "offset", f.size)
		}
		if err := repair(opts.FS, path, f, sizes[i]); err != nil {
			return nil, fmt.Errorf("cannot repair index entities: %w", err)
		}
		if len(f.payloads) == 0 {
			continue
		}
		e.groups = append(e.groups, &Group{store: f.store, number: number, count: len(f.payloads), bytes: f.size, closed: true})
		e.waiting += len(f.payloads)
		e.bytes += f.size
	}
	return e, nil
}

func (e *Entities) path(number uint64) string { return filepath.Join(e.opts.Dir, fileName(number)) }

// Add adds entities of a store. When it returns nil they are durable, or dropped because the disk is full. Other
// errors are final.
func (e *Entities) Add(store string, entities ...Entity) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(entities) > 0 {
		n, err := e.add(store, entities)
		switch {
		case err == nil:
		case !disk.Full(err):
			return e.opts.Failure.Set(fmt.Errorf("cannot keep index entities: %w", err))
		default:
			freed, err := e.dropOldest("the disk is full")
			if err != nil {
				return err
			}
			if freed {
				continue
			}
			n = len(entities)
			e.drop(n, "the disk is full")
		}
		entities = entities[n:]
	}
	for e.waiting > e.opts.Limit || e.opts.MaxBytes > 0 && e.bytes > e.opts.MaxBytes {
		if freed, err := e.dropOldest("too many wait for the index"); err != nil || !freed {
			return err
		}
	}
	e.changed.Notify()
	return nil
}

// add adds as many entities as fit into the store's last group. mu is held.
func (e *Entities) add(store string, entities []Entity) (n int, err error) {
	at := slices.IndexFunc(e.groups, func(g *Group) bool { return g.store == store && !g.closed })
	var g *Group
	if at >= 0 {
		g = e.groups[at]
	} else {
		g = &Group{store: store, number: e.next}
		e.next++
	}
	// Several groups, so that not all entities are dropped at once.
	size := max(1, min(maxGroup, e.opts.Limit/10))
	n = min(len(entities), size-g.count)
	if e.opts.Dir == "" {
		g.entities = append(g.entities, entities[:n]...)
	} else {
		var b []byte
		if g.bytes == 0 {
			b = encodeHead(store)
		}
		for i := range entities[:n] {
			if b, err = encode(b, &entities[i]); err != nil {
				return 0, err
			}
		}
		err = e.opts.Reserve(func() error { return appendFile(e.opts.FS, e.path(g.number), b, g.bytes) })
		if err != nil {
			if at < 0 && disk.Full(err) {
				_ = e.opts.FS.Remove(e.path(g.number)) // it may not exist; Open removes an empty one
			}
			return 0, err
		}
		g.bytes += int64(len(b))
		e.bytes += int64(len(b))
	}
	if at < 0 {
		e.groups = append(e.groups, g)
	}
	g.count += n
	g.closed = g.count >= size
	e.waiting += n
	return n, nil
}

// DropOldest drops the oldest entities that are not taken, for a reason that is logged, and reports whether there were any. An error
// is final.
func (e *Entities) DropOldest(reason string) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dropOldest(reason)
}

// dropOldest drops the oldest group that is not taken, and reports whether there was one. mu is held.
func (e *Entities) dropOldest(reason string) (bool, error) {
	at := slices.IndexFunc(e.groups, func(g *Group) bool { return !g.taken })
	if at < 0 {
		return false, nil
	}
	g := e.groups[at]
	if err := e.remove(g); err != nil {
		return false, err
	}
	e.drop(g.count, reason)
	return true, nil
}

// drop counts and logs dropped entities. mu is held.
func (e *Entities) drop(n int, reason string) {
	e.dropped += uint64(n)
	if e.limit.Allow() {
		e.opts.Log.Error("index entities are dropped: the oldest segments stay unindexed; they are found by listing, and shipper reindex adds them",
			"reason", reason, "waiting", e.waiting, "dropped", e.dropped)
	}
}

// remove removes a group and its file. mu is held. An error is final.
func (e *Entities) remove(g *Group) error {
	at := slices.Index(e.groups, g)
	if at < 0 {
		return nil
	}
	if e.opts.Dir != "" {
		if err := e.opts.FS.Remove(e.path(g.number)); err != nil {
			return e.opts.Failure.Set(fmt.Errorf("cannot remove index entities: %w", err))
		}
	}
	e.groups = slices.Delete(e.groups, at, at+1)
	e.waiting -= g.count
	e.bytes -= g.bytes
	return nil
}

// Take returns the oldest entities of a store; g is nil if there are none. The caller then calls Remove or Return. If
// they cannot be read, the error names the file.
func (e *Entities) Take(store string) (g *Group, entities []Entity, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := slices.IndexFunc(e.groups, func(g *Group) bool { return g.store == store && !g.taken })
	if at < 0 {
		return nil, nil, nil
	}
	g = e.groups[at]
	g.closed = true
	if e.opts.Dir == "" {
		g.taken = true
		return g, slices.Clone(g.entities), nil
	}
	data, err := disk.ReadFile(e.opts.FS, e.path(g.number), maxFile)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read index entities: %w", err)
	}
	g.taken = true
	for _, payload := range parse(data).payloads {
		one, err := decode(payload)
		if err != nil {
			break
		}
		entities = append(entities, one)
	}
	if lost := g.count - len(entities); lost > 0 {
		e.drop(lost, "the file "+e.path(g.number)+" is damaged")
	}
	return g, entities, nil
}

// Return gives a taken group back: its entities are not in the index.
func (e *Entities) Return(g *Group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g.taken = false
}

// Remove removes a taken group: its entities are in the index, were added again, or were given up. An error is final.
func (e *Entities) Remove(g *Group) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.remove(g)
}

// Clear drops all entities, which the caller has not taken, and returns their number.
func (e *Entities) Clear() (n int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.groups) > 0 {
		g := e.groups[0]
		if err := e.remove(g); err != nil {
			return n, err
		}
		n += g.count
	}
	e.dropped += uint64(n)
	return n, nil
}

// Changed returns a channel that is closed when entities were added.
func (e *Entities) Changed() <-chan struct{} { return e.changed.Next() }

// Waiting returns the number of entities of a store.
func (e *Entities) Waiting(store string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, g := range e.groups {
		if g.store == store {
			n += g.count
		}
	}
	return n
}

// Stores returns the stores that have entities, in the order of their oldest.
func (e *Entities) Stores() (stores []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, g := range e.groups {
		if !slices.Contains(stores, g.store) {
			stores = append(stores, g.store)
		}
	}
	return stores
}

// Bytes returns how many bytes the files have.
func (e *Entities) Bytes() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.bytes
}

// Stats returns how many entities wait, and how many were dropped since Open.
func (e *Entities) Stats() (waiting int, dropped uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting, e.dropped
}
