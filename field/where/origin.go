package where

import "github.com/expr-lang/expr/ast"

// OfOrigins returns a function that reports whether the expression may be true for a record of an instance of a service; nil if it may
// be true for every instance. The function is not safe for concurrent use.
func (p *Program) OfOrigins() func(service, instance string) bool {
	holds := p.ofOrigins(p.tree.Node)
	if holds == nil {
		return nil
	}
	return func(service, instance string) bool { return holds(&Record{Service: service, Instance: instance}) }
}

// ofOrigins is OfOrigins for a node. It combines the sides of "and" and "or"; other nodes are evaluated if they use only instances and
// services.
func (p *Program) ofOrigins(node ast.Node) func(*Record) bool {
	if b, ok := node.(*ast.BinaryNode); ok {
		switch b.Operator {
		case "and", "&&":
			left, right := p.ofOrigins(b.Left), p.ofOrigins(b.Right)
			if left == nil || right == nil {
				return oneOf(left, right)
			}
			return func(r *Record) bool { return left(r) && right(r) }
		case "or", "||":
			left, right := p.ofOrigins(b.Left), p.ofOrigins(b.Right)
			if left == nil || right == nil {
				return nil
			}
			return func(r *Record) bool { return left(r) || right(r) }
		}
	}
	c := p.compiler()
	holds := c.match(node)
	if c.err != nil || len(c.fields) > 0 || len(c.columns) == 0 || c.columns.has(timeName) || c.columns.has(levelName) ||
		c.columns.has(sourceName) {
		return nil
	}
	return holds
}

// oneOf returns the function that is not nil, if any.
func oneOf(a, b func(*Record) bool) func(*Record) bool {
	if a != nil {
		return a
	}
	return b
}

// Instances returns the strings with which the instance is compared by == and in, in order of occurrence.
func (p *Program) Instances() []string {
	var all []string
	for _, use := range p.uses() {
		if use.Field == instanceName {
			all = append(all, use.Equal...)
		}
	}
	return all
}
