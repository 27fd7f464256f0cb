package aggregate

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"logstow/field"
	"logstow/message"
)

// The reference computes what an aggregation should, in the most obvious way: all records of a group in a
// list, numbers as big.Rat.

// refRecord is a record by the names of fields and conditions.
type refRecord struct {
	time     int64
	sequence string
	values   map[string]message.Value
	holds    map[string]bool
}

// refValue is a value as text, with its kind and, for a number, its value.
type refValue struct {
	kind ValueKind
	text string
	rat  *big.Rat
}

func (v refValue) String() string {
	if v.rat != nil && v.kind != Float {
		return fmt.Sprint(v.kind, v.rat.RatString())
	}
	return fmt.Sprint(v.kind, v.text)
}

func refNumber(rat *big.Rat) refValue {
	kind := Decimal
	if rat.IsInt() && rat.Num().IsInt64() {
		kind = Integer
	}
	return refValue{kind: kind, rat: rat}
}

func refFloat(x float64) refValue {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	rat, _ := new(big.Rat).SetString(text)
	return refValue{kind: Float, text: text, rat: rat}
}

func refInt(n int) refValue { return refNumber(new(big.Rat).SetInt64(int64(n))) }

// actual is a value of a result as the reference has it.
func actual(v Value) refValue {
	text := string(v.Append(nil))
	switch v.Kind {
	case Integer, Decimal:
		rat, ok := new(big.Rat).SetString(text)
		if !ok {
			return refValue{kind: v.Kind, text: "no number: " + text}
		}
		return refValue{kind: v.Kind, rat: rat}
	case Float:
		return refFloat(v.Float)
	case Time:
		return refValue{kind: Time, rat: new(big.Rat).SetInt64(v.Int)}
	}
	return refValue{kind: v.Kind, text: text}
}

func refNumeric(v message.Value) *big.Rat {
	if _, ok := v.Decimal(); !ok {
		return nil
	}
	rat, ok := new(big.Rat).SetString(string(v.Text))
	if !ok || rat.Sign() != 0 && (magnitude(rat).Cmp(tenTo(300)) >= 0 || magnitude(rat).Cmp(tenTo(-300)) < 0) {
		return nil
	}
	return rat
}

func magnitude(x *big.Rat) *big.Rat { return new(big.Rat).Abs(x) }

func tenTo(n int) *big.Rat {
	x := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil))
	if n < 0 {
		x.Inv(x)
	}
	return x
}

// refBucket is the bucket of a number: the greatest lower bound that is at most it.
func refBucket(x, width *big.Rat) *big.Rat {
	if width != nil {
		q := new(big.Rat).Quo(x, width)
		return q.Mul(new(big.Rat).SetInt(new(big.Int).Div(q.Num(), q.Denom())), width)
	}
	if x.Sign() == 0 {
		return x
	}
	var best *big.Rat
	for e := -310; e <= 310; e++ {
		if f, _ := magnitude(x).Float64(); math.Abs(math.Log10(f)-float64(e)) > 3 && f != 0 {
			continue
		}
		for _, lead := range []int64{1, 2, 5, -1, -2, -5} {
			bound := new(big.Rat).Mul(new(big.Rat).SetInt64(lead), tenTo(e))
			if bound.Cmp(x) <= 0 && (best == nil || bound.Cmp(best) > 0) && bound.Sign() == x.Sign() {
				best = bound
			}
		}
	}
	return best
}

// plain is a number in decimal notation.
func plain(x *big.Rat) string {
	text := x.FloatString(400)
	text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	if magnitude(x).Cmp(tenTo(-6)) < 0 && x.Sign() != 0 {
		digits := strings.TrimLeft(strings.TrimLeft(text, "-0."), "0")
		exponent := len(digits) - len(text[strings.IndexByte(text, '.')+1:]) - 1
		text = digits[:1]
		if len(digits) > 1 {
			text += "." + digits[1:]
		}
		text += "e" + strconv.Itoa(exponent)
		if x.Sign() < 0 {
			text = "-" + text
		}
	}
	return text
}

// refGroup is a group of records of one key; nil values are missing.
type refGroup struct {
	keys    []*string // of By, of the step nil
	step    int64
	records []*refRecord
}

func name(f field.Name) string { return fmt.Sprint(f) }

func (s *Spec) refKey(r *refRecord) (g refGroup) {
	for _, k := range s.By {
		if !k.Step.IsZero() {
			g.step = k.Step.Start(r.time, s.Zone)
			g.keys = append(g.keys, nil)
			continue
		}
		v := r.values[name(k.Field)]
		text := string(v.Text)
		switch {
		case k.Bucket:
			x := refNumeric(v)
			var width *big.Rat
			if k.Width.Sign() > 0 {
				width, _ = new(big.Rat).SetString(string(k.Width.Append(nil)))
			}
			if x == nil {
				g.keys = append(g.keys, nil)
				continue
			}
			text = plain(refBucket(x, width))
		case v.Kind == message.Missing || v.Kind == message.Null:
			g.keys = append(g.keys, nil)
			continue
		}
		g.keys = append(g.keys, &text)
	}
	return g
}

