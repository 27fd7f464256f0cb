package aggregate

import (
	"math"
	"slices"

	"logstow/columns"
	"logstow/exact"
	"logstow/message"
	"logstow/query/rowset"
)

// Batch has records of a block by columns.
type Batch struct {
	// Set has the values of [Aggregation.Fields], in that order. If the Spec needs times, so does the set; the Spec's range must be
	// bounded and contain all records, and time steps must be whole seconds.
	*rowset.Set
	// Holds has, for each of [Aggregation.Conditions], whether it is true for each record of the block.
	Holds [][]bool
}

// maxCodes is the maximum number of combinations of keys with which the records of a batch are added by group.
const maxCodes = 1 << 14

// AddBatch adds the records of a batch. The aggregation must not be [Aggregation.Ordered]. Errors are those of [Worker.Add].
func (w *Worker) AddBatch(b *Batch) error {
	if w.batch == nil {
		w.batch = &batcher{entries: make([]entryNumbers, len(w.fields))}
	}
	x := w.batch
	x.operands = x.operands[:0]
	for _, input := range w.keyOf {
		if input >= 0 {
			x.operands = append(x.operands, rowset.Operand{Page: b.Pages[input]})
		}
	}
	together := x.combiner.Combine(x.operands, maxCodes)
	if together {
		w.readEntries(b)
	}
	for at, span := range b.Spans(func(at int64) (int64, bool) { return w.stepOf(at), true }) {
		if w.Until {
			at++ // the first time of the step
		}
		var err error
		switch {
		case !together:
			err = w.addRows(b, at, span)
		case len(w.stats) == 0:
			err = x.combiner.Counts(b.Set, span, func(keys, n int) error { return w.addGroup(b, at, keys, uint64(n), nil) })
		default:
			err = x.combiner.Groups(b.Set, span, func(keys int, records []uint32) error {
				return w.addGroup(b, at, keys, uint64(len(records)), records)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addRows adds the records of a span one by one.
func (w *Worker) addRows(b *Batch, at int64, span rowset.Span) error {
	x := w.batch
	rec := &x.record
	rec.Time = at
	for i := span.From; i < span.End; i++ {
		if !b.Has(i) {
			continue
		}
		rec.Values, x.text = b.AppendValues(rec.Values[:0], x.text[:0], i)
		rec.Holds = rec.Holds[:0]
		for _, holds := range b.Holds {
			rec.Holds = append(rec.Holds, holds[i])
		}
		if err := w.Add(rec); err != nil {
			return err
		}
	}
	return nil
}

// readEntries sets entries, and counts values that should be numbers and are not.
func (w *Worker) readEntries(b *Batch) {
	for _, i := range w.numeric {
		page, e := b.Pages[i], &w.batch.entries[i]
		ignored := false
		for id, v := range page.Entries {
			e.is[id] = false
			if id == page.Plane {
				continue
			}
			e.number[id], e.is[id] = v.Amount()
			ignored = ignored || !e.is[id] && isPresent(v)
		}
		if !ignored {
			continue
		}
		for row := range b.Records {
			if id := page.ID(row); b.Has(row) && id != page.Plane && !e.is[id] && isPresent(page.Entries[id]) {
				w.ignored[i]++
			}
		}
	}
}

// isPresent reports whether a value is neither missing nor null.
func isPresent(v message.Value) bool { return v.Kind != message.Missing && v.Kind != message.Null }

// addGroup adds the n records of one time step and one combination of keys. records are their indexes, nil if there are no stats.
func (w *Worker) addGroup(b *Batch, at int64, keys int, n uint64, records []uint32) error {
	x := w.batch
	rec := &x.record
	rec.Time = at
	rec.Values = slices.Grow(rec.Values[:0], len(b.Pages))[:len(b.Pages)]
	clear(rec.Values)
	operand := 0
	for _, input := range w.keyOf {
		if input < 0 {
			continue
		}
		id := x.combiner.Entry(keys, operand)
		operand++
		rec.Values[input] = b.Pages[input].Entries[id]
		w.numbers[input], w.isNum[input] = x.entries[input].number[id], x.entries[input].is[id]
	}
	state, err := w.stateOf(rec, n)
	if err != nil {
		return err
	}
	x.counted = -1
	for i := range w.stats {
		w.addStatOf(b, &w.stats[i], state[w.stats[i].offset:], records)
	}
	return nil
}

// addStatOf adds records to a stat of a group.
func (w *Worker) addStatOf(b *Batch, s *stat, state []byte, records []uint32) {
	x := w.batch
	if s.kind == holds {
		n := uint64(0)
		for _, i := range records {
			if b.Holds[s.input][i] {
				n++
			}
		}
		addUint(state, n)
		return
	}
	page := b.Pages[s.input]
	if x.counted != s.input {
		x.counted, x.summed = s.input, false
		x.found.Count(page, records)
		for id, n := range x.found.Counts {
			w.seen[s.input] = w.seen[s.input] || n > 0 && (id == page.Plane || page.Entries[id].Kind != message.Missing)
		}
	}
	if s.kind == distinct {
		w.addDistincts(page, state)
		return
	}
	e := &x.entries[s.input]
	for id, n := range x.found.Counts {
		if n > 0 && id != page.Plane && e.is[id] {
			w.addNumbers(s, state, e.number[id], n)
		}
	}
	if len(x.found.Numbers) > 0 {
		w.addPlane(s, state, &page.Numbers)
	}
}

// addDistincts adds the distinct values of the records that were counted.
func (w *Worker) addDistincts(page *columns.Page, state []byte) {
	x := w.batch
	for id, n := range x.found.Counts {
		if v := page.Entries[id]; n > 0 && id != page.Plane && isPresent(v) {
			w.table.addDistinct(state, v.Text)
		}
	}
	for _, i := range x.found.Numbers {
		x.text = page.Numbers.AppendText(x.text[:0], page.Numbers.Values[i])
		w.table.addDistinct(state, x.text)
	}
}

// addNumbers adds a number n times.
func (w *Worker) addNumbers(s *stat, state []byte, v exact.Number, n uint32) {
	if s.kind == minimum || s.kind == maximum {
		n = 1
	}
	for range n {
		w.addNumber(s, state, v)
	}
}

// addPlane adds the numbers of the records that were counted.
func (w *Worker) addPlane(s *stat, state []byte, numbers *columns.Numbers) {
	x := w.batch
	if !x.summed {
		x.summed = true
		x.low, x.high, x.sum = math.MaxInt64, math.MinInt64, 0
		for _, i := range x.found.Numbers {
			v := numbers.Values[i]
			x.low, x.high = min(x.low, v), max(x.high, v)
			x.sum += v
		}
	}
	switch n := int64(len(x.found.Numbers)); {
	case s.kind == minimum:
		w.table.addExtreme(s.kind, state, exact.FromScaled(x.low, numbers.Scale))
	case s.kind == maximum:
		w.table.addExtreme(s.kind, state, exact.FromScaled(x.high, numbers.Scale))
	case s.kind == moments && !s.squares && max(x.high, -x.low) < math.MaxInt64/n:
		addUint(state, uint64(n))
		w.table.addSum(state[8:], exact.FromScaled(x.sum, numbers.Scale), false)
	default:
		w.addEach(s, state, numbers)
	}
}

// addEach adds the numbers of the records that were counted one by one.
func (w *Worker) addEach(s *stat, state []byte, numbers *columns.Numbers) {
	const exactDigits = 1 << 53 // a float64 has these integers exactly
	x := w.batch
	unit := math.Pow10(numbers.Scale)
	floats := s.kind == values && x.low >= -exactDigits && x.high <= exactDigits
	for _, i := range x.found.Numbers {
		v := numbers.Values[i]
		if floats && w.table.addToSketch(state, float64(v)/unit) {
			continue
		}
		w.addNumber(s, state, exact.FromScaled(v, numbers.Scale))
	}
}
