package engine

import (
	"fmt"

	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// matching groups series of two vectors by on or ignoring: those of one group match.
func matching(m *syntax.Matching) *grouper {
	if m == nil {
		return newGrouper(true)
	}
	return &grouper{without: !m.On, names: sortedSet(m.Labels)}
}

// setOperation is and, or, unless: series keep their labels, and steps are independent.
func (ev *evaluation) setOperation(b *syntax.Binary, left, right *vector) (*vector, error) {
	m, out := matching(b.Matching), &collector{steps: ev.steps}
	keep := func(v *vector, want func(key string, k int) bool) error {
		for _, s := range v.series {
			into, key := out.of(s.labels), m.keyOf(s.labels)
			for k, value := range s.values {
				if err := ev.ticker.tick(); err != nil {
					return err
				}
				if present(value) && want(key, k) {
					into.values[k] = value
				}
			}
		}
		return nil
	}
	if b.Op == syntax.OpOr {
		if err := keep(left, func(string, int) bool { return true }); err != nil {
			return nil, err
		}
		there := m.presence(left, ev.steps)
		err := keep(right, func(key string, k int) bool { return there[key] == nil || !there[key][k] })
		return out.vector(), err
	}
	there := m.presence(right, ev.steps)
	err := keep(left, func(key string, k int) bool {
		return (there[key] != nil && there[key][k]) == (b.Op == syntax.OpAnd)
	})
	return out.vector(), err
}

// presence is whether there is a value, by key and step.
func (g *grouper) presence(v *vector, steps int) map[string][]bool {
	all := map[string][]bool{}
	for _, s := range v.series {
		key := g.keyOf(s.labels)
		if all[key] == nil {
			all[key] = make([]bool, steps)
		}
		for k, value := range s.values {
			all[key][k] = all[key][k] || present(value)
		}
	}
	return all
}

// match computes an arithmetic operation or a comparison of the series of two vectors that belong together.
func (ev *evaluation) match(b *syntax.Binary, left, right *vector) (*vector, error) {
	join := &join{
		Binary:  b,
		ev:      ev,
		group:   matching(b.Matching),
		out:     &collector{steps: ev.steps},
		many:    left,
		one:     right,
		oneSide: "right",
	}
	if b.Matching != nil && b.Matching.GroupRight {
		join.many, join.one, join.oneSide = right, left, "left"
	}
	if b.Matching != nil {
		join.grouped = b.Matching.GroupLeft || b.Matching.GroupRight
	}
	return join.run()
}

// join is a match of many series, or one, with one.
type join struct {
	*syntax.Binary
	ev        *evaluation
	group     *grouper
	out       *collector
	many, one *vector
	oneSide   string
	grouped   bool // many to one
}

func (j *join) run() (*vector, error) {
	candidates := map[string][]*series{}
	for _, s := range j.one.series {
		key := j.group.keyOf(s.labels)
		candidates[key] = append(candidates[key], s)
	}
	if err := j.checkUnique(candidates); err != nil {
		return nil, err
	}
	for _, many := range j.many.series {
		for _, one := range candidates[j.group.keyOf(many.labels)] {
			if err := j.pair(many, one); err != nil {
				return nil, err
			}
		}
	}
	return j.out.vector(), nil
}

// checkUnique checks that the one side has at most one value for each key, at the steps where the other side has values.
func (j *join) checkUnique(candidates map[string][]*series) error {
	var steps []bool
	for _, s := range j.one.series {
		key := j.group.keyOf(s.labels)
		all := candidates[key]
		if len(all) < 2 || all[0] != s {
			continue
		}
		if steps == nil {
			steps = newGrouper(false).presence(j.many, j.ev.steps)[""]
		}
		for k := range steps {
			var first *series
			for _, s := range all {
				if err := j.ev.ticker.tick(); err != nil {
					return err
				}
				if !steps[k] || !present(s.values[k]) {
					continue
				}
				if first != nil {
					return fmt.Errorf("%w: found duplicate series for the match group %s on the %s side of %s: %s and %s; many-to-many matching is not allowed: labels must be unique on one side",
						ErrQuery, j.group.of(s.labels), j.oneSide, j.Op, first.labels, s.labels)
				}
				first = s
			}
		}
	}
	return nil
}

func (j *join) pair(many, one *series) error {
	var into *series
	for k, x := range many.values {
		if err := j.ev.ticker.tick(); err != nil {
			return err
		}
		y := one.values[k]
		if !present(x) || !present(y) {
			continue
		}
		if j.oneSide == "left" {
			x, y = y, x
		}
		value, ok := operate(j.Op, j.Bool, x, y)
		if !ok {
			continue
		}
		if into == nil {
			into = j.out.of(j.labels(many.labels, one.labels))
		}
		if present(into.values[k]) {
			return j.notUnique(into.labels)
		}
		into.values[k] = value
	}
	return nil
}

// labels returns the labels of a result: the matching labels, or those of the many side with the included labels of the one
// side.
func (j *join) labels(many, one labels.Labels) labels.Labels {
	if !j.grouped {
		return j.group.of(many)
	}
	set := make([]labels.Label, len(j.Matching.Include))
	for i, name := range j.Matching.Include {
		set[i] = labels.Label{Name: name, Value: one.Get(name)}
	}
	return many.With(set...)
}

func (j *join) notUnique(ls labels.Labels) error {
	if j.grouped {
		return fmt.Errorf("%w: multiple matches for labels %s of %s: grouping labels must ensure unique matches", ErrQuery, ls, j.Op)
	}
	return fmt.Errorf("%w: multiple matches for labels %s of %s: many-to-one matching must be explicit (group_left or group_right)",
		ErrQuery, ls, j.Op)
}
