package engine

import (
	"slices"

	"logstow/logql/labels"
)

// outcome is the result of the stages for records with the same fields.
type outcome[T any] struct {
	number bool // the sample is the number that the record has in the unwrapped column
	value  float64
	series *cellSeries[T] // nil if the record is rejected
}

// fieldScratch is the memory of AddFields.
type fieldScratch[T any] struct {
	fieldReader
	outcomes []outcome[T]
	samples  []float64
}

// AddFields adds records by their fields. Where a record has an __error__ that ends the query, its line is needed for the message.
func (a *accumulator[T, C]) AddFields(b *FieldBlock) (ok bool, err error) {
	if err := a.ticker.tick(); err != nil {
		return false, err
	}
	x := &a.scratch
	x.combine(b, a.plan.numbers)
	x.outcomes = slices.Grow(x.outcomes[:0], x.Len())[:x.Len()]
	clear(x.outcomes)
	ok = true
	x.Examples(b.Set, func(combination, record int) bool {
		ok, err = a.process(&x.outcomes[combination], b, record)
		return ok && err == nil
	})
	if !ok || err != nil {
		return false, err
	}
	for interval, span := range b.Spans(a.intervalOf) {
		if err := x.Groups(b.Set, span, func(combination int, records []uint32) error {
			return a.addRecords(&x.outcomes[combination], int(interval), records)
		}); err != nil {
			return true, err
		}
	}
	return true, nil
}

// intervalOf is the interval of the windows that a time is in.
func (a *accumulator[T, C]) intervalOf(at int64) (int64, bool) {
	interval, ok := a.plan.windows.interval(at)
	return int64(interval), ok
}

// process finds the outcome of a record. It returns false if that is an error.
func (a *accumulator[T, C]) process(o *outcome[T], b *FieldBlock, record int) (bool, error) {
	x := &a.scratch
	x.read(b, record)
	o.number = x.unwrapped != nil && x.unwrapped.ID(record) == x.unwrapped.Plane
	if !x.process(a.processor, a.plan.fields.Columns, b.Stream(x.values)) {
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
	var err error
	o.series, err = a.seriesOf()
	return err == nil, err
}

// addRecords adds records of one outcome and interval.
func (a *accumulator[T, C]) addRecords(o *outcome[T], interval int, records []uint32) error {
	x := &a.scratch
	switch {
	case o.series == nil:
		return nil
	case a.plan.agg.Range.Unwrap == nil:
		return a.add(o.series, interval, sample{n: uint64(len(records))})
	}
	x.samples = x.samples[:0]
	for _, i := range records {
		value := o.value
		if o.number {
			value = x.number(x.unwrapped, x.unwrapped.Numbers.Values[i])
		}
		x.samples = append(x.samples, value)
	}
	c, size := o.series.grow(interval)
	before := C(c).size()
	if sums, ok := any(C(c)).(interface{ addValues(values []float64) }); ok {
		sums.addValues(x.samples)
	} else {
		for _, v := range x.samples {
			C(c).add(sample{n: 1, value: v})
		}
	}
	return a.grown(size + C(c).size() - before)
}
