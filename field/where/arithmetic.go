package where

import (
	"bytes"
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
			return value{}
		}
		if n.Operator == "-" && x.Sign() != 0 {
			return numberValue(negated(v.Text))
		}
		return numberValue(v.Text)
	}
	if o.constant && c.err == nil {
		return c.constant(get(nil), numberClass)
	}
	return c.computed(numberClass, get)
}

// negated returns the text of a number other than 0 with the opposite sign.
func negated(text []byte) []byte {
	if rest, ok := bytes.CutPrefix(text, []byte("-")); ok {
		return rest
	}
	return append([]byte("-"), text...)
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
		if class != stringClass {
			if result, ok := calculate(n.Operator, x, y); ok {
				return result
			}
		}
		if strings && x.IsText() && y.IsText() {
			return stringValue(slices.Concat(x.Text, y.Text))
		}
		return value{}
	})
}

// calculate returns the result of an operation: exact if the operands are written as integers and these and the result have 64 bits,
// otherwise computed with floats. Infinities and NaN are no value. It is not ok if an operand is not a number.
func calculate(operator string, a, b value) (result value, ok bool) {
	if n, ok := calculateSmall(operator, a, b); ok {
		return intValue(n), true
	}
	m, ok := a.Decimal()
	n, too := b.Decimal()
	if !ok || !too {
		return value{}, false
	}
	if i, ok := bigInt(a.Text); ok {
		if j, ok := bigInt(b.Text); ok {
			if result, ok = calculateWhole(operator, i, j); ok {
				return result, true
			}
		}
	}
	if operator == "%" {
		return value{}, true
	}
	x, y := m.Float(), n.Float()
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
	return floatValue(x), true
}

// calculateWhole is not ok if the result is no whole number of 64 bits.
func calculateWhole(operator string, x, y *big.Int) (value, bool) {
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
	return numberValue(x.Append(nil, 10)), true
}

// calculateSmall calculates with operands so small that the result fits 64 bits. It is ok for most numbers.
func calculateSmall(operator string, a, b value) (int, bool) {
	const most = 1 << 31
	x, ok := a.Integer()
	y, too := b.Integer()
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

// bigInt returns a number that is written as an integer of 64 bits.
func bigInt(text []byte) (*big.Int, bool) {
	if len(text) > len("-18446744073709551615") {
		return nil, false
	}
	x, ok := new(big.Int).SetString(string(text), 10)
	return x, ok && (x.IsInt64() || x.IsUint64())
}

// floatValue returns the shortest decimal that parses to x; no value for NaN and infinities.
func floatValue(x float64) value {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return value{}
	}
	return numberValue(strconv.AppendFloat(nil, x, 'g', -1, 64))
}
