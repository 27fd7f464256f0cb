package where

import (
	"bytes"
	"fmt"
	"regexp"
	"time"

	"github.com/expr-lang/expr/ast"

	"logstow/field"
	"logstow/internal/timearg"
	"logstow/record"
)

// The names of columns, and messageName, which is one where the message has no such field.
const (
	timeName    = "time"
	levelName   = "level"
	sourceName  = "source"
	serviceName = "service"
	messageName = "message"
)

func isColumn(name string) bool {
	return name == timeName || name == levelName || name == sourceName || name == serviceName
}

// compiler makes functions of nodes. Its first error stays.
type compiler struct {
	now time.Time
	err error
	// timed says that the time is looked at.
	timed bool
}

type (
	truth  func(*Record) bool
	getter func(*Record) field.Value
)

func (c *compiler) fail(node ast.Node, format string, args ...any) truth {
	if c.err == nil {
		c.err = fmt.Errorf("%s (at character %d)", fmt.Sprintf(format, args...), node.Location().From+1)
	}
	return nil
}

// truth compiles what is true or false.
func (c *compiler) truth(node ast.Node) truth {
	switch n := node.(type) {
	case *ast.BoolNode:
		return func(*Record) bool { return n.Value }
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			holds := c.truth(n.Node)
			return func(r *Record) bool { return !holds(r) }
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&":
			left, right := c.truth(n.Left), c.truth(n.Right)
			return func(r *Record) bool { return left(r) && right(r) }
		case "or", "||":
			left, right := c.truth(n.Left), c.truth(n.Right)
			return func(r *Record) bool { return left(r) || right(r) }
		}
		if holds, ok := c.comparison(n); ok {
			return holds
		}
	}
	if name, ok := fieldName(node); ok {
		get := c.field(name)
		return func(r *Record) bool {
			value, ok := get(r).Truth()
			return ok && value
		}
	}
	return c.machine(node)
}

// fieldName is the name of the field that a node stands for.
func fieldName(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return n.Value, n.Value != "$env"
	case *ast.MemberNode:
		property, ok := n.Property.(*ast.StringNode)
		if !ok || n.Optional || n.Method {
			return "", false
		}
		if env, ok := n.Node.(*ast.IdentifierNode); ok && env.Value == "$env" {
			return property.Value, true
		}
		name, ok := fieldName(n.Node)
		return name + "." + property.Value, ok
	case *ast.CallNode:
		callee, ok := n.Callee.(*ast.IdentifierNode)
		if !ok || callee.Value != "field" || len(n.Arguments) != 1 {
			return "", false
		}
		name, ok := n.Arguments[0].(*ast.StringNode)
		if !ok {
			return "", false
		}
		return name.Value, true
	}
	return "", false
}

// field compiles the value of a field or column.
func (c *compiler) field(name string) getter {
	switch name {
	case timeName:
		c.timed = true
		return func(r *Record) field.Value {
			return field.Value{Kind: field.String, Text: record.AppendTime(nil, r.Time)}
		}
	case levelName:
		return func(r *Record) field.Value {
			return field.Value{Kind: field.String, Text: []byte(r.Level.String())}
		}
	case sourceName:
		return func(r *Record) field.Value { return field.Value{Kind: field.String, Text: r.Source} }
	case serviceName:
		return func(r *Record) field.Value { return field.Value{Kind: field.String, Text: []byte(r.Service)} }
	}
	f := field.New(name)
	if name == messageName {
		return func(r *Record) field.Value {
			if v := f.Find(r.Message); v.Kind != field.Missing {
				return v
			}
			return field.Value{Kind: field.String, Text: r.Message}
		}
	}
	return func(r *Record) field.Value { return f.Find(r.Message) }
}

// comparison compiles a comparison of a field with a constant or a field.
func (c *compiler) comparison(n *ast.BinaryNode) (truth, bool) {
	left, ok := fieldName(n.Left)
	if !ok {
		if name, ok := fieldName(n.Right); ok && mirror(n.Operator) != "" {
			return c.compare(n, name, mirror(n.Operator), n.Left)
		}
		return nil, false
	}
	return c.compare(n, left, n.Operator, n.Right)
}

// mirror is the relation that says the same with its sides exchanged; "" for
// what is no relation.
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

// relation says for which signs of left - right a relation holds; nil for what is none.
func relation(operator string) func(sign int) bool {
	switch operator {
	case "==":
		return func(s int) bool { return s == 0 }
	case "!=":
		return func(s int) bool { return s != 0 }
	case "<":
		return func(s int) bool { return s < 0 }
	case "<=":
		return func(s int) bool { return s <= 0 }
	case ">":
		return func(s int) bool { return s > 0 }
	case ">=":
		return func(s int) bool { return s >= 0 }
	}
	return nil
}

