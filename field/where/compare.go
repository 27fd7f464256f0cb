package where

import (
	"bytes"
	"regexp"

	"github.com/expr-lang/expr/ast"

	"logstow/exact"
	"logstow/internal/timearg"
	"logstow/message"
	"logstow/record"
)

// relate compiles a comparison.
func (c *compiler) relate(n *ast.BinaryNode) condition {
	wants, mirrored := relationOf(n.Operator), relationOf(mirror(n.Operator))
	left, right := n.Left, n.Right
	if _, ok := left.(*ast.NilNode); ok {
		left, right = right, left
	}
	if _, ok := right.(*ast.NilNode); ok {
		return c.isNull(n, left)
	}
	if holds, ok := c.relateColumn(left, right, wants); ok {
		return holds
	}
	if holds, ok := c.relateColumn(right, left, mirrored); ok {
		return holds
	}
	if isConstant(left) && !isConstant(right) {
		left, right, wants = right, left, mirrored
	}
	a, b := c.value(left), c.value(right)
	switch {
	case !a.class.compares(b.class):
		advice := ""
		if not, ok := n.Left.(*ast.UnaryNode); ok && not.Operator == "not" {
			advice = "write parentheses: not (a == b)"
		}
		c.failWith(advice, n, "cannot compare %s with %s", a.class, b.class)
	case neverMeasures(a, b):
		c.fail(n, "cannot compare %s with %q", a.class, b.get(nil).Text)
	case neverMeasures(b, a):
		c.fail(n, "cannot compare %s with %q", b.class, a.get(nil).Text)
	case wants[message.Different] == unknown && (a.class == boolClass || b.class == boolClass):
		c.fail(n, "%s requires numbers or strings", n.Operator)
	}
	compare := comparer(a, b)
	if b.constant && a.class.dimension() == message.NoDimension {
		return relateConstant(a, b, wants, compare)
	}
	return func(r *Record) truth { return wants[compare(a.get(r), b.get(r))] }
}

// neverMeasures reports whether a, which may be a constant with a unit, is compared with a constant text that is no such quantity.
func neverMeasures(a, b operand) bool {
	d := a.class.dimension()
	if d == message.NoDimension || !b.constant || b.class != stringClass {
		return false
	}
	_, ok := b.get(nil).Quantity(d)
	return !ok
}

// relateConstant compiles a comparison with a constant.
func relateConstant(a, b operand, wants relation, compare comparison) condition {
	constant := b.get(nil)
	number, isNumber := constant.Decimal()
	if d := b.class.dimension(); d != message.NoDimension {
		number, _ = constant.Quantity(d)
		return func(r *Record) truth {
			if n, ok := a.get(r).Quantity(d); ok {
				return wants[n.Compare(number)+int(message.Equal)]
			}
			return unknown
		}
	}
	if isNumber && a.isField { // the most frequent comparison, optimized
		integer, isInteger := number.Int64()
		return func(r *Record) truth {
			v := r.Fields.Value(r.First + a.index)
			if n, ok := v.Integer(); ok && isInteger {
				return wants[order(n, integer)]
			}
			if n, ok := v.Decimal(); ok {
				return wants[n.Compare(number)+int(message.Equal)]
			}
			return unknown
		}
	}
	return func(r *Record) truth { return wants[compare(a.get(r), constant)] }
}

// A comparison compares two values.
type comparison func(a, b value) message.Order

// comparer returns the comparison of two operands: message.Compare, or if one is a constant with a unit, a comparison of quantities.
func comparer(a, b operand) comparison {
	d := max(a.class.dimension(), b.class.dimension())
	if d == message.NoDimension {
		return func(a, b value) message.Order { return message.Compare(a.Value, b.Value) }
	}
	return func(a, b value) message.Order {
		x, ok := a.Quantity(d)
		if y, too := b.Quantity(d); ok && too {
			return message.Order(x.Compare(y) + int(message.Equal))
		}
		return message.Incomparable
	}
}

