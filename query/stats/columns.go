package stats

import (
	"slices"

	"logstow/message"
	"logstow/query/aggregate"
	"logstow/query/fetch"
	"logstow/query/match"

	"logstow/columns"
	"logstow/field"
	"logstow/field/where"
	"logstow/segment"
)

// columnNames returns the names of the columns that the computation needs; not ok if columns cannot suffice.
func (c *Computation) columnNames() (names []columns.Name, ok bool) {
	if c.ordered || slices.ContainsFunc(c.conditions, func(p *where.Program) bool { return !match.Columnar(p) }) {
		return nil, false
	}
	add := func(name columns.Name) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range c.values {
		switch name.Fixed {
		case field.Time, field.Message:
			return nil, false
		case field.Service, field.Instance:
		default:
			add(name)
		}
	}
	for _, p := range c.conditions {
		if p.Leveled() {
			add(columns.Name{Fixed: field.Level})
		}
		if p.Sourced() {
			add(columns.Name{Fixed: field.Source})
		}
		for _, name := range p.Fields() {
			add(columns.Name{Field: name})
		}
	}
	if c.timed {
		step := slices.IndexFunc(c.spec.By, func(k aggregate.Key) bool { return !k.Step.IsZero() })
		if step < 0 || !c.spec.By[step].Step.Seconds() || c.spec.From == 0 && c.spec.To == 0 {
			return nil, false
		}
		add(columns.Name{Fixed: field.Time})
	}
	return names, true
}

// fromColumns adds the selected records of a block by its columns; not ok if the text has to be read instead.
func (w *worker) fromColumns(t *fetch.Task, sel match.Selected, cols match.Columns) (ok bool, err error) {
	if w.timed && t.Block.End >= w.spec.To {
		return false, nil
	}
	b := aggregate.Batch{Records: int(t.Block.Records), Selected: sel.Records}
	for _, name := range w.values {
		page := constant(t.Segment.Name.Service, t.Block)
		if name.Fixed != field.Service {
			page = cols.Page(name)
		}
		if page == nil {
			return false, nil
		}
		b.Fields = append(b.Fields, page)
	}
	if err := w.makeEvaluators(); err != nil {
		return false, err
	}
	w.holds = slices.Grow(w.holds[:0], len(w.conditions))[:len(w.conditions)]
	for i, p := range w.conditions {
		holds := w.holds[i].Of(p, w.evaluators[i], t.Segment.Name.Service, cols)
		if holds == nil {
			return false, nil
		}
		b.Holds = append(b.Holds, holds)
	}
	if w.timed {
		if b.Runs = cols.Seconds(); b.Runs == nil {
			return false, nil
		}
		b.Base = columns.FloorSecond(t.Block.Start)
	}
	if sel.Count == 0 {
		return true, nil
	}
	if w.batcher == nil {
		w.batcher = aggregate.NewBatcher(w.Worker)
	}
	return true, w.batcher.AddBatch(&b)
}

// constant returns a page in which all records have the same text.
func constant(text string, b segment.Block) *columns.Page {
	return columns.Constant(message.Value{Kind: message.String, Text: []byte(text)}, int(b.Records))
}
