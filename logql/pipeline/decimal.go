package pipeline

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// divisionPlaces is the number of decimal places of a quotient.
const divisionPlaces = 16

// A decimal is value times ten to the power of exp.
type decimal struct {
	value *big.Int
	exp   int
}

// decimalFunctions are the arithmetic of floats, which is that of their decimals: 0.3 less 0.1 is 0.2.
func decimalFunctions(f map[string]any, b *budget) {
	of := func(do func(x, y decimal) (decimal, error)) func(v any, vs ...any) (float64, error) {
		return func(v any, vs ...any) (float64, error) {
			result, err := newDecimal(toFloat(v))
			for _, v := range vs {
				if err != nil {
					return 0, err
				}
				var next decimal
				if next, err = newDecimal(toFloat(v)); err == nil {
					result, err = do(result, next)
				}
				b.work -= result.value.BitLen() / 8
				err = errors.Join(err, b.charge())
			}
			if err != nil {
				return 0, err
			}
			return result.float(), nil
		}
	}
	add := of(func(x, y decimal) (decimal, error) { return x.add(y), nil })
	f["addf"] = func(vs ...any) (float64, error) { return add(0, vs...) }
	f["subf"] = of(func(x, y decimal) (decimal, error) { return x.add(decimal{new(big.Int).Neg(y.value), y.exp}), nil })
	f["mulf"] = of(func(x, y decimal) (decimal, error) {
		return decimal{new(big.Int).Mul(x.value, y.value), x.exp + y.exp}, nil
	})
	f["divf"] = of(decimal.divide)
}

// newDecimal is the shortest decimal that is a float.
func newDecimal(f float64) (decimal, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return decimal{new(big.Int), 0}, fmt.Errorf("%v is not a decimal number", f)
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	whole, fraction, _ := strings.Cut(digits, ".")
	value, _ := new(big.Int).SetString(whole+fraction, 10)
	exp, _ := strconv.Atoi(exponent)
	return decimal{value, exp - len(fraction)}, nil
}

// shifted is the value with n zeros appended, none if n is negative.
func (d decimal) shifted(n int) *big.Int {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, 0))), nil)
	return power.Mul(power, d.value)
}

func (d decimal) add(e decimal) decimal {
	exp := min(d.exp, e.exp)
	return decimal{new(big.Int).Add(d.shifted(d.exp-exp), e.shifted(e.exp-exp)), exp}
}

// divide rounds to divisionPlaces, half away from zero.
func (d decimal) divide(e decimal) (decimal, error) {
	if e.value.Sign() == 0 {
		return d, errors.New("division by zero")
	}
	shift := d.exp - e.exp + divisionPlaces
	dividend, divisor := d.shifted(shift), e.shifted(-shift)
	quotient, rest := new(big.Int).QuoRem(dividend, divisor, new(big.Int))
	if rest.Lsh(rest, 1).CmpAbs(divisor) >= 0 {
		quotient.Add(quotient, big.NewInt(int64(dividend.Sign()*divisor.Sign())))
	}
	return decimal{quotient, -divisionPlaces}, nil
}

func (d decimal) float() float64 {
	f, _ := strconv.ParseFloat(d.value.String()+"e"+strconv.Itoa(d.exp), 64) // out of range is infinite
	return f
}