func show(p *string) string {
	if p == nil {
		return "missing"
	}
	return strconv.Quote(*p)
}

// id identifies the part of a key that uses the given keys of By, and the step.
func (g *refGroup) id(use func(key int) bool, step bool) string {
	var b strings.Builder
	for i, k := range g.keys {
		if use(i) {
			b.WriteString(show(k) + ",")
		}
	}
	if step {
		b.WriteString(strconv.FormatInt(g.step, 10))
	}
	return b.String()
}

// compute is a function of records.
func (s *Spec) compute(f Function, records []*refRecord, total int, seconds *big.Rat) refValue {
	n := len(records)
	rounded := func(x *big.Rat) refValue {
		f, _ := x.Float64()
		return refFloat(f)
	}
	switch f.Kind {
	case Count, Ratio:
		if f.Expr == "" {
			return refInt(n)
		}
		held := 0
		for _, r := range records {
			if r.holds[f.Expr] {
				held++
			}
		}
		if f.Kind == Count {
			return refInt(held)
		}
		return rounded(big.NewRat(int64(held), int64(n)))
	case Rate:
		return rounded(new(big.Rat).Quo(new(big.Rat).SetInt64(int64(n)), seconds))
	case Share:
		return rounded(big.NewRat(int64(n), int64(total)))
	case Distinct:
		set := map[string]bool{}
		for _, r := range records {
			if v := r.values[name(f.Field)]; v.Kind != message.Missing && v.Kind != message.Null {
				set[string(v.Text)] = true
			}
		}
		return refInt(len(set))
	case "first", "last":
		var best *refRecord
		for _, r := range records {
			v := r.values[name(f.Field)]
			if v.Kind == message.Missing || v.Kind == message.Null {
				continue
			}
			c := 0
			if best != nil {
				c = cmp.Or(cmp.Compare(r.time, best.time), cmp.Compare(r.sequence, best.sequence))
			}
			if best == nil || c < 0 && f.Kind == "first" || c > 0 && f.Kind == "last" {
				best = r
			}
		}
		if best == nil {
			return refValue{}
		}
		v := best.values[name(f.Field)]
		text := string(v.Text)
		return refTyped(&text, v.Kind == message.String)
	}
	var numbers []*big.Rat
	sum, squares := new(big.Rat), new(big.Rat)
	for _, r := range records {
		if x := refNumeric(r.values[name(f.Field)]); x != nil {
			numbers = append(numbers, x)
			sum.Add(sum, x)
			squares.Add(squares, new(big.Rat).Mul(x, x))
		}
	}
	if len(numbers) == 0 {
		return refValue{}
	}
	slices.SortFunc(numbers, (*big.Rat).Cmp)
	count := new(big.Rat).SetInt64(int64(len(numbers)))
	mean := new(big.Rat).Quo(sum, count)
	switch f.Kind {
	case "sum":
		if sum.IsInt() {
			return refNumber(sum)
		}
		return rounded(sum)
	case "avg":
		return rounded(mean)
	case "min":
		return refNumber(numbers[0])
	case "max":
		return refNumber(numbers[len(numbers)-1])
	case "geomean":
		if numbers[0].Sign() < 0 {
			return refValue{}
		}
		logs := new(big.Rat)
		for _, x := range numbers {
			f, _ := x.Float64()
			if f == 0 {
				return refFloat(0)
			}
			logs.Add(logs, big.NewRat(int64(math.Round(math.Log(f)*1e15)), 1e15))
		}
		f, _ := logs.Quo(logs, count).Float64()
		return refFloat(math.Exp(f))
	case "stddev":
		variance := squares.Quo(squares, count)
		variance.Sub(variance, mean.Mul(mean, mean))
		x := new(big.Float).SetPrec(4000).SetRat(variance)
		d, _ := x.Sqrt(x).Float64()
		return refFloat(d)
	}
	rank := new(big.Rat).Mul(new(big.Rat).SetFrac(new(big.Int).SetUint64(f.Q.Num), new(big.Int).SetUint64(f.Q.Den)), count)
	ceil := new(big.Int).Add(rank.Num(), new(big.Int).Sub(rank.Denom(), big.NewInt(1)))
	return refNumber(numbers[max(ceil.Quo(ceil, rank.Denom()).Int64(), 1)-1])
}

// refTyped is the typed value of a key.
func refTyped(text *string, isString bool) refValue {
	if text == nil {
		return refValue{}
	}
	if !isString {
		if *text == "true" || *text == "false" {
			return refValue{kind: Bool, text: *text}
		}
		if x := refNumeric(message.Value{Kind: message.Number, Text: []byte(*text)}); x != nil && plain(x) == *text {
			return refNumber(x)
		}
	}
	return refValue{kind: Text, text: *text}
}
