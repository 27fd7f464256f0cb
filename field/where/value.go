package where

import (
	"iter"
	"strconv"
	"unicode/utf8"

	"logstow/message"

	"github.com/expr-lang/expr/ast"
)

// A value is a value of the message or a computed one. No value is message.Missing.
type value struct {
	message.Value
	// items are the elements of a computed array, whose kind is Composite and whose Text is nil.
	items []value
}

func stringValue(text []byte) value {
	return value{Value: message.Value{Kind: message.String, Text: text}}
}

func numberValue(text []byte) value {
	return value{Value: message.Value{Kind: message.Number, Text: text}}
}

func intValue(n int) value { return numberValue(strconv.AppendInt(nil, int64(n), 10)) }

func arrayValue(items []value) value {
	return value{Value: message.Value{Kind: message.Composite}, items: items}
}

func (v value) isArray() bool { return v.Kind == message.Composite && (v.Text == nil || v.IsArray()) }

// isObject is IsObject, also for computed values.
func (v value) isObject() bool { return v.Kind == message.Composite && !v.isArray() }

// elements yields the elements of an array, or the names of the members of an object.
func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		for _, item := range v.items {
			if !yield(item) {
				return
			}
		}
		if v.Text == nil {
			return
		}
		for element := range v.Elements() {
			if !yield(value{Value: element}) {
				return
			}
		}
		for name := range v.Members() {
			if !yield(stringValue([]byte(name))) {
				return
			}
		}
	}
}

// class is the static type of a value, known at compile time.
type class uint8

const (
	anyClass class = iota
	boolClass
	numberClass
	stringClass
	arrayClass
	nilClass
	durationClass // a constant with a unit: its value is its text
	sizeClass
)

// String returns the name of the class with its article.
func (c class) String() string {
	return [...]string{"a value", "a boolean", "a number", "a string", "an array", "nil", "a duration", "a size"}[c]
}

// fits reports whether a value of class c may have class other.
func (c class) fits(other class) bool { return c == other || c == anyClass || other == anyClass }

// compares reports whether values of two classes may be comparable.
func (c class) compares(other class) bool {
	if c.dimension() != message.NoDimension && other == stringClass || c == stringClass && other.dimension() != message.NoDimension {
		return true
	}
	return c.fits(other) && c != arrayClass && other != arrayClass && c != nilClass && other != nilClass
}

// dimension returns the dimension of a class of constants with a unit.
func (c class) dimension() message.Dimension {
	switch c {
	case durationClass:
		return message.Duration
	case sizeClass:
		return message.Size
	}
	return message.NoDimension
}

func classOf(d message.Dimension) class {
	if d == message.Size {
		return sizeClass
	}
	return durationClass
}

// constant returns an operand with a constant value.
func (c *compiler) constant(v value, class class) operand {
	return operand{get: func(*Record) value { return v }, class: class, constant: true}
}

// computed returns an operand with a computed value.
func (c *compiler) computed(class class, get getter) operand {
	return operand{get: get, class: class}
}

// value compiles a value.
func (c *compiler) value(node ast.Node) operand {
	if name, ok := c.fieldOf(node); ok {
		return c.field(name)
	}
	if isCondition(node) {
		if b, ok := node.(*ast.BoolNode); ok {
			return c.constant(truthOf(b.Value).value(), boolClass)
		}
		holds := c.condition(node)
		return c.computed(boolClass, func(r *Record) value { return holds(r).value() })
	}
	switch n := node.(type) {
	case *ast.NilNode:
		return c.constant(value{Value: message.Value{Kind: message.Null}}, nilClass)
	case *ast.StringNode:
		return c.constant(stringValue([]byte(n.Value)), stringClass)
	case *ast.IntegerNode, *ast.FloatNode:
		if o, ok := c.quantity(n); ok {
			return o
		}
		return c.constant(numberValue(c.literal(n)), numberClass)
	case *ast.UnaryNode:
		return c.signed(n)
	case *ast.BinaryNode:
		if n.Operator == "??" {
			return c.coalesce(n)
		}
		return c.arithmetic(n)
	case *ast.ConditionalNode:
		return c.choose(n)
	case *ast.VariableDeclaratorNode:
		var body operand
		set := c.declare(n, func() { body = c.value(n.Expr) })
		return c.computed(body.class, func(r *Record) value {
			set(r)
			return body.get(r)
		})
	case *ast.IdentifierNode:
		return c.variable(n)
	case *ast.PointerNode:
		return c.pointer(n)
	case *ast.ChainNode:
		return c.value(n.Node)
	case *ast.MemberNode:
		return c.member(n)
	case *ast.SliceNode:
		return c.slice(n)
	case *ast.ArrayNode:
		return c.array(n)
	case *ast.BuiltinNode:
		return c.builtin(n)
	case *ast.CallNode:
		return c.call(n)
	}
	c.fail(node, "unsupported syntax")
	return c.constant(value{}, anyClass)
}

// coalesce compiles "a ?? b": b if a is missing or null.
func (c *compiler) coalesce(n *ast.BinaryNode) operand {
	first, second := c.value(n.Left), c.value(n.Right)
	return c.computed(c.common(n, first, second), func(r *Record) value {
		if v := first.get(r); v.Kind != message.Missing && v.Kind != message.Null {
			return v
		}
		return second.get(r)
	})
}

// choose compiles "condition ? a : b": no value if the condition is unknown.
func (c *compiler) choose(n *ast.ConditionalNode) operand {
	cond, first, second := c.condition(n.Cond), c.value(n.Exp1), c.value(n.Exp2)
	return c.computed(c.common(n, first, second), func(r *Record) value {
		switch cond(r) {
		case yes:
			return first.get(r)
		case no:
			return second.get(r)
		}
		return value{}
	})
}

