package engine

import (
	"slices"

	"logstow/logql/labels"
)

// outcome is the result of the stages for records with the same fields.
type outcome[T any] struct {
	known  bool
	number bool // the sample is the number that the record has in the unwrapped column
	value  float64
	series *cellSeries[T] // nil if the record is rejected
	// n is the number of records, and values are the samples, that are not added yet.
	n      uint64
	values []float64
}

// fieldScratch is the memory of AddFields.
type fieldScratch[T any] struct {
	combiner
	outcomes []outcome[T]
	pending  []*outcome[T]
}

// AddFields adds records by their fields. Where a record has an __error__ that ends the query, its line is needed for the message.
func (a *accumulator[T, C]) AddFields(b *FieldBlock) (bool, error) {
	if err := a.ticker.tick(); err != nil {
		return false, err
	}
	x := &a.scratch
	n := x.combine(b, a.plan.numbers)
	x.outcomes = slices.Grow(x.outcomes[:0], n)[:n]
	for i := range x.outcomes {
		x.outcomes[i] = outcome[T]{values: x.outcomes[i].values[:0]}
	}
	for i, id := range x.ids {
		if o := &x.outcomes[id]; !o.known && (b.Selected == nil || b.Selected[i]) {
			if ok, err := a.process(o, b, i); !ok || err != nil {
				return false, err
			}
		}
	}
	if a.plan.fields.Seconds {
		from := 0
		for _, run := range b.Runs {
			at, _ := run.Times(b.Base)
			if interval, ok := a.plan.windows.interval(at); ok {
				if err := a.addOutcomes(b, from, run.End, interval); err != nil {
					return true, err
				}
			}
			from = run.End
		}
		return true, nil
	}
	return true, a.addOutcomes(b, 0, b.Records, 0)
}

// process finds the outcome of a record. It returns false if that is an error.
func (a *accumulator[T, C]) process(o *outcome[T], b *FieldBlock, record int) (bool, error) {
	x := &a.scratch
	o.known = true
	x.setFields(b, a.plan.fields.Names, record)
	o.number = x.unwrapped != nil && x.unwrapped.ID(record) == x.unwrapped.Plane
	if !a.processor.ProcessFields(x.fields, b.stream(record)) {
		return true, nil
	}
	if a.plan.agg.Range.Unwrap != nil {
		var keep bool
		if o.value, keep = a.processor.Sample(); !keep {
			return true, nil
		}
	}
	if !a.plan.errors && a.processor.Get(labels.Error) != "" {
		return false, nil
	}
	a.key = a.plan.group.appendKey(a.key[:0], a.processor)
	if o.series = a.series[string(a.key)]; o.series == nil {
		var err error
		if o.series, err = a.create(a.key, a.plan.group.labels(a.processor)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// addOutcomes adds the records [from, to), which are of one interval.
func (a *accumulator[T, C]) addOutcomes(b *FieldBlock, from, to, interval int) error {
	x := &a.scratch
	unwrap := a.plan.agg.Range.Unwrap != nil
	for i := from; i < to; i++ {
		o := &x.outcomes[x.ids[i]]
		if o.series == nil || b.Selected != nil && !b.Selected[i] {
			continue
		}
		if o.n++; o.n == 1 {
			x.pending = append(x.pending, o)
		}
		if !unwrap {
			continue
		}
		value := o.value
		if o.number {
			value = x.number(x.unwrapped, x.unwrapped.Numbers.Values[i])
		}
		o.values = append(o.values, value)
	}
	for _, o := range x.pending {
		if err := a.addPending(o, interval); err != nil {
			return err
		}
	}
	x.pending = x.pending[:0]
	return nil
}

// addPending adds the records of an outcome.
func (a *accumulator[T, C]) addPending(o *outcome[T], interval int) error {
	values := o.values
	n := o.n
	o.n, o.values = 0, values[:0]
	if len(values) == 0 {
		return a.add(o.series, interval, sample{n: n})
	}
	c, size := o.series.grow(interval)
	before := C(c).size()
	if sums, ok := any(C(c)).(interface{ addValues(values []float64) }); ok {
		sums.addValues(values)
	} else {
		for _, v := range values {
			C(c).add(sample{n: 1, value: v})
		}
	}
	if size += C(c).size() - before; size == 0 {
		return nil
	}
	return a.take(size)
}
