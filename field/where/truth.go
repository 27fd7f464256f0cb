package where

import "logstow/field"

// truth is a truth value of Kleene's three-valued logic: "and" is the minimum, "or" the maximum.
type truth uint8

const (
	no truth = iota
	unknown
	yes
)

func (t truth) not() truth { return yes - t }

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// value converts t; unknown is no value.
func (t truth) value() value {
	switch t {
	case yes:
		return value{Value: field.Value{Kind: field.Bool, Text: []byte("true")}}
	case no:
		return value{Value: field.Value{Kind: field.Bool, Text: []byte("false")}}
	}
	return value{}
}

// A relation is the truth of a comparison for each order of its sides.
type relation [field.Orders]truth

// relationOf returns the relation of an operator.
func relationOf(operator string) relation {
	r := relation{field.Same: unknown, field.Different: unknown, field.Incomparable: unknown}
	switch operator {
	case "==":
		r[field.Equal], r[field.Same], r[field.Different] = yes, yes, no
	case "!=":
		r[field.Less], r[field.Greater], r[field.Same], r[field.Different] = yes, yes, no, yes
	case "<":
		r[field.Less] = yes
	case "<=":
		r[field.Less], r[field.Equal] = yes, yes
	case ">":
		r[field.Greater] = yes
	case ">=":
		r[field.Greater], r[field.Equal] = yes, yes
	}
	return r
}

// mirror returns the operator that has the same meaning with its sides exchanged; "" for operators that are not comparisons.
func mirror(operator string) string {
	switch operator {
	case "==", "!=":
		return operator
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return ""
}
