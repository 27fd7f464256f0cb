package export

import (
	"context"
	"math"

	"logstow/catalog"
	"logstow/segment"
)

// maxOpen is the maximum number of outputs of a service that are merged at the same time, maxText the size of their texts from which
// no more are opened. Of more whose times overlap the later ones follow: their rows are not in order, which costs readers that skip
// row groups, nothing else.
const (
	maxOpen = 16
	maxText = 32 << 20
)

// merge yields the records of the outputs of a service and day in the order of their times.
type merge struct {
	run     *run
	units   []catalog.Segment // not opened yet, in order of Start
	decoder *segment.Decoder
	fields  []string
	open    []*reader
	free    [][]byte // texts for reuse
}

// each calls f with each record, as the current one of its reader, and done for each output that has ended.
func (m *merge) each(ctx context.Context, f func(*reader) error, done func(catalog.Segment)) error {
	for {
		if err := m.openNext(ctx); err != nil {
			return err
		}
		if len(m.open) == 0 {
			return nil
		}
		first, limit := m.first()
		u := m.open[first]
		for {
			if err := f(u); err != nil {
				return err
			}
			ok, err := u.next(ctx)
			if err != nil {
				return err
			}
			if !ok {
				m.free = append(m.free, u.text)
				m.open = append(m.open[:first], m.open[first+1:]...)
				done(u.unit)
				break
			}
			if u.line.Time > limit {
				break
			}
		}
	}
}

// full reports whether no more outputs may be opened.
func (m *merge) full() bool {
	size := 0
	for _, u := range m.open {
		size += cap(u.text)
	}
	return len(m.open) >= maxOpen || size >= maxText
}

// openNext opens the outputs that may have the next record.
func (m *merge) openNext(ctx context.Context) error {
	for len(m.units) > 0 && !m.full() {
		if len(m.open) > 0 {
			if first, _ := m.first(); m.open[first].line.Time < m.units[0].Meta.Start {
				return nil
			}
		}
		var text []byte
		if n := len(m.free); n > 0 {
			text, m.free = m.free[n-1], m.free[:n-1]
		}
		unit := m.units[0]
		u, err := openUnit(ctx, m.run.catalog.Retry.Range(m.run.store.Compacted(), unit.Ref()), unit, m.decoder, m.fields, text)
		if err != nil {
			return err
		}
		ok, err := u.next(ctx)
		if err != nil {
			return err
		}
		m.units = m.units[1:]
		if ok {
			m.open = append(m.open, u)
		}
	}
	return nil
}

// first returns the index of the reader with the earliest record, and the time up to which its records come before those of all others.
func (m *merge) first() (first int, limit int64) {
	limit = math.MaxInt64
	for i, u := range m.open[1:] {
		if u.line.Time < m.open[first].line.Time {
			first = i + 1
		}
	}
	for i, u := range m.open {
		if i != first {
			limit = min(limit, u.line.Time)
		}
	}
	if len(m.units) > 0 && !m.full() {
		limit = min(limit, m.units[0].Meta.Start-1)
	}
	return first, limit
}
