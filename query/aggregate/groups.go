package aggregate

import (
	"context"

	"logstow/spill"
)

// groups merges the groups of all workers. They can be read several times.
type groups struct {
	*Plan
	workers []*Worker
	// refs are the sorted groups of every worker, if nothing was spilled.
	refs [][]uint64
	// total, from, to, ignored and seen are the combined values of the workers.
	total    uint64
	from, to int64
	ignored  []uint64
	seen     []bool
	spilled  bool
}

// newGroups prepares the groups of workers. If any worker has spilled, all spill, because the result needs the memory.
func newGroups(p *Plan, workers []*Worker) (*groups, error) {
	g := &groups{Plan: p, workers: workers, ignored: make([]uint64, len(p.Fields)), seen: make([]bool, len(p.Fields))}
	for i, w := range workers {
		w.in, w.batch = input{}, nil // they refer to the memory of the last records
		if i == 0 || w.from < g.from {
			g.from = w.from
		}
		if i == 0 || w.to > g.to {
			g.to = w.to
		}
		g.total += w.total
		for i, n := range w.ignored {
			g.ignored[i] += n
			g.seen[i] = g.seen[i] || w.seen[i]
		}
		g.spilled = g.spilled || w.runs.Len() > 0
	}
	for _, w := range workers {
		if !g.spilled {
			g.refs = append(g.refs, w.table.sorted())
			continue
		}
		if err := w.spill(); err != nil {
			return nil, err
		}
		w.table = nil
		if err := w.runs.Fit(w.limit); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// each calls f with every group in the order of the keys, as the only group of a table.
func (g *groups) each(ctx context.Context, f func(t *table, group ref) error) error {
	var cursors []spill.Cursor[[]byte]
	for i, w := range g.workers {
		if g.spilled {
			cursors = append(cursors, w.runs.Cursors()...)
		} else {
			cursors = append(cursors, &tableCursor{table: w.table, refs: g.refs[i]})
		}
	}
	one := newSingle(g.Plan)
	err := spill.Merge(cursors, func(key, payload []byte) error {
		if !one.has(key) {
			if err := one.flush(f); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			one.start(key)
		}
		return one.table.merge(one.group, payload)
	})
	if err != nil {
		return err
	}
	return one.flush(f)
}

// single merges groups of one key at a time.
type single struct {
	table *table
	group ref // 0 if there is none
}

const singleMemory = 1 << 20

func newSingle(p *Plan) *single { return &single{table: newTable(p, singleMemory)} }

// has reports whether the group has a key.
func (s *single) has(key []byte) bool {
	return s.group != 0 && string(s.table.key(s.group)) == string(key)
}

// start makes an empty group the only one.
func (s *single) start(key []byte) {
	s.table.reset()
	s.group = s.table.newGroup(key)
}

// flush calls f with the group, if there is one, and removes it.
func (s *single) flush(f func(t *table, group ref) error) error {
	if s.group == 0 {
		return nil
	}
	group := s.group
	s.group = 0
	return f(s.table, group)
}
