package stats

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"logstow/query/aggregate"
	"logstow/query/match"

	"logstow/field"
	"logstow/field/where"
)

// Computation computes functions of the records that a query selects. Immutable.
type Computation struct {
	spec       aggregate.Spec
	conditions []*where.Program
	// names are the fields of the message, first of the aggregation, then of each condition; offsets has the index of the
	// first field of each condition.
	names   []string
	offsets []int
	// values are the fields of the aggregation, in its order.
	values []value
	// timed is set if the times of records are needed, ordered if their order is.
	timed, ordered bool
}

// Compile compiles a spec. Relative times in conditions are relative to now. A mistake in the spec wraps [match.ErrSelection].
func Compile(spec aggregate.Spec, now time.Time) (*Computation, error) {
	a, err := aggregate.New(spec, aggregate.Options{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", match.ErrSelection, err)
	}
	c := &Computation{spec: spec, timed: a.Timed(), ordered: a.Ordered()}
	for _, f := range a.Fields() {
		c.values = append(c.values, c.value(f))
	}
	for _, f := range a.Conditions() {
		program, err := where.Compile(f.Expr, now)
		if err != nil {
			return nil, fmt.Errorf("%w: --compute: condition from character %d on: %w", match.ErrSelection, f.ExprAt, err)
		}
		c.conditions = append(c.conditions, program)
		c.offsets = append(c.offsets, len(c.names))
		c.names = append(c.names, program.Fields()...)
		c.timed = c.timed || program.Timed()
	}
	return c, errors.Join(err, a.Close())
}

// valueKind is the origin of a value of the aggregation.
type valueKind uint8

const (
	timeValue valueKind = iota
	levelValue
	serviceValue
	sourceValue
	instanceValue
	messageValue
	fieldValue
)

// value is a field of the aggregation.
type value struct {
	kind valueKind
	// index is the index in names of a field of the message.
	index int
}

// value returns the value of a field. It adds the name of a field of the message to names.
func (c *Computation) value(f field.Name) value {
	kinds := map[field.Fixed]valueKind{
		field.Time: timeValue, field.Level: levelValue, field.Service: serviceValue,
		field.Source: sourceValue, field.Instance: instanceValue, field.Message: messageValue,
	}
	if kind, ok := kinds[f.Fixed]; ok {
		c.timed = c.timed || kind == timeValue
		return value{kind: kind}
	}
	c.names = append(c.names, f.Field)
	return value{kind: fieldValue, index: len(c.names) - 1}
}

// needsOrigin reports whether the segment in which a record was written is needed.
func (c *Computation) needsOrigin() bool {
	if c.ordered {
		return true
	}
	return slices.ContainsFunc(c.values, func(v value) bool { return v.kind == instanceValue }) || slices.ContainsFunc(c.conditions, (*where.Program).Instanced)
}
