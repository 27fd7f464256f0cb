package where

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"logstow/exact"
	"logstow/field"
	"logstow/internal/suggest"
	"logstow/message"
)

// A function returns no value if an argument has no value, or another class than its parameter.
type function struct {
	params   []class
	optional int  // number of optional parameters at the end
	repeats  bool // the last parameter is variadic
	result   class
	call     func(args []value) value
}

// functions returns the functions without a predicate, by name.
func functions() map[string]function {
	text := []class{stringClass}
	texts := []class{stringClass, stringClass}
	number := []class{numberClass}
	return map[string]function{
		"len":         {params: []class{anyClass}, result: numberClass, call: length},
		"lower":       {params: text, result: stringClass, call: mapText(bytes.ToLower)},
		"upper":       {params: text, result: stringClass, call: mapText(bytes.ToUpper)},
		"trim":        {params: texts, optional: 1, result: stringClass, call: trim},
		"trimPrefix":  {params: texts, result: stringClass, call: mapTexts(bytes.TrimPrefix)},
		"trimSuffix":  {params: texts, result: stringClass, call: mapTexts(bytes.TrimSuffix)},
		"hasPrefix":   {params: texts, result: boolClass, call: testTexts(bytes.HasPrefix)},
		"hasSuffix":   {params: texts, result: boolClass, call: testTexts(bytes.HasSuffix)},
		"indexOf":     {params: texts, result: numberClass, call: index(bytes.Index)},
		"lastIndexOf": {params: texts, result: numberClass, call: index(bytes.LastIndex)},
		"replace":     {params: []class{stringClass, stringClass, stringClass}, result: stringClass, call: replace},
		"split":       {params: texts, result: arrayClass, call: split},
		"join":        {params: []class{arrayClass, stringClass}, optional: 1, result: stringClass, call: join},
		"string":      {params: []class{anyClass}, result: stringClass, call: toString},
		"fromJSON":    {params: text, result: anyClass, call: fromJSON},
		"type":        {params: []class{anyClass}, result: stringClass, call: typeName},
		"int":         {params: []class{anyClass}, result: numberClass, call: toInt},
		"float":       {params: []class{anyClass}, result: numberClass, call: toFloat},
		"abs":         {params: number, result: numberClass, call: abs},
		"floor":       {params: number, result: numberClass, call: round(math.Floor)},
		"ceil":        {params: number, result: numberClass, call: round(math.Ceil)},
		"round":       {params: number, result: numberClass, call: round(math.Round)},
		"min":         {params: []class{anyClass}, repeats: true, result: numberClass, call: extreme(-1)},
		"max":         {params: []class{anyClass}, repeats: true, result: numberClass, call: extreme(1)},
		"first":       {params: []class{arrayClass}, result: anyClass, call: func(args []value) value { return args[0].at(0) }},
		"last":        {params: []class{arrayClass}, result: anyClass, call: func(args []value) value { return args[0].at(-1) }},
	}
}

// call compiles the call of a function that is not a builtin of the parser.
func (c *compiler) call(n *ast.CallNode) operand {
	name, ok := callee(n)
	if !ok {
		c.fail(n, "methods are not supported")
	} else if _, ok := field.CallPrefix(name); ok {
		c.fail(n, "%s requires the name of one field in quotes", name)
	} else {
		return c.function(n, name, n.Arguments)
	}
	return c.constant(value{}, anyClass)
}

// function compiles the call of a function.
func (c *compiler) function(n ast.Node, name string, arguments []ast.Node) operand {
	all := functions()
	f, ok := all[name]
	if !ok {
		names := append(slices.AppendSeq(field.CallNames(), maps.Keys(all)), "has", "all", "any", "none", "one", "filter",
			"find", "map", "count", "sum")
		advice := ""
		if near := suggest.Names(name, names, 1); len(near) > 0 {
			advice = "did you mean " + near[0] + "?"
		}
		c.failWith(advice, n, "unknown function %s", name)
		return c.constant(value{}, anyClass)
	}
	if len(arguments) < len(f.params)-f.optional || len(arguments) > len(f.params) && !f.repeats {
		c.fail(n, "%s requires %s, not %d", name, f.takes(), len(arguments))
		return c.constant(value{}, anyClass)
	}
	operands := make([]operand, len(arguments))
	for i, node := range arguments {
		operands[i] = c.plain(node)
		if want := f.param(i); !operands[i].class.fits(want) {
			c.fail(node, "%s requires %s, not %s", name, want, operands[i].class)
		}
	}
	return c.computed(f.result, func(r *Record) value {
		args := make([]value, len(operands))
		for i := range operands {
			if args[i] = operands[i].get(r); !args[i].is(f.param(i)) {
				return value{}
			}
		}
		return f.call(args)
	})
}

func (f *function) param(i int) class { return f.params[min(i, len(f.params)-1)] }