// common returns the class of a value that is one of two operands.
func (c *compiler) common(n ast.Node, a, b operand) class {
	if a.class == b.class {
		return a.class
	}
	if a.class.dimension() == message.NoDimension {
		a, b = b, a
	}
	if a.class.dimension() == message.NoDimension {
		return anyClass
	}
	if b.class != anyClass && b.class != stringClass {
		c.fail(n, "cannot choose between %s and %s", a.class, b.class)
	}
	return a.class
}

// plain compiles a value that must not be a constant with a unit, since these can only be compared.
func (c *compiler) plain(node ast.Node) operand {
	o := c.value(node)
	if o.class.dimension() != message.NoDimension {
		c.fail(node, "%s can only be compared", o.class)
	}
	return o
}

// A variable is declared by let; now is its current value.
type variable struct {
	now value
	operand
}

// declare compiles "let name = value", and the body in its scope. The function returned sets the variable.
func (c *compiler) declare(n *ast.VariableDeclaratorNode, body func()) (set func(*Record)) {
	o := c.value(n.Value)
	v := &variable{operand: operand{class: o.class}}
	v.get = func(*Record) value { return v.now }
	outer := c.variables[n.Name]
	c.variables[n.Name] = v
	body()
	c.variables[n.Name] = outer
	return func(r *Record) { v.now = o.get(r) }
}

func (c *compiler) variable(n *ast.IdentifierNode) operand {
	v := c.variables[n.Value]
	if v == nil { // $env
		c.fail(n, "write $env[\"name\"]")
		return c.constant(value{}, anyClass)
	}
	return v.operand
}

// A pointer is the current element of a predicate, #.
type pointer struct {
	item  value
	index int
}

func (c *compiler) pointer(n *ast.PointerNode) operand {
	if len(c.pointers) == 0 || n.Name != "" && n.Name != "index" {
		c.fail(n, "#%s is not available here", n.Name)
		return c.constant(value{}, anyClass)
	}
	p := c.pointers[len(c.pointers)-1]
	if n.Name == "index" {
		return c.computed(numberClass, func(*Record) value { return intValue(p.index) })
	}
	return c.computed(anyClass, func(*Record) value { return p.item })
}

// member compiles an element of an array, counted from 0 or from the end by negative numbers, and a
// member of an object.
func (c *compiler) member(n *ast.MemberNode) operand {
	of, by := c.value(n.Node), c.value(n.Property)
	if !of.class.fits(arrayClass) || !by.class.fits(numberClass) && !by.class.fits(stringClass) {
		c.fail(n, "%s cannot be indexed by %s", of.class, by.class)
	}
	return c.computed(anyClass, func(r *Record) value {
		v, name := of.get(r), by.get(r)
		if name.IsText() && v.isObject() {
			return value{Value: v.Member(string(name.Text))}
		}
		at, ok := smallInt(name)
		if !ok || !v.isArray() {
			return value{}
		}
		return v.at(at)
	})
}

// at returns an element of an array.
func (v value) at(i int) value {
	if i < 0 {
		i += v.count()
	}
	for element := range v.elements() {
		if i == 0 {
			return element
		}
		i--
	}
	return value{}
}

// count is the number of elements.
func (v value) count() (n int) {
	for range v.elements() {
		n++
	}
	return n
}

// smallInt converts an integer to an index, clamped to ±2^30.
func smallInt(v value) (int, bool) {
	n, ok := v.Decimal()
	if !ok || !n.IsInteger() {
		return 0, false
	}
	const most = 1 << 30
	return int(min(max(n.Float(), -most), most)), true
}

// slice compiles "x[from:to]" of an array, or of a string by characters.
func (c *compiler) slice(n *ast.SliceNode) operand {
	of := c.value(n.Node)
	if of.class != stringClass && !of.class.fits(arrayClass) {
		c.fail(n, "%s has no parts", of.class)
	}
	bound := func(node ast.Node, otherwise int) func(*Record, int) (int, bool) {
		if node == nil {
			return func(_ *Record, length int) (int, bool) { return min(otherwise, length), true }
		}
		o := c.value(node)
		return func(r *Record, length int) (int, bool) {
			i, ok := smallInt(o.get(r))
			if i < 0 {
				i += length
			}
			return min(max(i, 0), length), ok
		}
	}
	from, to := bound(n.From, 0), bound(n.To, 1<<30)
	return c.computed(of.class, func(r *Record) value {
		v := of.get(r)
		var items []value
		var length int
		switch {
		case v.IsText():
			length = utf8.RuneCount(v.Text)
		case v.isArray():
			for element := range v.elements() {
				items = append(items, element)
			}
			length = len(items)
		default:
			return value{}
		}
		i, ok := from(r, length)
		j, too := to(r, length)
		if !ok || !too {
			return value{}
		}
		if j = max(i, j); v.IsText() {
			return stringValue(characters(v.Text, i, j))
		}
		return arrayValue(items[i:j])
	})
}

// characters returns the characters of text from one index to another.
func characters(text []byte, from, to int) []byte {
	at := func(n int) (offset int) {
		for ; n > 0; n-- {
			_, size := utf8.DecodeRune(text[offset:])
			offset += size
		}
		return offset
	}
	return text[at(from):at(to)]
}

// array compiles "[a, b, c]".
func (c *compiler) array(n *ast.ArrayNode) operand {
	all := make([]operand, len(n.Nodes))
	for i, node := range n.Nodes {
		all[i] = c.plain(node)
	}
	return c.computed(arrayClass, func(r *Record) value {
		items := make([]value, len(all))
		for i := range all {
			items[i] = all[i].get(r)
		}
		return arrayValue(items)
	})
}