// isConstant reports whether a node is a string, number or truth value.
func isConstant(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return true
	case *ast.UnaryNode:
		return (n.Operator == "-" || n.Operator == "+") && isConstant(n.Node)
	}
	return false
}

// isNull compiles the comparison of a value with nil: unknown for a missing one.
func (c *compiler) isNull(n *ast.BinaryNode, node ast.Node) condition {
	if n.Operator != "==" && n.Operator != "!=" {
		c.fail(n, "nil can only be compared with == and !=")
	}
	if _, ok := node.(*ast.NilNode); ok {
		return c.condition(&ast.BoolNode{Value: n.Operator == "=="})
	}
	o := c.value(node)
	null, other := yes, no
	if n.Operator == "!=" {
		null, other = no, yes
	}
	return func(r *Record) truth {
		switch o.get(r).Kind {
		case message.Null:
			return null
		case message.Missing:
			return unknown
		}
		return other
	}
}

// relateColumn compiles the comparison of the level or the time with a string that denotes a level or a time. It is not ok for other
// comparisons.
func (c *compiler) relateColumn(column, other ast.Node, wants relation) (condition, bool) {
	name, ok := c.fieldOf(column)
	text, isText := other.(*ast.StringNode)
	if !ok || !isText {
		return nil, false
	}
	switch name {
	case levelName:
		c.columns.add(name)
		level := record.LevelFromAlias(text.Value)
		if level == record.None && text.Value != "-" {
			c.fail(other, "%q is not a level", text.Value)
		}
		return func(r *Record) truth { return wants[order(int64(r.Level), int64(level))] }, true
	case timeName:
		c.columns.add(name)
		t, err := timearg.Parse(text.Value, c.now)
		if err != nil {
			c.fail(other, "%v", err)
			return nil, true
		}
		at := t.UnixNano()
		return func(r *Record) truth { return wants[order(r.Time, at)] }, true
	}
	return nil, false
}

func order(a, b int64) message.Order {
	switch {
	case a < b:
		return message.Less
	case a > b:
		return message.Greater
	}
	return message.Equal
}

// search compiles contains, startsWith, endsWith and matches.
func (c *compiler) search(n *ast.BinaryNode) condition {
	text, pattern := c.value(n.Left), c.value(n.Right)
	for _, o := range []operand{text, pattern} {
		if !o.class.fits(stringClass) {
			c.fail(n, "%s requires a string, not %s", n.Operator, o.class)
		}
	}
	holds, err := searcher(n.Operator, pattern)
	if err != nil {
		c.fail(n.Right, "%v", err)
	}
	return func(r *Record) truth {
		if x, y := text.get(r), pattern.get(r); x.IsText() && y.IsText() {
			return holds(x.Text, y.Text)
		}
		return unknown
	}
}

// searcher returns the test of an operator. It fails if a constant pattern is invalid.
func searcher(operator string, pattern operand) (func(text, pattern []byte) truth, error) {
	switch operator {
	case "contains":
		return func(b, part []byte) truth { return truthOf(bytes.Contains(b, part)) }, nil
	case "startsWith":
		return func(b, part []byte) truth { return truthOf(bytes.HasPrefix(b, part)) }, nil
	case "endsWith":
		return func(b, part []byte) truth { return truthOf(bytes.HasSuffix(b, part)) }, nil
	}
	if pattern.constant {
		re, err := regexp.Compile(string(pattern.get(nil).Text))
		if err != nil {
			return nil, err
		}
		return func(b, _ []byte) truth { return truthOf(re.Match(b)) }, nil
	}
	var last string
	re, err := regexp.Compile("")
	return func(b, source []byte) truth {
		if string(source) != last {
			last = string(source)
			re, err = regexp.Compile(last)
		}
		if err != nil {
			return unknown
		}
		return truthOf(re.Match(b))
	}, nil
}

