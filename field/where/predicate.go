package where

import (
	"github.com/expr-lang/expr/ast"

	"logstow/message"
)

// isQuantifier reports whether a function is a condition on the number of elements for which something is true.
func isQuantifier(name string) bool {
	return name == "all" || name == "any" || name == "none" || name == "one"
}

// predicate compiles a function of an array and a predicate; body compiles the predicate. each sets # to each element of the array in
// turn and calls f, until f returns false. It returns false if the value is not an array.
func (c *compiler) predicate(n *ast.BuiltinNode, body func(ast.Node)) (each func(r *Record, f func(value) bool) bool) {
	array := c.value(n.Arguments[0])
	if !array.class.fits(arrayClass) {
		c.fail(n, "%s requires an array, not %s", n.Name, array.class)
	}
	p := &pointer{}
	if len(n.Arguments) > 1 {
		c.pointers = append(c.pointers, p)
		body(n.Arguments[1].(*ast.PredicateNode).Node) //nolint:errcheck // the parser makes no other
		c.pointers = c.pointers[:len(c.pointers)-1]
	}
	return func(r *Record, f func(value) bool) bool {
		v := array.get(r)
		if !v.isArray() {
			return false
		}
		i := 0
		for element := range v.elements() {
			p.item, p.index = element, i
			if i++; !f(element) {
				break
			}
		}
		return true
	}
}

// quantifier compiles all, any, none and one, with the three-valued logic of "and" and "or".
func (c *compiler) quantifier(n *ast.BuiltinNode) condition {
	var holds condition
	each := c.predicate(n, func(node ast.Node) { holds = c.condition(node) })
	return func(r *Record) truth {
		var counts [yes + 1]int
		if !each(r, func(value) bool {
			counts[holds(r)]++
			return true
		}) {
			return unknown
		}
		switch {
		case n.Name == "all" && counts[no] > 0, n.Name == "none" && counts[yes] > 0, n.Name == "one" && counts[yes] > 1:
			return no
		case n.Name == "any" && counts[yes] > 0:
			return yes
		case counts[unknown] > 0:
			return unknown
		}
		switch n.Name {
		case "any":
			return no
		case "one":
			return truthOf(counts[yes] == 1)
		}
		return yes
	}
}

// builtin compiles the parser's own functions.
func (c *compiler) builtin(n *ast.BuiltinNode) operand {
	switch n.Name {
	case "filter", "find":
		return c.choice(n)
	case "map":
		return c.transform(n)
	case "count":
		return c.countTrue(n)
	case "sum":
		return c.sum(n)
	}
	return c.function(n, n.Name, n.Arguments)
}

// choice compiles filter and find: the elements for which a predicate is true, the first of them.
func (c *compiler) choice(n *ast.BuiltinNode) operand {
	var holds condition
	each := c.predicate(n, func(node ast.Node) { holds = c.condition(node) })
	class := arrayClass
	if n.Name == "find" {
		class = anyClass
	}
	return c.computed(class, func(r *Record) value {
		var items []value
		if !each(r, func(v value) bool {
			if holds(r) == yes {
				items = append(items, v)
			}
			return n.Name == "filter" || len(items) == 0
		}) {
			return value{}
		}
		if n.Name == "filter" {
			return arrayValue(items)
		}
		return arrayValue(items).at(0)
	})
}

// transform compiles map.
func (c *compiler) transform(n *ast.BuiltinNode) operand {
	var make operand
	each := c.predicate(n, func(node ast.Node) { make = c.plain(node) })
	return c.computed(arrayClass, func(r *Record) value {
		var items []value
		if !each(r, func(value) bool {
			items = append(items, make.get(r))
			return true
		}) {
			return value{}
		}
		return arrayValue(items)
	})
}

// countTrue compiles count: the number of elements for which a predicate is true, or that are true.
func (c *compiler) countTrue(n *ast.BuiltinNode) operand {
	var holds condition
	each := c.predicate(n, func(node ast.Node) { holds = c.condition(node) })
	return c.computed(numberClass, func(r *Record) value {
		count := 0
		if !each(r, func(v value) bool {
			if isTrue, _ := v.Truth(); holds == nil && isTrue || holds != nil && holds(r) == yes {
				count++
			}
			return true
		}) {
			return value{}
		}
		return intValue(count)
	})
}

// sum compiles sum. It has no value if an element is not a number.
func (c *compiler) sum(n *ast.BuiltinNode) operand {
	var of operand
	each := c.predicate(n, func(node ast.Node) { of = c.plain(node) })
	return c.computed(numberClass, func(r *Record) value {
		total := intValue(0)
		if !each(r, func(v value) bool {
			if of.get != nil {
				v = of.get(r)
			}
			total, _ = calculate("+", total, v)
			return total.Kind != message.Missing
		}) {
			return value{}
		}
		return total
	})
}

// has compiles has(f): whether a field is present.
func (c *compiler) has(n *ast.CallNode) condition {
	if len(n.Arguments) != 1 {
		c.fail(n, "has requires the name of one field")
		return nil
	}
	switch argument := n.Arguments[0].(type) {
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode, *ast.CallNode, *ast.PointerNode:
	default:
		c.fail(argument, "has requires the name of one field")
	}
	o := c.value(n.Arguments[0])
	return func(r *Record) truth { return truthOf(o.get(r).Kind != message.Missing) }
}
