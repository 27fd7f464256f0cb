package where

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"logstow/field"
	"logstow/internal/hint"
	"logstow/message"
)

// columnMark precedes the names of columns, to distinguish them from fields.
const columnMark = "\x00"

// The names of columns. messageName is the field of that name, or the whole message if there is none.
const (
	timeName     = columnMark + "time"
	levelName    = columnMark + "level"
	sourceName   = columnMark + "source"
	serviceName  = columnMark + "service"
	instanceName = columnMark + "instance"
	messageName  = "message"
)

// bareName returns the name of the column or field that a word without quotes denotes.
func bareName(word string) string {
	if column := columnMark + word; isColumn(column) {
		return column
	}
	return word
}

func isColumn(name string) bool {
	switch name {
	case timeName, levelName, sourceName, serviceName, instanceName:
		return true
	}
	return false
}

// columnSet is a set of names of columns.
type columnSet []string

func (s *columnSet) add(name string)     { *s = append(*s, name) }
func (s columnSet) has(name string) bool { return slices.Contains(s, name) }

// compiler compiles nodes to functions. The first error is sticky; the functions must not be called after an error.
type compiler struct {
	now      time.Time
	literals map[int]string
	err      error
	// columns are the columns used.
	columns columnSet
	// variables are declared by let around the current node; pointers are the values of # in the predicates around it.
	variables map[string]*variable
	pointers  []*pointer
	// operands has, for each field, how often its value is an operand.
	operands map[int]int
	// fields are the fields of the message.
	fields []string
}

type (
	condition func(*Record) truth
	getter    func(*Record) value
)

// operand is a compiled value.
type operand struct {
	get   getter
	class class
	// isField is set for a field of the message; index is its index in the fields of the program.
	isField bool
	index   int
	// constant is set if the value is the same for all records.
	constant bool
}

func (c *compiler) fail(node ast.Node, format string, args ...any) {
	c.failWith("", node, format, args...)
}

// failWith is fail with advice.
func (c *compiler) failWith(advice string, node ast.Node, format string, args ...any) {
	if c.err != nil {
		return
	}
	c.err = fmt.Errorf("%s (at character %d)", fmt.Sprintf(format, args...), node.Location().From+1)
	if advice != "" {
		c.err = hint.Wrap(c.err, "%s", advice)
	}
}

// condition compiles a node to a function that returns whether it is true, false or unknown.
func (c *compiler) condition(node ast.Node) condition {
	if !isCondition(node) {
		return c.truthOfValue(node)
	}
	switch n := node.(type) {
	case *ast.BoolNode:
		t := truthOf(n.Value)
		return func(*Record) truth { return t }
	case *ast.UnaryNode:
		holds := c.condition(n.Node)
		return func(r *Record) truth { return holds(r).not() }
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.BuiltinNode:
		return c.quantifier(n)
	case *ast.CallNode:
		return c.has(n)
	case *ast.ConditionalNode:
		cond, first, second := c.condition(n.Cond), c.condition(n.Exp1), c.condition(n.Exp2)
		return func(r *Record) truth {
			switch cond(r) {
			case yes:
				return first(r)
			case no:
				return second(r)
			}
			return unknown
		}
	case *ast.VariableDeclaratorNode:
		var body condition
		set := c.declare(n, func() { body = c.condition(n.Expr) })
		return func(r *Record) truth {
			set(r)
			return body(r)
		}
	}
	return nil // cannot happen: isCondition accepts no other node
}

// binary compiles a binary operator that is a condition.
func (c *compiler) binary(n *ast.BinaryNode) condition {
	switch n.Operator {
	case "and", "&&":
		left, right := c.condition(n.Left), c.condition(n.Right)
		return func(r *Record) truth {
			t := left(r)
			if t != no {
				t = min(t, right(r))
			}
			return t
		}
	case "or", "||":
		left, right := c.condition(n.Left), c.condition(n.Right)
		return func(r *Record) truth {
			t := left(r)
			if t != yes {
				t = max(t, right(r))
			}
			return t
		}
	case "in":
		return c.in(n)
	case "contains", "startsWith", "endsWith", "matches":
		return c.search(n)
	}
	return c.relate(n)
}

