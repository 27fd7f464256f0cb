package where_test

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func refInt(n int) refValue { return refValue{kind: number, s: strconv.Itoa(n)} }

func refFloat(x float64) refValue {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return refValue{}
	}
	return refValue{kind: number, s: strconv.FormatFloat(x, 'g', -1, 64)}
}

// refWhole is a whole number of 64 bits that is written as one.
func refWhole(v refValue) *big.Int {
	n, ok := new(big.Int).SetString(v.s, 10)
	if !ok || !n.IsInt64() && !n.IsUint64() {
		return nil
	}
	return n
}

// refCalculate is exact in 64 bits, else what floats of 64 bits give.
func refCalculate(op string, a, b refValue) refValue {
	x, y := a.rat(), b.rat()
	if x == nil || y == nil {
		if op == "+" && a.isText() && b.isText() {
			return refValue{kind: text, s: a.s + b.s}
		}
		return refValue{}
	}
	if m, n := refWhole(a), refWhole(b); m != nil && n != nil {
		result := new(big.Int)
		switch {
		case op == "+":
			result.Add(m, n)
		case op == "-":
			result.Sub(m, n)
		case op == "*":
			result.Mul(m, n)
		case n.Sign() == 0:
			return refValue{}
		case op == "%":
			result.Rem(m, n)
		case new(big.Int).Rem(m, n).Sign() == 0:
			result.Quo(m, n)
		default:
			result = nil
		}
		if result != nil && (result.IsInt64() || result.IsUint64()) {
			return refValue{kind: number, s: result.String()}
		}
	}
	f, _ := x.Float64()
	g, _ := y.Float64()
	switch op {
	case "+":
		return refFloat(f + g)
	case "-":
		return refFloat(f - g)
	case "*":
		return refFloat(f * g)
	case "/":
		return refFloat(f / g)
	}
	return refValue{}
}

// refCall calls a function with arguments that are all there.
func refCall(name string, args []refValue) refValue {
	a := args[0]
	str := func(s string) refValue { return refValue{kind: text, s: s} }
	switch name {
	case "type":
		switch {
		case a.rat() != nil:
			return str("number")
		case a.truth() != isUnknown:
			return str("bool")
		}
		return str(map[refKind]string{null: "nil", text: "string", bare: "string", array: "array", object: "object"}[a.kind])
	case "len":
		switch {
		case a.isText():
			return refInt(utf8.RuneCountInString(a.s))
		case a.kind == array || a.kind == object:
			return refInt(len(a.items))
		}
		return refValue{}
	case "first", "last", "at":
		i := map[string]int{"first": 0, "last": -1}[name]
		if name == "at" {
			n := args[1].rat()
			if n == nil || !n.IsInt() || !n.Num().IsInt64() {
				return refValue{}
			}
			i = int(n.Num().Int64())
		}
		if i < 0 {
			i += len(a.items)
		}
		if a.kind != array || i < 0 || i >= len(a.items) {
			return refValue{}
		}
		return a.items[i]
	case "min", "max":
		for _, v := range args {
			if v.rat() == nil {
				return refValue{}
			}
		}
		order := func(a, b refValue) int { return a.rat().Cmp(b.rat()) }
		if name == "min" {
			return slices.MinFunc(args, order)
		}
		return slices.MaxFunc(args, order)
	case "int":
		if a.kind == text && numberForm.MatchString(a.s) {
			a.kind = number
		}
		if x := a.rat(); x == nil || x.IsInt() {
			if x == nil {
				return refValue{}
			}
			return refValue{kind: number, s: a.s}
		}
		f, _ := a.rat().Float64()
		return refFloat(math.Trunc(f))
	case "abs":
		if a.rat() == nil {
			return refValue{}
		}
		return refValue{kind: number, s: strings.TrimPrefix(a.s, "-")}
	}
	for _, v := range args {
		if !v.isText() {
			return refValue{}
		}
	}
	switch name {
	case "lower":
		return str(strings.ToLower(a.s))
	case "upper":
		return str(strings.ToUpper(a.s))
	case "trim":
		return str(strings.TrimSpace(a.s))
	case "hasPrefix":
		return refValue{kind: boolean, s: strconv.FormatBool(strings.HasPrefix(a.s, args[1].s))}
	case "indexOf":
		before, _, found := strings.Cut(a.s, args[1].s)
		if !found {
			return refInt(-1)
		}
		return refInt(utf8.RuneCountInString(before))
	}
	panic(name)
}
