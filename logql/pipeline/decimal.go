package pipeline

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
)

// divisionPlaces is the number of decimal places of a quotient.
const divisionPlaces = 16

// decimalFunctions are the arithmetic of floats, which is that of their decimals: 0.3 less 0.1 is 0.2.
func decimalFunctions(f map[string]any, b *budget) {
	of := func(do func(x, y *big.Rat) error) func(v any, vs ...any) (float64, error) {
		return func(v any, vs ...any) (float64, error) {
			result, err := decimalOf(toFloat(v))
			for _, v := range vs {
				if err != nil {
					return 0, err
				}
				var next *big.Rat
				if next, err = decimalOf(toFloat(v)); err == nil {
					err = do(result, next)
				}
				b.work -= (result.Num().BitLen() + result.Denom().BitLen()) / 8
				err = errors.Join(err, b.charge())
			}
			if err != nil {
				return 0, err
			}
			x, _ := result.Float64() // the nearest, infinite if it is out of range
			return x, nil
		}
	}
	exact := func(do func(z, x, y *big.Rat) *big.Rat) func(x, y *big.Rat) error {
		return func(x, y *big.Rat) error {
			do(x, x, y)
			return nil
		}
	}
	add := of(exact((*big.Rat).Add))
	f["addf"] = func(vs ...any) (float64, error) { return add(0, vs...) }
	f["subf"] = of(exact((*big.Rat).Sub))
	f["mulf"] = of(exact((*big.Rat).Mul))
	f["divf"] = of(func(x, y *big.Rat) error {
		if y.Sign() == 0 {
			return errors.New("division by zero")
		}
		x.SetString(x.Quo(x, y).FloatString(divisionPlaces)) // rounded half away from zero
		return nil
	})
}

// decimalOf is the shortest decimal that is a float.
func decimalOf(f float64) (*big.Rat, error) {
	x, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', -1, 64))
	if !ok {
		return nil, fmt.Errorf("%v is not a decimal number", f)
	}
	return x, nil
}