// compare compiles "name operator other"; it is not ok where that is for the machine.
func (c *compiler) compare(n *ast.BinaryNode, name, operator string, other ast.Node) (truth, bool) {
	switch operator {
	case "in":
		return c.in(name, other)
	case "contains", "startsWith", "endsWith", "matches":
		text, ok := other.(*ast.StringNode)
		if !ok {
			return nil, false
		}
		return c.search(n, name, operator, text.Value), true
	}
	wants := relation(operator)
	if wants == nil {
		return nil, false
	}
	order, ok := c.order(n, name, other)
	if !ok {
		return nil, false
	}
	if operator == "!=" {
		return func(r *Record) bool {
			sign, ok := order(r)
			return !ok || sign != 0
		}, true
	}
	return func(r *Record) bool {
		sign, ok := order(r)
		return ok && wants(sign)
	}, true
}

// in compiles "name in [constants]".
func (c *compiler) in(name string, other ast.Node) (truth, bool) {
	array, ok := other.(*ast.ArrayNode)
	if !ok {
		return nil, false
	}
	var orders []func(*Record) (int, bool)
	for _, node := range array.Nodes {
		order, ok := c.order(node, name, node)
		if !ok {
			return nil, false
		}
		orders = append(orders, order)
	}
	return func(r *Record) bool {
		for _, order := range orders {
			if sign, ok := order(r); ok && sign == 0 {
				return true
			}
		}
		return false
	}, true
}

// search compiles the operators that look into a text.
func (c *compiler) search(n ast.Node, name, operator, text string) truth {
	get, want := c.field(name), []byte(text)
	var holds func([]byte) bool
	switch operator {
	case "contains":
		holds = func(b []byte) bool { return bytes.Contains(b, want) }
	case "startsWith":
		holds = func(b []byte) bool { return bytes.HasPrefix(b, want) }
	case "endsWith":
		holds = func(b []byte) bool { return bytes.HasSuffix(b, want) }
	default:
		re, err := regexp.Compile(text)
		if err != nil {
			return c.fail(n, "%v", err)
		}
		holds = re.Match
	}
	return func(r *Record) bool {
		v := get(r)
		return v.IsText() && holds(v.Text)
	}
}

// order compiles the sign of a field's value minus another's; it gives no sign
// where the two can not be compared.
func (c *compiler) order(at ast.Node, name string, other ast.Node) (func(*Record) (int, bool), bool) {
	if text, ok := other.(*ast.StringNode); ok {
		return c.orderText(at, name, text.Value), true
	}
	get := c.field(name)
	if right, ok := fieldName(other); ok {
		right := c.field(right)
		return func(r *Record) (int, bool) { return orderValues(get(r), right(r)) }, true
	}
	switch n := other.(type) {
	case *ast.NilNode:
		return func(r *Record) (int, bool) {
			kind := get(r).Kind
			return 0, kind == field.Missing || kind == field.Null
		}, true
	case *ast.BoolNode:
		return func(r *Record) (int, bool) {
			value, ok := get(r).Truth()
			if !ok || value == n.Value {
				return 0, ok
			}
			return 1, true
		}, true
	}
	whole, float, isWhole, ok := number(other)
	if !ok {
		return nil, false
	}
	return func(r *Record) (int, bool) {
		v := get(r)
		if isWhole {
			if i, ok := v.Integer(); ok {
				return sign(i, whole), true
			}
		}
		x, ok := v.Float()
		return sign(x, float), ok
	}, true
}

// orderText compiles the order of a field and a text.
func (c *compiler) orderText(at ast.Node, name, text string) func(*Record) (int, bool) {
	switch name {
	case levelName:
		level := record.LevelFromAlias(text)
		if level == record.None && text != "-" {
			c.fail(at, "%q is not a level", text)
		}
		return func(r *Record) (int, bool) { return sign(r.Level, level), true }
	case timeName:
		c.timed = true
		t, err := timearg.Parse(text, c.now)
		if err != nil {
			c.fail(at, "%v", err)
		}
		return func(r *Record) (int, bool) { return sign(r.Time, t.UnixNano()), true }
	}
	get, want := c.field(name), []byte(text)
	return func(r *Record) (int, bool) {
		v := get(r)
		return bytes.Compare(v.Text, want), v.IsText()
	}
}

func orderValues(a, b field.Value) (int, bool) {
	if x, ok := a.Integer(); ok {
		if y, ok := b.Integer(); ok {
			return sign(x, y), true
		}
	}
	if x, ok := a.Float(); ok {
		if y, ok := b.Float(); ok {
			return sign(x, y), true
		}
	}
	missing := a.Kind == field.Missing || a.Kind == field.Null
	return bytes.Compare(a.Text, b.Text), a.Kind == b.Kind && !missing || a.IsText() && b.IsText()
}

func sign[T int64 | float64 | record.Level](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// number is a constant number.
func number(node ast.Node) (whole int64, float float64, isWhole, ok bool) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return int64(n.Value), float64(n.Value), true, true
	case *ast.FloatNode:
		return 0, n.Value, false, true
	case *ast.UnaryNode:
		if n.Operator == "-" {
			whole, float, isWhole, ok = number(n.Node)
			return -whole, -float, isWhole, ok
		}
	}
	return 0, 0, false, false
}
