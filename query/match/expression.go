package match

import (
	"slices"

	"logstow/columns"
	"logstow/exact"
	"logstow/field"
	"logstow/field/where"
	"logstow/message"
	"logstow/query/rowset"
	"logstow/record"
)

// Columnar reports whether columns can decide an expression: it uses neither times nor the whole message.
func Columnar(p *where.Program) bool { return p.FieldsOnly() && !p.Timed() }

// ColumnsOf returns the columns that a [Columnar] expression uses, but not that of instances, which is no stored column.
func ColumnsOf(p *where.Program) (names []columns.Name) {
	if p.Leveled() {
		names = append(names, columns.Name{Fixed: field.Level})
	}
	if p.Sourced() {
		names = append(names, columns.Name{Fixed: field.Source})
	}
	for _, name := range p.Fields() {
		names = append(names, columns.Name{Field: name})
	}
	return names
}

// Expression evaluates expressions on the records of blocks by their columns. If there are few distinct combinations of
// values, it evaluates each once. The zero value is ready to use. Not safe for concurrent use.
type Expression struct {
	combiner rowset.Combiner
	operands []rowset.Operand
	values   values
	scratch  []byte
}

// maxKnown is the maximum number of combinations of values of which each is evaluated once.
const maxKnown = 1 << 12

// values are the values of the fields of one program.
type values []message.Value

// Value implements [where.Fields].
func (v values) Value(i int) message.Value { return v[i] }

// Filter clears the elements of records, one for each record of a block, for which a [Columnar] expression is not true, and
// returns the number of the others. It is not ok, and changes nothing, if a column is missing.
func (x *Expression) Filter(p *where.Program, e *where.Evaluator, service string, cols rowset.Columns, records []bool) (kept int, ok bool) {
	x.operands = x.operands[:0]
	add := func(name columns.Name) bool {
		page := cols.Page(name)
		x.operands = append(x.operands, rowset.Operand{Page: page})
		return page != nil
	}
	for i, name := range p.Fields() {
		if !add(columns.Name{Field: name}) {
			return 0, false
		}
		if comparisons, ok := p.Comparisons(i); ok {
			o := &x.operands[i]
			for _, b := range comparisons {
				o.Divide(func(v int64) int { return b.Compare(exact.FromScaled(v, o.Page.Numbers.Scale)) })
			}
		}
	}
	level, source, instance := -1, -1, -1 // indexes of operands
	for _, fixed := range []struct {
		used  bool
		name  field.Fixed
		index *int
	}{{p.Leveled(), field.Level, &level}, {p.Sourced(), field.Source, &source}, {p.Instanced(), field.Instance, &instance}} {
		if !fixed.used {
			continue
		}
		*fixed.index = len(x.operands)
		if !add(columns.Name{Fixed: fixed.name}) {
			return 0, false
		}
	}
	x.values = slices.Grow(x.values[:0], len(x.operands))[:len(x.operands)]
	r := where.Record{Service: service, Fields: x.values}
	return x.filter(records, func(v values) bool {
		if level >= 0 {
			r.Level = LevelOf(v[level])
		}
		if source >= 0 {
			r.Source = v[source].Text
		}
		if instance >= 0 {
			r.Instance = string(v[instance].Text)
		}
		return e.Holds(&r)
	}), true
}

// filterBy clears the elements of records whose value does not satisfy a condition, and returns the number of the others.
func (x *Expression) filterBy(page *columns.Page, records []bool, holds func(message.Value) bool) (kept int) {
	x.operands = append(x.operands[:0], rowset.Operand{Page: page})
	return x.filter(records, func(v values) bool { return holds(v[0]) })
}

// filter clears the elements of records for which a condition on the values of the operands does not hold, and returns the number of the
// others.
func (x *Expression) filter(records []bool, condition func(values) bool) (kept int) {
	x.values = slices.Grow(x.values[:0], len(x.operands))[:len(x.operands)]
	x.combiner.Combine(x.operands, maxKnown)
	return x.combiner.Filter(records, func(record int) bool {
		x.scratch = x.scratch[:0]
		for k := range x.operands {
			x.values[k], x.scratch = x.operands[k].Page.Value(record, x.scratch)
		}
		return condition(x.values)
	})
}

// LevelOf returns the level that a value of the column of levels stands for.
func LevelOf(v message.Value) record.Level {
	if v.Kind == message.Missing {
		return record.None
	}
	return record.LevelFromAlias(string(v.Text))
}