// takes describes the number of arguments of a function in words.
func (f *function) takes() string {
	least, most := len(f.params)-f.optional, len(f.params)
	words := []string{"no argument", "1 argument", "2 arguments", "3 arguments"}
	switch {
	case f.repeats:
		return words[least] + " or more"
	case least < most:
		return words[least] + " or " + words[most]
	}
	return words[most]
}

// is reports whether v is a value of a class.
func (v value) is(want class) bool {
	switch want {
	case stringClass:
		return v.IsText()
	case numberClass:
		_, ok := v.Decimal()
		return ok
	case arrayClass:
		return v.isArray()
	}
	return v.Kind != message.Missing
}

// length is the number of a string's characters, of an array's elements, of an object's members.
func length(args []value) value {
	switch v := args[0]; {
	case v.IsText():
		return intValue(utf8.RuneCount(v.Text))
	case v.Kind == message.Composite:
		return intValue(v.count())
	}
	return value{}
}

func mapText(f func([]byte) []byte) func([]value) value {
	return func(args []value) value { return stringValue(f(args[0].Text)) }
}

func mapTexts(f func(a, b []byte) []byte) func([]value) value {
	return func(args []value) value { return stringValue(f(args[0].Text, args[1].Text)) }
}

func testTexts(f func(a, b []byte) bool) func([]value) value {
	return func(args []value) value { return truthOf(f(args[0].Text, args[1].Text)).value() }
}

func trim(args []value) value {
	if len(args) == 1 {
		return stringValue(bytes.TrimSpace(args[0].Text))
	}
	return stringValue(bytes.Trim(args[0].Text, string(args[1].Text)))
}

// index is the number of characters before a part of a string, -1 if it has no such part.
func index(f func(s, part []byte) int) func([]value) value {
	return func(args []value) value {
		i := f(args[0].Text, args[1].Text)
		if i >= 0 {
			i = utf8.RuneCount(args[0].Text[:i])
		}
		return intValue(i)
	}
}

func replace(args []value) value {
	return stringValue(bytes.ReplaceAll(args[0].Text, args[1].Text, args[2].Text))
}

func split(args []value) value {
	var items []value
	for _, part := range bytes.Split(args[0].Text, args[1].Text) {
		items = append(items, stringValue(part))
	}
	return arrayValue(items)
}

func join(args []value) value {
	var parts [][]byte
	for element := range args[0].elements() {
		if !element.IsText() {
			return value{}
		}
		parts = append(parts, element.Text)
	}
	var separator []byte
	if len(args) > 1 {
		separator = args[1].Text
	}
	return stringValue(bytes.Join(parts, separator))
}

// toString returns a value as written in the message.
func toString(args []value) value {
	v := args[0]
	if v.Kind == message.Null || v.Kind == message.Composite && v.Text == nil {
		return value{}
	}
	return stringValue(v.Text)
}

func fromJSON(args []value) value {
	v, ok := message.ParseJSON(bytes.TrimSpace(args[0].Text))
	if !ok || v.Kind == message.Bare {
		return value{}
	}
	return value{Value: v}
}

func typeName(args []value) value {
	v := args[0]
	_, isNumber := v.Decimal()
	_, isTruth := v.Truth()
	name := "string"
	switch {
	case isNumber:
		name = "number"
	case isTruth:
		name = "bool"
	case v.Kind == message.Null:
		name = "nil"
	case v.isArray():
		name = "array"
	case v.Kind == message.Composite:
		name = "object"
	}
	return stringValue([]byte(name))
}

// parsed returns a value as a number; a string is parsed.
func parsed(v value) (exact.Number, bool) {
	if v.IsText() {
		return exact.Parse(v.Text)
	}
	return v.Decimal()
}

// toInt returns a number without its fraction.
func toInt(args []value) value {
	n, ok := parsed(args[0])
	switch {
	case !ok:
		return value{}
	case n.IsInteger():
		return numberValue(n.Append(nil))
	}
	return floatValue(math.Trunc(n.Float()))
}

func toFloat(args []value) value {
	n, ok := parsed(args[0])
	if !ok {
		return value{}
	}
	return floatValue(n.Float())
}

func abs(args []value) value {
	text := args[0].Text
	if n, _ := args[0].Decimal(); n.Sign() < 0 {
		text = negated(text)
	}
	return numberValue(text)
}

func round(f func(float64) float64) func([]value) value {
	return func(args []value) value {
		n, _ := args[0].Decimal()
		if n.IsInteger() {
			return numberValue(n.Append(nil))
		}
		return floatValue(f(n.Float()))
	}
}

// extreme returns the least or the greatest of its arguments, or of the elements of one array.
func extreme(sign int) func([]value) value {
	return func(args []value) value {
		if len(args) == 1 && args[0].isArray() {
			args = slices.Collect(args[0].elements())
		}
		var best value
		for i, v := range args {
			n, ok := v.Decimal()
			if !ok {
				return value{}
			}
			if b, _ := best.Decimal(); i == 0 || n.Compare(b)*sign > 0 {
				best = v
			}
		}
		return best
	}
}
