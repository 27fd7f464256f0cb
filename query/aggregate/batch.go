package aggregate

import (
	"math"
	"slices"

	"logstow/message"
	"logstow/query/rowset"
)

// Batch has records of a block by columns.
type Batch struct {
	// Set has the values of [Plan.Fields], in that order. If the Spec needs times, so does the set; the Spec's range must be
	// bounded and contain all records, and time steps must be whole seconds.
	*rowset.Set
	// Holds has, for each of [Plan.Conditions], whether it is true for each record of the block.
	Holds [][]bool
}

// maxCodes is the maximum number of combinations of keys with which the records of a batch are added by group.
const maxCodes = 1 << 14

// AddBatch adds the records of a batch. The aggregation must not be [Plan.Ordered]. Errors are those of [Worker.Add].
func (w *Worker) AddBatch(b *Batch) error {
	if w.batch == nil {
		w.batch = &batcher{entries: make([]entryNumbers, len(w.Fields))}
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
		n := len(page.Entries)
		e.number, e.is = slices.Grow(e.number[:0], n)[:n], slices.Grow(e.is[:0], n)[:n]
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
		if e := &x.entries[input]; len(e.is) > 0 {
			w.in.numbers[input], w.in.isNum[input] = e.number[id], e.is[id]
		}
	}
	state, err := w.stateOf(rec, n)
	if err != nil {
		return err
	}
	x.counted, x.in.records = -1, records
	for i := range w.stats {
		s := &w.stats[i]
		if _, is := s.statType.(holds); is {
			x.in.holds = b.Holds[s.input]
		} else if x.counted != s.input {
			w.count(b, s.input)
		}
		s.addBatch(&w.table.memory, state[s.offset:], &x.in)
	}
	return nil
}

// count finds the values of a field in the records of the current group.
func (w *Worker) count(b *Batch, input int) {
	x := w.batch
	in, page := &x.in, b.Pages[input]
	x.counted, in.page, in.entries = input, page, &x.entries[input]
	in.found.Count(page, in.records)
	for id, n := range in.found.Counts {
		w.seen[input] = w.seen[input] || n > 0 && (id == page.Plane || page.Entries[id].Kind != message.Missing)
	}
	in.low, in.high, in.sum = math.MaxInt64, math.MinInt64, 0
	for _, i := range in.found.Numbers {
		v := page.Numbers.Values[i]
		in.low, in.high = min(in.low, v), max(in.high, v)
		in.sum += v
	}
}
