package where

import (
	"github.com/expr-lang/expr/ast"

	"logstow/exact"
	"logstow/message"
)

// Bound is a comparison of a field with a number that must be true for every match.
type Bound struct {
	// Field is the index of the field in [Program.Fields].
	Field  int
	wants  relation
	number exact.Number
}

// Bounds returns the comparisons of fields with numbers that the expression joins by "and".
func (p *Program) Bounds() []Bound { return p.bounds }

// Comparison returns the expression as a comparison; not ok unless it is a single one.
func (p *Program) Comparison() (b Bound, ok bool) {
	n, ok := p.tree.Node.(*ast.BinaryNode)
	if !ok || mirror(n.Operator) == "" || len(p.bounds) != 1 {
		return b, false
	}
	return p.bounds[0], true
}

// Compare returns the sign of n minus the constant of the comparison.
func (b Bound) Compare(n exact.Number) int { return n.Compare(b.number) }

// Holds reports whether the comparison is true for a number for which Compare returns this sign.
func (b Bound) Holds(sign int) bool { return b.wants[sign+int(message.Equal)] == yes }

// MayHold reports whether the comparison is true for any number from least to greatest.
func (b Bound) MayHold(least, greatest exact.Number) bool {
	low, high := least.Compare(b.number), greatest.Compare(b.number)
	return b.wants[message.Less] == yes && low < 0 ||
		b.wants[message.Equal] == yes && low <= 0 && high >= 0 ||
		b.wants[message.Greater] == yes && high > 0
}

// bounds returns the bounds of a node that must be true.
func (c *compiler) bounds(node ast.Node) []Bound {
	n, ok := node.(*ast.BinaryNode)
	if !ok {
		return nil
	}
	if n.Operator == "and" || n.Operator == "&&" {
		return append(c.bounds(n.Left), c.bounds(n.Right)...)
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
