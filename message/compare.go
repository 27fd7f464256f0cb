package message

import "bytes"

// Order is the result of comparing two values.
type Order uint8

// The orders.
const (
	// Less, Equal and Greater are the order of two numbers or two strings.
	Less Order = iota
	Equal
	Greater
	// Same and Different are the results for truth values, which have no order.
	Same
	Different
	// Incomparable is the result for values of which it is unknown whether they are equal.
	Incomparable
	// Orders is the number of orders.
	Orders
)

// Compare compares two values: numbers exactly, strings by their bytes, and truth values for equality. A [Bare] value is a string,
// and also a number or truth value if it reads as one; if both values are numbers, they compare as numbers. Values of different
// kinds are Incomparable, and so are missing values, null, arrays and objects.
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
