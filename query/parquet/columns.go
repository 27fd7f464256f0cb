package parquet

import (
	"reflect"

	pq "github.com/parquet-go/parquet-go"
)

// Column is a column of a file. A row may have no value in it.
type Column struct {
	Name string
	Type Type
}

// Type is the type of a column.
type Type uint8

// The types of columns.
const (
	none Type = iota // of a column without values: written as Text
	// Text is STRING. Bytes that are not UTF-8 are written as U+FFFD.
	Text
	// Boolean is BOOLEAN.
	Boolean
	// Integer is INT64.
	Integer
	// Double is DOUBLE.
	Double
	// Milliseconds and Nanoseconds are TIMESTAMP of these units, in UTC.
	Milliseconds
	Nanoseconds
)

// node is the schema of columns.
func node(columns []Column) pq.Node {
	g := group{Group: pq.Group{}}
	for _, c := range columns {
		n := pq.Optional(c.Type.node())
		g.Group[c.Name] = n
		g.fields = append(g.fields, member{n, c.Name})
	}
	return g
}

func (t Type) node() pq.Node {
	switch t {
	case Boolean:
		return pq.Leaf(pq.BooleanType)
	case Integer:
		return pq.Int(64)
	case Double:
		return pq.Leaf(pq.DoubleType)
	case Milliseconds:
		return pq.Timestamp(pq.Millisecond)
	case Nanoseconds:
		return pq.Timestamp(pq.Nanosecond)
	}
	return pq.String()
}

// group is a schema that keeps the order of its fields.
type group struct {
	pq.Group
	fields []pq.Field
}

func (g group) Fields() []pq.Field { return g.fields }

// GoType returns a placeholder: rows are written as values.
func (g group) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

// member is a field of a group.
type member struct {
	pq.Node
	name string
}

func (m member) Name() string { return m.name }

// Value is not called: rows are written as values.
func (m member) Value(reflect.Value) reflect.Value { return reflect.Value{} }
