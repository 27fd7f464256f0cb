// Package datafile writes the data files of a table: records as Apache Parquet, and their statistics.
package datafile

import (
	"strings"

	"logstow/export/delta"
)

// Kind is the type of a named column.
type Kind string

// The kinds of named columns, as in the schema of a table.
const (
	// String has the text of any value.
	String Kind = "string"
	// Integer has whole numbers of 64 bits, Number has numbers as doubles; other values are null.
	Integer Kind = "long"
	Number  Kind = "double"
)

// Named is a column with a field of attributes or message.
type Named struct {
	// Column is the name of the column, Field that of the field.
	Column, Field string
	Kind          Kind
}

// The columns that every table has, besides the one by which it is partitioned.
const (
	timeColumn       = "time"
	nanosColumn      = "time_nanos"
	serviceColumn    = "service"
	levelColumn      = "level"
	instanceColumn   = "instance"
	sourceColumn     = "source"
	attributesColumn = "attributes"
	messageColumn    = "message"
	// DateColumn is the UTC day of the records, by which tables are partitioned. It is not in the files.
	DateColumn = "date"
)

// Fixed returns the columns that every table has.
func Fixed() []delta.Field {
	return []delta.Field{
		delta.Primitive(DateColumn, "date", false),
		delta.Primitive(timeColumn, "timestamp", false),
		delta.Primitive(nanosColumn, "long", false),
		delta.Primitive(serviceColumn, "string", false),
		delta.Primitive(levelColumn, "string", true),
		delta.Primitive(instanceColumn, "string", true),
		delta.Primitive(sourceColumn, "string", true),
		delta.StringMap(attributesColumn),
		delta.Primitive(messageColumn, "string", false),
	}
}

// DeltaField returns the column of the table.
func (n Named) DeltaField() delta.Field { return delta.Primitive(n.Column, string(n.Kind), true) }

// ColumnName returns the name of the column of a field, which is unique without case among those for which taken is true.
func ColumnName(field string, taken func(lower string) bool) string {
	name := delta.CleanName(field)
	for taken(strings.ToLower(name)) {
		name += "_"
	}
	return name
}