// in compiles "value in array", the value is equal to one of the elements, and "name in object", it has this member. The names of members are
// texts: whether another value is one of them is unknown, also of an object without members.
func (c *compiler) in(n *ast.BinaryNode) condition {
	if span, ok := n.Right.(*ast.BinaryNode); ok && span.Operator == ".." {
		return c.inRange(n, span)
	}
	if _, ok := n.Left.(*ast.NilNode); ok {
		return c.nullIn(n)
	}
	if array, ok := n.Right.(*ast.ArrayNode); ok {
		if name, ok := c.fieldOf(n.Left); ok && (name == levelName || name == timeName) {
			return c.inColumn(n, array)
		}
		return c.inList(n, array)
	}
	left, right, equal := c.value(n.Left), c.value(n.Right), relationOf("==")
	if !right.class.fits(arrayClass) {
		c.fail(n, "in requires an array or an object, not %s", right.class)
	}
	compare := comparer(left, operand{})
	return func(r *Record) truth {
		v, all := left.get(r), right.get(r)
		if v.Kind == message.Missing || all.Kind != message.Composite || all.isObject() && !v.IsText() {
			return unknown
		}
		t := no
		for element := range all.elements() {
			if t = max(t, equal[compare(v, element)]); t == yes {
				return yes
			}
		}
		return t
	}
}

// inList compiles "value in [list]".
func (c *compiler) inList(n *ast.BinaryNode, array *ast.ArrayNode) condition {
	left, equal := c.value(n.Left), relationOf("==")
	elements := make([]operand, len(array.Nodes)) // get is unset for nil
	compare := make([]comparison, len(array.Nodes))
	for i, node := range array.Nodes {
		if _, ok := node.(*ast.NilNode); ok {
			continue
		}
		if elements[i] = c.value(node); !left.class.compares(elements[i].class) {
			c.fail(node, "cannot compare %s with %s", left.class, elements[i].class)
		}
		compare[i] = comparer(left, elements[i])
	}
	return func(r *Record) truth {
		v := left.get(r)
		if v.Kind == message.Missing {
			return unknown
		}
		t := no
		for i := range elements {
			if e := &elements[i]; e.get == nil {
				t = max(t, truthOf(v.Kind == message.Null))
			} else {
				t = max(t, equal[compare[i](v, e.get(r))])
			}
			if t == yes {
				return yes
			}
		}
		return t
	}
}

// inColumn compiles in for the level and the time. Each element denotes a level or a time.
func (c *compiler) inColumn(n *ast.BinaryNode, array *ast.ArrayNode) condition {
	var tests []condition
	for _, node := range array.Nodes {
		equal := &ast.BinaryNode{Operator: "==", Left: n.Left, Right: node}
		equal.SetLocation(node.Location())
		tests = append(tests, c.binary(equal))
	}
	return func(r *Record) truth {
		t := no
		for _, holds := range tests {
			t = max(t, holds(r))
		}
		return t
	}
}

// nullIn compiles "nil in array": one of the elements is null.
func (c *compiler) nullIn(n *ast.BinaryNode) condition {
	right := c.value(n.Right)
	return func(r *Record) truth {
		all := right.get(r)
		if !all.isArray() {
			return unknown
		}
		t := no
		for element := range all.elements() {
			switch element.Kind {
			case message.Null:
				return yes
			case message.Missing:
				t = unknown
			}
		}
		return t
	}
}

// inRange compiles "number in from..to": the number is an integer in the range, ends included.
func (c *compiler) inRange(n, span *ast.BinaryNode) condition {
	var all [3]operand
	for i, node := range []ast.Node{n.Left, span.Left, span.Right} {
		all[i] = c.value(node)
		if !all[i].class.fits(numberClass) {
			c.fail(span, "a range requires numbers, not %s", all[i].class)
		}
	}
	return func(r *Record) truth {
		var x [3]exact.Number
		for i := range all {
			var ok bool
			if x[i], ok = all[i].get(r).Decimal(); !ok {
				return unknown
			}
		}
		return truthOf(x[0].IsInteger() && x[0].Compare(x[1]) >= 0 && x[0].Compare(x[2]) <= 0)
	}
}
