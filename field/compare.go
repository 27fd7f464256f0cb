package field

import "bytes"

// Order is how one value compares with another.
type Order uint8

// The orders.
const (
	// Less, Equal and Greater are the order of two numbers or two strings.
	Less Order = iota
	Equal
	Greater
	// Same and Different are those of true and false, of which neither is less.
	Same
	Different
	// Incomparable is that of values of which it is unknown whether they are equal.
	Incomparable
	// Orders is the number of orders.
	Orders
)

// Compare compares two values: numbers by their value, exactly; strings by their bytes; true and
// false with each other. A [Bare] value is a string, and also a number, true or false if it reads as
// one: two that read as numbers compare as numbers. Anything else is Incomparable: values of different
// kinds, and those that are missing, null, an array or an object.
func Compare(a, b Value) Order {
	if x, ok := a.Decimal(); ok {
		if y, ok := b.Decimal(); ok {
			return Order(x.Compare(y) + 1)
		}
	}
	switch {
	case a.IsText() && b.IsText():
		return Order(bytes.Compare(a.Text, b.Text) + 1)
	case a.Kind == Bool || b.Kind == Bool:
		x, ok := a.Truth()
		if y, too := b.Truth(); ok && too {
			if x == y {
				return Same
			}
			return Different
		}
	}
	return Incomparable
}
