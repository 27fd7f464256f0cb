package output

import (
	"io"
	"slices"
	"strconv"

	"logstow/field"
	"logstow/message"
	"logstow/query"
	"logstow/query/aggregate"
	"logstow/query/parquet"
	"logstow/record"
)

// newRows makes the writer of the columns, and of the marks.
func (o *Writer) newRows(w io.Writer) *parquet.Writer {
	var all []parquet.Column
	for i := range o.columns {
		c := parquet.Column{Name: o.columns[i].name, Type: parquet.Text}
		switch {
		case o.columns[i].fixed == field.Time:
			c.Type = parquet.Nanoseconds
		case slices.Contains(o.marked, c.Name):
			c.Name = "message." + c.Name
		}
		all = append(all, c)
	}
	for _, mark := range o.marked {
		all = append(all, parquet.Column{Name: mark, Type: parquet.Boolean})
	}
	return parquet.NewWriter(w, all, nil)
}

// row writes a record as a row; it appends nothing.
func (o *Writer) row(dst []byte, m *query.Match) []byte {
	o.split(m)
	o.cells = o.cells[:0]
	for i := range o.columns {
		o.cells = append(o.cells, o.cell(&o.columns[i], m))
	}
	for _, mark := range o.marked {
		o.cells = append(o.cells, aggregate.Value{Kind: aggregate.Bool, Text: strconv.AppendBool(nil, o.isMarked(mark, m))})
	}
	o.err = o.rows.Write(o.cells)
	return dst
}

// cell returns the value of a record in a column.
func (o *Writer) cell(c *column, m *query.Match) aggregate.Value {
	switch {
	case c.attributes && len(m.Attributes()) == 0:
		return aggregate.Value{}
	case c.attributes:
		return aggregate.Value{Kind: aggregate.Text, Text: appendAttributes(nil, m)}
	case c.fixed == field.Time:
		return aggregate.Value{Kind: aggregate.Time, Int: m.Time}
	case c.fixed == field.Level && m.Level() == record.None:
		return aggregate.Value{}
	}
	v := o.value(c, m)
	if v.Kind == message.Missing || v.Kind == message.Null {
		return aggregate.Value{}
	}
	return aggregate.Value{Kind: aggregate.Text, Text: v.Text}
}
