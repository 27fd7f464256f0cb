package where

import "logstow/message"

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
		return value{Value: message.Value{Kind: message.Bool, Text: []byte("true")}}
	case no:
		return value{Value: message.Value{Kind: message.Bool, Text: []byte("false")}}
	}
	return value{}
}

// A relation is the truth of a comparison for each order of its sides.
type relation [message.Orders]truth

// relationOf returns the relation of an operator.
func relationOf(operator string) relation {
	r := relation{message.Same: unknown, message.Different: unknown, message.Incomparable: unknown}
	switch operator {
	case "==":
		r[message.Equal], r[message.Same], r[message.Different] = yes, yes, no
	case "!=":
		r[message.Less], r[message.Greater], r[message.Same], r[message.Different] = yes, yes, no, yes
	case "<":
		r[message.Less] = yes
	case "<=":
		r[message.Less], r[message.Equal] = yes, yes
	case ">":
		r[message.Greater] = yes
	case ">=":
		r[message.Greater], r[message.Equal] = yes, yes
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