// isCondition reports whether a node can only be true, false or unknown.
func isCondition(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BoolNode:
		return true
	case *ast.UnaryNode:
		return n.Operator == "not" || n.Operator == "!"
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||", "in", "contains", "startsWith", "endsWith", "matches":
			return true
		}
		return mirror(n.Operator) != ""
	case *ast.BuiltinNode:
		return isQuantifier(n.Name)
	case *ast.CallNode:
		name, ok := callee(n)
		return ok && name == "has"
	case *ast.ConditionalNode:
		return isCondition(n.Exp1) && isCondition(n.Exp2)
	case *ast.VariableDeclaratorNode:
		return isCondition(n.Expr)
	}
	return false
}

// truthOfValue compiles the truth of a value that is true or false.
func (c *compiler) truthOfValue(node ast.Node) condition {
	o := c.value(node)
	if o.class != anyClass && o.class != boolClass {
		c.fail(node, "%s is not true or false", o.class)
	}
	return func(r *Record) truth {
		if t, ok := o.get(r).Truth(); ok {
			return truthOf(t)
		}
		return unknown
	}
}

// fieldName returns the name of the column or field that a node denotes, ignoring variables. field("level") is the field of the
// message, attribute("level") the attribute.
func fieldName(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return bareName(n.Value), n.Value != "$env"
	case *ast.ChainNode:
		return fieldName(n.Node)
	case *ast.MemberNode:
		property, ok := n.Property.(*ast.StringNode)
		if !ok || n.Method {
			return "", false
		}
		if env, ok := n.Node.(*ast.IdentifierNode); ok && env.Value == "$env" {
			return bareName(property.Value), true
		}
		name, ok := fieldName(n.Node)
		return strings.TrimPrefix(name, columnMark) + "." + property.Value, ok
	case *ast.CallNode:
		function, _ := callee(n)
		prefix, ok := field.CallPrefix(function)
		if !ok || len(n.Arguments) != 1 {
			return "", false
		}
		name, ok := n.Arguments[0].(*ast.StringNode)
		if !ok {
			return "", false
		}
		return prefix + name.Value, true
	}
	return "", false
}

// callee returns the name of the function that is called.
func callee(n *ast.CallNode) (string, bool) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return "", false
	}
	return id.Value, true
}

// fieldOf is fieldName, but not ok if the name is that of a declared variable.
func (c *compiler) fieldOf(node ast.Node) (string, bool) {
	if id, ok := root(node).(*ast.IdentifierNode); ok && c.variables[id.Value] != nil {
		return "", false
	}
	return fieldName(node)
}

// root returns the innermost node of which a node is a member.
func root(node ast.Node) ast.Node {
	for {
		switch n := node.(type) {
		case *ast.MemberNode:
			node = n.Node
		case *ast.ChainNode:
			node = n.Node
		default:
			return node
		}
	}
}

// field compiles the value of a field or column.
func (c *compiler) field(name string) operand {
	if isColumn(name) {
		c.columns.add(name)
		text := func(r *Record) []byte { return r.AppendFixed(nil, field.Fixed(name[len(columnMark):])) }
		if name == sourceName {
			text = func(r *Record) []byte { return r.Source }
		}
		return operand{class: stringClass, get: func(r *Record) value {
			return value{Value: message.Value{Kind: message.String, Text: text(r)}}
		}}
	}
	i := slices.Index(c.fields, name)
	if i < 0 {
		i = len(c.fields)
		c.fields = append(c.fields, name)
	}
	c.operands[i]++
	o := operand{isField: true, index: i, get: func(r *Record) value { return value{Value: r.Fields.Value(r.First + i)} }}
	if name == messageName {
		o.isField = false
		o.get = func(r *Record) value {
			if v := r.Fields.Value(r.First + i); v.Kind != message.Missing {
				return value{Value: v}
			}
			return value{Value: message.Value{Kind: message.String, Text: r.Message}}
		}
	}
	return o
}
