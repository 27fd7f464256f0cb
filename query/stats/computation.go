package stats

import (
	"fmt"
	"slices"
	"time"

	"logstow/query/aggregate"
	"logstow/query/match"

	"logstow/columns"
	"logstow/field"
	"logstow/field/where"
)

// Computation computes functions of the records that a query selects. Immutable.
type Computation struct {
	plan *aggregate.Plan
	// conditions are on records whose fields of the message are first those of the aggregation.
	conditions where.Conditions
	// values are the fields of the aggregation, in its order.
	values []columns.Name
	// timed is set if the times of records are needed.
	timed bool
	// messages is set if the messages of records are needed.
	messages bool
}

// Compile compiles a spec. Relative times in conditions are relative to now. A mistake in the spec wraps [match.ErrSelection].
func Compile(spec aggregate.Spec, now time.Time) (*Computation, error) {
	plan, err := aggregate.Compile(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", match.ErrSelection, err)
	}
	c := &Computation{plan: plan, timed: plan.Timed()}
	for _, f := range plan.Fields {
		c.values = append(c.values, columns.Name{Fixed: f.Fixed, Field: f.Field})
		c.timed = c.timed || f.Fixed == field.Time
		if f.Fixed == "" {
			c.conditions.Names = append(c.conditions.Names, f.Field)
		}
	}
	for _, f := range plan.Conditions {
		program, err := where.Compile(f.Expr, now)
		if err != nil {
			return nil, fmt.Errorf("%w: --compute: condition from character %d on: %w", match.ErrSelection, f.ExprAt, err)
		}
		c.conditions.Add(program)
		c.timed = c.timed || program.Timed()
	}
	c.messages = len(c.conditions.Names) > 0 || slices.Contains(c.values, columns.Name{Fixed: field.Message})
	return c, nil
}

// needsOrigin reports whether the segment in which a record was written is needed.
func (c *Computation) needsOrigin() bool {
	return c.plan.Ordered || slices.Contains(c.values, columns.Name{Fixed: field.Instance}) ||
		slices.ContainsFunc(c.conditions.Programs, (*where.Program).Instanced)
}
