package engine

import (
	"context"
	"fmt"

	"logstow/logql/syntax"
)

// binary computes an operation on two vectors, two numbers, or one of each.
func (ev *evaluation) binary(ctx context.Context, b *syntax.Binary) (*vector, error) {
	left, err := ev.eval(ctx, b.Left)
	if err != nil {
		return nil, err
	}
	right, err := ev.eval(ctx, b.Right)
	if err != nil {
		return nil, err
	}
	set := b.Op.IsSet()
	switch {
	case set && (left.scalar || right.scalar):
		return nil, fmt.Errorf("%w: the operands of %s must be vectors, not numbers", ErrQuery, b.Op)
	case set:
		return ev.setOperation(b, left, right)
	case left.scalar && right.scalar:
		out := constant(0, ev.steps, true)
		for k, x := range left.series[0].values {
			out.series[0].values[k], _ = operate(b.Op, true, x, right.series[0].values[k])
		}
		return out, nil
	case right.scalar:
		return ev.mapSeries(left, func(k int, v float64) (float64, bool) {
			return operate(b.Op, b.Bool, v, right.series[0].values[k])
		})
	case left.scalar:
		return ev.mapSeries(right, func(k int, v float64) (float64, bool) {
			value, ok := operate(b.Op, b.Bool, left.series[0].values[k], v)
			if b.Op.IsComparison() && !b.Bool {
				value = v // a filter returns the value of the vector, on either side
			}
			return value, ok
		})
	}
	return ev.match(b, left, right)
}

// mapSeries replaces or removes the values of a vector.
func (ev *evaluation) mapSeries(v *vector, f func(k int, v float64) (float64, bool)) (*vector, error) {
	out := &vector{}
	for _, s := range v.series {
		mapped := newSeries(s.labels, ev.steps)
		for k, value := range s.values {
			if err := ev.ticker.tick(); err != nil {
				return nil, err
			}
			if !present(value) {
				continue
			}
			if value, ok := f(k, value); ok {
				mapped.values[k] = value
			}
		}
		if !mapped.empty() {
			out.series = append(out.series, mapped)
		}
	}
	return out, nil
}

// operate returns the value of an operation. A comparison without asBool returns x if it is true, otherwise no value.
func operate(op syntax.BinaryOp, asBool bool, x, y float64) (float64, bool) {
	value, _ := op.Apply(x, y)
	if op.IsComparison() && !asBool {
		return x, value != 0
	}
	return value, true
}
