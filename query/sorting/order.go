// Package sorting sorts the records that a query selects by their values.
//
// Every worker sorts the records of the blocks that it searches by keys of bytes (see [Order]), and writes records that exceed its memory
// to temporary files as sorted runs. At the end all runs are merged. The key ends with the record's position in the output, so that the
// result does not depend on the workers. With a limit, records that cannot be among the first are dropped early.
package sorting

import (
	"logstow/field"
	"logstow/message"
	"logstow/record"
	"logstow/spill"
)

// Order is an order of records by one or more of their values. Immutable.
//
// In both directions, numbers come before text, and records without the value (or with null) last. Numbers compare exactly, levels by
// severity, times by time and other values by their bytes. Records with equal values are in output order, the oldest first.
type Order struct {
	items []item
	// fields are the names of the items that are fields of the message.
	fields []string
}

// item is a part of an order.
type item struct {
	fixed field.Fixed // "" is a field of the message
	// index is the index in fields of a field of the message.
	index      int
	descending bool
}

// Field returns the name of the first item if it is a field of the message; otherwise not ok.
func (o *Order) Field() (name string, ok bool) {
	if first := o.items[0]; first.fixed == "" {
		return o.fields[first.index], true
	}
	return "", false
}

// Parse parses items, each NAME [asc|desc]: NAME is a fixed field or one of the message.
func Parse(texts []string) (*Order, error) {
	o := &Order{}
	names := make([]string, len(texts))
	for i, text := range texts {
		var direction string
		names[i], direction = field.CutDirection(text)
		o.items = append(o.items, item{descending: direction == "desc"})
	}
	parsed, err := field.ParseRecordNames(names)
	if err != nil {
		return nil, err
	}
	for i, n := range parsed {
		it := &o.items[i]
		if it.fixed = n.Fixed; n.IsField() {
			it.index = len(o.fields)
			o.fields = append(o.fields, n.Field)
		}
	}
	return o, nil
}

// The first byte of the key of a value.
const (
	numberKey  = 0
	textKey    = 1
	missingKey = 2
)

// appendValue appends the key of a value.
func (i *item) appendValue(dst []byte, v message.Value) []byte {
	if v.Kind == message.Missing || v.Kind == message.Null {
		return append(dst, missingKey)
	}
	if n, ok := v.Decimal(); ok {
		dst = append(dst, numberKey)
		return i.directed(n.AppendSortKey(dst), len(dst))
	}
	return i.appendText(dst, v.Text)
}

// appendText appends the key of a text.
func (i *item) appendText(dst, text []byte) []byte {
	dst = append(dst, textKey)
	return i.directed(spill.AppendKeyText(dst, text), len(dst))
}

// directed inverts the bytes from start on if the order is descending.
func (i *item) directed(dst []byte, start int) []byte {
	if i.descending {
		spill.Invert(dst[start:])
	}
	return dst
}

// appendLevel appends the key of a level, by its severity. No level is a missing value.
func (i *item) appendLevel(dst []byte, l record.Level) []byte {
	if l == record.None {
		return append(dst, missingKey)
	}
	return i.directed(append(dst, textKey, byte(l)), len(dst)+1)
}
