package query

import (
	"slices"
)

const (
	// maxGroups and maxGroupBytes bound the groups in memory.
	maxGroups     = 200_000
	maxGroupBytes = 24 << 20
	// groupOverhead is about what a group takes beside its key.
	groupOverhead = 64
)

// groups are counts by key. When there are too many, all become smaller by the
// median and those that reach nothing are dropped: what is left is too low by that
// much at most (the summary of Misra and Gries).
type groups struct {
	counts  map[string]*uint64
	bytes   int
	total   uint64
	dropped bool
	err     uint64
}

func newGroups() *groups { return &groups{counts: map[string]*uint64{}} }

// add counts n records of a group.
func (g *groups) add(key []byte, n uint64) {
	g.total += n
	if count := g.counts[string(key)]; count != nil {
		*count += n
		return
	}
	g.insert(string(key), n)
}

func (g *groups) insert(key string, n uint64) {
	g.counts[key] = &n
	if g.bytes += len(key) + groupOverhead; len(g.counts) > maxGroups || g.bytes > maxGroupBytes {
		g.shrink()
	}
}

// merge adds what another has.
func (g *groups) merge(other *groups) {
	g.total += other.total
	g.err += other.err
	g.dropped = g.dropped || other.dropped
	for key, n := range other.counts {
		if count := g.counts[key]; count != nil {
			*count += *n
		} else {
			g.insert(key, *n)
		}
	}
}

func (g *groups) shrink() {
	all := make([]uint64, 0, len(g.counts))
	for _, n := range g.counts {
		all = append(all, *n)
	}
	slices.Sort(all)
	less := all[len(all)/2]
	g.dropped = true
	g.err += less
	for key, n := range g.counts {
		if *n <= less {
			delete(g.counts, key)
			g.bytes -= len(key) + groupOverhead
		} else {
			*n -= less
		}
	}
}
