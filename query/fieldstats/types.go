package fieldstats

import "logstow/message"

// MaxText is the maximum number of bytes of a value that are kept.
const MaxText = 128

// Type is the type of a value.
type Type uint8

// The types of values. An unquoted logfmt value is a number, true or false if it reads as one.
const (
	Number Type = iota
	String
	Bool
	Null
	Array
	Object
	types
)

// String is the type's name.
func (t Type) String() string {
	return [types]string{"number", "string", "boolean", "null", "array", "object"}[t]
}

// typeOf is the type of a value that is not missing.
func typeOf(v message.Value) Type {
	switch v.Kind {
	case message.Null:
		return Null
	case message.Bool:
		return Bool
	case message.Number:
		return Number
	case message.Composite:
		if v.IsObject() {
			return Object
		}
		return Array
	case message.Bare:
		if _, ok := v.Decimal(); ok {
			return Number
		}
		if _, ok := v.Truth(); ok {
			return Bool
		}
	}
	return String
}

// Field describes a field.
type Field struct {
	// Name is its name in the attributes or in the message.
	Name string
	// Records is the number of records that have it, Attributes that of those of which it is an attribute, Types that of its values by
	// their type.
	Records, Attributes uint64
	Types               [types]uint64
	// Distinct is the number of distinct values, without null and objects; if More is set, it is a lower bound.
	Distinct int
	More     bool
	// Top are the most frequent of these, in descending order. If More is set, their counts are lower bounds, and values that
	// less than one in 8 records has may be missing; if the memory for values is exceeded, also others.
	Top []Value
}

// Value is a value of a field.
type Value struct {
	Type Type
	// Text is the first [MaxText] bytes of the value; Cut is set if it is longer.
	Text  string
	Cut   bool
	Count uint64
}
