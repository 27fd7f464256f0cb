package where

import (
	"math"
	"math/big"
	"slices"
	"strconv"

	"logstow/message"

	"github.com/expr-lang/expr/ast"
)

// signed compiles "-x" and "+x".
func (c *compiler) signed(n *ast.UnaryNode) operand {
	o := c.value(n.Node)
	if d := o.class.dimension(); d != message.NoDimension && o.constant {
		text := o.get(nil).Text
		if n.Operator == "-" {
			text = append([]byte("-"), text...)
		}
		if _, _, ok := message.ParseQuantity(text); ok { // not --5s
			return c.constant(stringValue(text), o.class)
		}
	}
	if !o.class.fits(numberClass) {
		c.fail(n, "%s requires numbers, not %s", n.Operator, o.class)
	}
	get := func(r *Record) value {
		v := o.get(r)
		x, ok := v.Decimal()
		if !ok {
			o.note(v.Value)
			return value{}
		}
		if n.Operator == "-" {
			x = x.Negate()
		}
		return numberValue(x)
	}
	if o.constant && c.err == nil {
		return c.constant(get(nil), numberClass)
	}
	return c.computed(numberClass, get)
}

// arithmetic compiles + - * / % and **, and + of two strings.
func (c *compiler) arithmetic(n *ast.BinaryNode) operand {
	a, b := c.value(n.Left), c.value(n.Right)
	class := numberClass
	strings := n.Operator == "+" && a.class.fits(stringClass) && b.class.fits(stringClass)
	switch {
	case n.Operator == "..":
		c.fail(n, "a range is allowed only after \"in\"")
	case !slices.Contains([]string{"+", "-", "*", "/", "%", "**", "^"}, n.Operator):
		c.fail(n, "unknown operator %s", n.Operator)
	case strings && (a.class == stringClass || b.class == stringClass):
		class = stringClass
	case strings:
		class = anyClass
	case !a.class.fits(numberClass) || !b.class.fits(numberClass):
		c.fail(n, "cannot apply %s to %s and %s", n.Operator, a.class, b.class)
	}
	return c.computed(class, func(r *Record) value {
		x, y := a.get(r), b.get(r)
		if m, ok := x.Decimal(); ok && class != stringClass {
			if n2, ok := y.Decimal(); ok {
				return calculate(n.Operator, m, n2)
			}
		}
		if strings && x.IsText() && y.IsText() {
			return stringValue(slices.Concat(x.Text, y.Text))
		}
		noteBoth(&a, &b, x, y)
		return value{}
	})
}

// calculate returns the result of an operation: exact if the operands and the result are integers of 64 bits, otherwise computed
// with floats. Infinities and NaN are no value.
func calculate(operator string, a, b message.Decimal) value {
	if a.Whole() && b.Whole() {
		if n, ok := calculateWhole(operator, a, b); ok {
			return n
		}
	}
	if operator == "%" {
		return value{}
	}
	x, y := a.Float(), b.Float()
	switch operator {
	case "+":
		x += y
	case "-":
		x -= y
	case "*":
		x *= y
	case "/":
		x /= y
	default:
		x = math.Pow(x, y)
	}
	return floatValue(x)
}

// calculateWhole is not ok if the result is no whole number of 64 bits.
func calculateWhole(operator string, a, b message.Decimal) (value, bool) {
	if n, ok := calculateSmall(operator, a, b); ok {
		return intValue(n), true
	}
	x, y := bigInt(a), bigInt(b)
	switch operator {
	case "+":
		x.Add(x, y)
	case "-":
		x.Sub(x, y)
	case "*":
		x.Mul(x, y)
	case "/", "%":
		if y.Sign() == 0 {
			return value{}, true
		}
		quotient, rest := new(big.Int).QuoRem(x, y, new(big.Int))
		if operator == "%" {
			quotient, rest = rest, new(big.Int)
		}
		if x = quotient; rest.Sign() != 0 {
			return value{}, false
		}
	default:
		const most = 64 // with a larger exponent, the result does not fit 64 bits unless x is 0, 1 or -1
		if y.Sign() < 0 || x.BitLen() > 1 && y.Cmp(big.NewInt(most)) > 0 {
			return value{}, false
		}
		if x.BitLen() <= 1 && y.Sign() > 0 { // 0, 1 and -1
			y = big.NewInt(2 - int64(y.Bit(0)))
		}
		x.Exp(x, y, nil)
	}
	if !x.IsInt64() && !x.IsUint64() {
		return value{}, false
	}
	return value{Value: message.Value{Kind: message.Number, Text: x.Append(nil, 10)}}, true
}

// calculateSmall calculates with operands so small that the result fits 64 bits. It is ok for most numbers.
func calculateSmall(operator string, a, b message.Decimal) (int, bool) {
	const most = 1 << 31
	x, ok := a.Int64()
	y, too := b.Int64()
	if !ok || !too || min(x, y) < -most || max(x, y) > most {
		return 0, false
	}
	switch {
	case operator == "+":
		return int(x + y), true
	case operator == "-":
		return int(x - y), true
	case operator == "*":
		return int(x * y), true
	case operator == "/" && y != 0 && x%y == 0:
		return int(x / y), true
	case operator == "%" && y != 0:
		return int(x % y), true
	}
	return 0, false
}

func bigInt(n message.Decimal) *big.Int {
	x, _ := new(big.Int).SetString(string(n.Append(nil)), 10)
	return x
}

// floatValue returns the shortest decimal that parses to x; no value for NaN and infinities.
func floatValue(x float64) value {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return value{}
	}
	return value{Value: message.Value{Kind: message.Number, Text: strconv.AppendFloat(nil, x, 'g', -1, 64)}}
}
