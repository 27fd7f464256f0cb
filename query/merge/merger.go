package merge

import (
	"logstow/query/fetch"

	"logstow/internal/heap"
)

// maxRuns is the maximum number of runs in the temporary file. When it is reached, they are merged into one.
const maxRuns = 256

// merger merges the records of blocks into output order. Blocks are added in order of their start.
type merger struct {
	order  Order
	emit   func(Match) error
	budget int64 // bytes of records in memory
	spill  *spillFile

	cursors heap.Heap[cursor]
	size    int64
	runs    int
}

func newMerger(o Order, budget int64, spill *spillFile, emit func(Match) error) *merger {
	m := &merger{order: o, emit: emit, budget: budget, spill: spill}
	m.cursors.Before = func(a, b cursor) bool { return o.before(a.key(), b.key()) }
	return m
}

// add adds the matches of the next block, none of which is before start. It emits all records before start.
func (m *merger) add(found *fetch.Matches, start key) error {
	if err := m.advance(func(k key) bool { return m.order.before(k, start) }, m.put); err != nil {
		return err
	}
	if len(found.Spans) == 0 {
		return nil
	}
	c := &blockCursor{matches: found, newest: m.order.Newest}
	m.cursors.Push(c)
	if m.size += c.size(); m.size <= m.budget {
		return nil
	}
	return m.toFile()
}

// finish emits the remaining records.
func (m *merger) finish() error {
	return m.advance(func(key) bool { return true }, m.put)
}

// put emits one record.
func (m *merger) put(_ key, c cursor) error {
	match, err := c.match()
	if err != nil {
		return err
	}
	return m.emit(match)
}

// advance removes records in order and calls put with each, while may is true for the key.
func (m *merger) advance(may func(key) bool, put func(key, cursor) error) error {
	for len(m.cursors.Items) > 0 {
		c := m.cursors.Items[0]
		k := c.key()
		if !may(k) {
			return nil
		}
		if err := put(k, c); err != nil {
			return err
		}
		more, err := c.next()
		if err != nil {
			return err
		}
		if more {
			m.cursors.Fix()
			continue
		}
		m.cursors.Pop()
		m.size -= c.size()
		if _, ok := c.(*blockCursor); !ok {
			m.runs--
		}
	}
	return nil
}

// toFile moves the records in memory into one run of the temporary file. If there are maxRuns runs, it merges them into the same
// run.
func (m *merger) toFile() error {
	all := m.cursors.Items
	m.cursors.Items = nil
	var runs []cursor
	for _, c := range all {
		if _, ok := c.(*blockCursor); ok || m.runs >= maxRuns {
			m.cursors.Push(c)
		} else {
			runs = append(runs, c)
		}
	}
	run, err := m.spill.write(func(put func(key, cursor) error) error {
		return m.advance(func(key) bool { return true }, put)
	})
	if err != nil {
		return err
	}
	m.runs++
	m.size += run.size()
	for _, c := range append(runs, run) {
		m.cursors.Push(c)
	}
	return nil
}
