package parquet

import (
	"reflect"

	pq "github.com/parquet-go/parquet-go"

	"logstow/query/aggregate"
)

// column is a column and its type.
type column struct {
	name string
	kind kind
}

// kind is the type of a column, the least of those that all values have.
type kind uint8

const (
	none kind = iota // no value
	boolean
	integer
	double
	timestamp
	text
)

// kindOf is the type of a value.
func kindOf(v aggregate.Value) kind {
	switch v.Kind {
	case aggregate.Missing:
		return none
	case aggregate.Bool:
		return boolean
	case aggregate.Integer:
		return integer
	case aggregate.Float, aggregate.Decimal:
		return double
	case aggregate.Time:
		return timestamp
	}
	return text
}

// common is the type of values of two types.
func common(a, b kind) kind {
	switch {
	case a == b || b == none:
		return a
	case a == none:
		return b
	case a == integer && b == double || a == double && b == integer:
		return double
	}
	return text
}

// columns are those of keys, then those of values.
type columns []column

// columnsOf reads all rows.
func columnsOf(r *aggregate.Result) (columns, error) {
	var all columns
	for _, k := range r.Keys {
		c := column{name: k.Header}
		if !k.Step.IsZero() {
			c.kind = timestamp
		}
		all = append(all, c)
	}
	for _, c := range r.Columns {
		all = append(all, column{name: c.Header})
	}
	for row, err := range r.Rows() {
		if err != nil {
			return nil, err
		}
		for i, v := range row.Keys {
			all[i].kind = common(all[i].kind, kindOf(v))
		}
		for i, v := range row.Values {
			c := &all[len(row.Keys)+i]
			c.kind = common(c.kind, kindOf(v))
		}
	}
	return all, nil
}

// value is a value in the column's type.
func (c column) value(v aggregate.Value) pq.Value {
	if v.Kind == aggregate.Missing {
		return pq.NullValue()
	}
	switch c.kind {
	case boolean:
		return pq.BooleanValue(string(v.Text) == "true")
	case integer:
		return pq.Int64Value(v.Int)
	case double:
		x, _ := v.Number()
		return pq.DoubleValue(x)
	case timestamp:
		return pq.Int64Value(v.Int / 1e6) // steps start at milliseconds
	}
	return pq.ByteArrayValue(v.Append(nil))
}

// definition is the definition level of a value: 0 for a missing one.
func (c column) definition(v aggregate.Value) int {
	if v.Kind == aggregate.Missing {
		return 0
	}
	return 1
}

// node is the schema of the columns.
func (all columns) node() pq.Node {
	g := group{Group: pq.Group{}}
	for _, c := range all {
		var n pq.Node
		switch c.kind {
		case boolean:
			n = pq.Leaf(pq.BooleanType)
		case integer:
			n = pq.Int(64)
		case double:
			n = pq.Leaf(pq.DoubleType)
		case timestamp:
			n = pq.Timestamp(pq.Millisecond)
		default:
			n = pq.String()
		}
		n = pq.Optional(n)
		g.Group[c.name] = n
		g.fields = append(g.fields, member{n, c.name})
	}
	return g
}

// group is a schema that keeps the order of its fields.
type group struct {
	pq.Group
	fields []pq.Field
}

func (g group) Fields() []pq.Field { return g.fields }

// GoType is none: rows are written as values.
func (g group) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

// member is a field of a group.
type member struct {
	pq.Node
	name string
}

func (m member) Name() string { return m.name }

// Value is not called: rows are written as values.
func (m member) Value(reflect.Value) reflect.Value { return reflect.Value{} }
