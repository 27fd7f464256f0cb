package where

import (
	"github.com/expr-lang/expr/ast"

	"logstow/exact"
	"logstow/message"
)

// Bound is a comparison of a field with a number.
type Bound struct {
	// Field is the index of the field in [Program.Fields].
	Field  int
	wants  relation
	number exact.Number
}

// Bounds returns the comparisons of fields with numbers that the expression joins by "and".
func (p *Program) Bounds() []Bound { return p.bounds }

// Comparisons returns the comparisons of a field with numbers, if the expression uses it for nothing else; otherwise not ok. field is the
// index of the field in [Program.Fields].
func (p *Program) Comparisons(field int) (all []Bound, ok bool) {
	all = p.comparisons[field]
	return all, len(all) > 0 && len(all) == p.operands[field]
}

// Compare returns the sign of n minus the constant of the comparison.
func (b Bound) Compare(n exact.Number) int { return n.Compare(b.number) }

// MayHold reports whether the comparison is true for any number from least to greatest.
func (b Bound) MayHold(least, greatest exact.Number) bool {
	low, high := least.Compare(b.number), greatest.Compare(b.number)
	return b.wants[message.Less] == yes && low < 0 ||
		b.wants[message.Equal] == yes && low <= 0 && high >= 0 ||
		b.wants[message.Greater] == yes && high > 0
}

// bounds returns the comparisons with numbers that are joined by "and"; with other, also by "or" and "not".
func (c *compiler) bounds(node ast.Node, other bool) []Bound {
	if n, ok := node.(*ast.UnaryNode); ok && other {
		return c.bounds(n.Node, other)
	}
	n, ok := node.(*ast.BinaryNode)
	if !ok {
		return nil
	}
	switch n.Operator {
	case "or", "||":
		if !other {
			return nil
		}
		fallthrough
	case "and", "&&":
		return append(c.bounds(n.Left, other), c.bounds(n.Right, other)...)
	}
	left, right, wants := n.Left, n.Right, relationOf(n.Operator)
	if mirror(n.Operator) == "" {
		return nil
	}
	if isConstant(left) {
		left, right, wants = right, left, relationOf(mirror(n.Operator))
	}
	if name, ok := c.fieldOf(left); !ok || isColumn(name) || !isConstant(right) {
		return nil
	}
	a, b := c.value(left), c.value(right)
	if !a.isField || b.class.dimension() != message.NoDimension {
		return nil
	}
	if number, ok := b.get(nil).Decimal(); ok {
		return []Bound{{a.index, wants, number}}
	}
	return nil
}
