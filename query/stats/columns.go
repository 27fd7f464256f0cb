package stats

import (
	"slices"

	"logstow/query/aggregate"
	"logstow/query/fetch"
	"logstow/query/match"
	"logstow/query/rowset"

	"logstow/columns"
	"logstow/field"
	"logstow/field/where"
)

// columnNames returns the names of the columns that the computation needs; not ok if columns cannot suffice.
func (c *Computation) columnNames() (names []columns.Name, ok bool) {
	if c.plan.Ordered || slices.ContainsFunc(c.conditions.Programs, func(p *where.Program) bool { return !match.Columnar(p) }) {
		return nil, false
	}
	for _, name := range c.values {
		switch name.Fixed {
		case field.Time, field.Message:
			return nil, false
		case field.Service, field.Instance:
		default:
			names = columns.AddNames(names, name)
		}
	}
	for _, p := range c.conditions.Programs {
		names = columns.AddNames(names, match.ColumnsOf(p)...)
	}
	if c.timed {
		if c.plan.Step.IsZero() || !c.plan.Step.Seconds() || !c.plan.Bounded() {
			return nil, false
		}
		names = columns.AddNames(names, columns.Name{Fixed: field.Time})
	}
	return names, true
}

// Columns implements [merge.Worker].
func (w *worker) Columns(t *fetch.Task, sel rowset.Selected, cols rowset.Columns) (ok bool, err error) {
	if w.timed && t.Block.End >= w.plan.To {
		return false, nil
	}
	if w.footers != nil && w.footers.answers(t.Segment) && !w.plan.Step.IsZero() {
		return false, nil // some of the minutes of the block were counted
	}
	service := t.Segment.Name.Service
	set, ok := rowset.Of(&t.Block, service, sel, cols, w.values, w.timed)
	if !ok {
		return false, nil
	}
	for len(w.holds) < len(w.conditions.Programs) {
		w.holds = append(w.holds, nil)
	}
	for i, p := range w.conditions.Programs {
		w.holds[i] = slices.Grow(w.holds[i][:0], set.Records)[:set.Records]
		for record := range w.holds[i] {
			w.holds[i][record] = set.Has(record)
		}
		if _, ok := w.expression.Filter(p, w.evaluators.Each[i], service, cols, w.holds[i]); !ok {
			return false, nil
		}
	}
	if sel.Count == 0 {
		return true, nil
	}
	return true, w.AddBatch(&aggregate.Batch{Set: set, Holds: w.holds})
}
