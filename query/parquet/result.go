package parquet

import (
	"io"
	"strings"
	"time"

	"logstow/query/aggregate"
)

// Write writes a result of stats. Columns have the headers of the result, in their order, and a type by their values:
//
//	time steps           TIMESTAMP in milliseconds, UTC
//	integers of 64 bits  INT64
//	other numbers        DOUBLE
//	truth values         BOOLEAN
//	other values         STRING
//
// The metadata have the zone of the steps (logstow.zone) and the headers of functions with approximate values, separated by newlines
// (logstow.approximate). Rows are read twice.
func Write(w io.Writer, r *aggregate.Result, zone *time.Location) error {
	columns, err := columnsOf(r)
	if err != nil {
		return err
	}
	var rough []string
	for _, c := range r.Columns {
		if r.Approximate[c.Function] {
			rough = append(rough, c.Header)
		}
	}
	out := NewWriter(w, columns, map[string]string{"logstow.zone": zone.String(), "logstow.approximate": strings.Join(rough, "\n")})
	var values []aggregate.Value
	for row, err := range r.Found() {
		if err != nil {
			return err
		}
		values = append(append(values[:0], row.Keys...), row.Values...)
		if err := out.Write(values); err != nil {
			return err
		}
	}
	return out.Close()
}

// columnsOf returns the columns of keys, then those of values. It reads all rows.
func columnsOf(r *aggregate.Result) ([]Column, error) {
	var all []Column
	for _, k := range r.Keys {
		c := Column{Name: k.Header}
		if !k.Step.IsZero() {
			c.Type = Milliseconds
		}
		all = append(all, c)
	}
	for _, c := range r.Columns {
		all = append(all, Column{Name: c.Header})
	}
	for row, err := range r.Found() {
		if err != nil {
			return nil, err
		}
		for i, v := range row.Keys {
			all[i].Type = common(all[i].Type, typeOf(v))
		}
		for i, v := range row.Values {
			c := &all[len(row.Keys)+i]
			c.Type = common(c.Type, typeOf(v))
		}
	}
	return all, nil
}

// typeOf is the type of a value.
func typeOf(v aggregate.Value) Type {
	switch v.Kind {
	case aggregate.Missing:
		return none
	case aggregate.Bool:
		return Boolean
	case aggregate.Integer:
		return Integer
	case aggregate.Float, aggregate.Decimal:
		return Double
	case aggregate.Time:
		return Milliseconds // steps start at these
	}
	return Text
}

// common is the type of values of two types.
func common(a, b Type) Type {
	switch {
	case a == b || b == none:
		return a
	case a == none:
		return b
	case a == Integer && b == Double || a == Double && b == Integer:
		return Double
	}
	return Text
}
