package datafile

import (
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go/format"

	"logstow/message"
)

// namedColumn is a column with the values of a field.
type namedColumn interface {
	column
	// add adds a value. It counts one that does not have the column's type, which becomes null.
	add(v message.Value, conflicts *int64) error
	// changedTexts is the number of texts that were not UTF-8.
	changedTexts() int64
}

func newNamed(n Named, c *compressor) namedColumn {
	leaf := func(kind format.Type) chunk {
		return chunk{path: []string{n.Column}, kind: kind, definition: 1, compressor: c}
	}
	switch n.Kind {
	case Integer:
		return &scalarColumn[int64]{numbers[int64]{chunk: leaf(format.Int64), bits: integerBits}, integer}
	case Number:
		return &scalarColumn[float64]{numbers[float64]{chunk: leaf(format.Double), bits: math.Float64bits}, number}
	}
	t := &textColumn{texts{chunk: leaf(format.ByteArray)}}
	t.withDictionary()
	return t
}

// isNull reports whether a value is none.
func isNull(v message.Value) bool { return v.Kind == message.Missing || v.Kind == message.Null }

// scalarColumn is a column of numbers.
type scalarColumn[T int64 | float64] struct {
	numbers[T]
	// of returns the number that a value is, not ok if it is none.
	of func(message.Value) (T, bool)
}

func (c *scalarColumn[T]) add(v message.Value, conflicts *int64) error {
	if n, ok := c.of(v); ok {
		return c.numbers.add(n)
	}
	if !isNull(v) {
		*conflicts++
	}
	c.null()
	return nil
}

func (c *scalarColumn[T]) changedTexts() int64 { return 0 }

// integer returns the value of an integer, not ok for another value.
func integer(v message.Value) (int64, bool) {
	if v.Kind != message.Number && v.Kind != message.Bare {
		return 0, false
	}
	return v.Integer()
}

// number returns the value of a number, not ok for another value.
func number(v message.Value) (x float64, ok bool) {
	if v.Kind != message.Number && v.Kind != message.Bare {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(v.Text), 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

type textColumn struct{ texts }

func (c *textColumn) add(v message.Value, _ *int64) error {
	if isNull(v) {
		return c.addNull()
	}
	return c.texts.add(v.Text)
}

func (c *textColumn) changedTexts() int64 { return c.changed }
