package logql_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"logstow/logql/syntax"
)

// vectorValue is the value of an expression at one time: elements, or a number.
type vectorValue struct {
	number   bool
	elements []element
}

func (e *evaluator) at(expr syntax.SampleExpr, at int64, outer map[string]bool) (vectorValue, error) {
	switch x := expr.(type) {
	case *syntax.Literal:
		return vectorValue{true, []element{{map[string]string{}, x.Value}}}, nil
	case *syntax.Vector:
		return vectorValue{false, []element{{map[string]string{}, x.Value}}}, nil
	case *syntax.RangeAggregation:
		all, err := e.aggregateRange(x, at, outer)
		return vectorValue{false, all}, err
	case *syntax.VectorAggregation:
		if x.Grouping != nil {
			outer = maps.Clone(outer)
			for _, name := range x.Grouping.Labels {
				outer[name] = true
			}
		}
		if ranged, ok := isSum(x); ok {
			e.sums[ranged] = x
		}
		inner, err := e.at(x.Inner, at, outer)
		if err != nil {
			return vectorValue{}, err
		}
		return vectorValue{false, aggregateVector(x, inner.elements)}, nil
	case *syntax.LabelReplace:
		inner, err := e.at(x.Inner, at, outer)
		if err != nil {
			return vectorValue{}, err
		}
		return vectorValue{false, replaceLabels(x, inner.elements)}, nil
	case *syntax.Binary:
		left, err := e.at(x.Left, at, outer)
		if err != nil {
			return vectorValue{}, err
		}
		right, err := e.at(x.Right, at, outer)
		if err != nil {
			return vectorValue{}, err
		}
		return binary(x, left, right)
	}
	panic(fmt.Sprintf("unknown expression %T", expr))
}

func replaceLabels(x *syntax.LabelReplace, elements []element) (result []element) {
	re := compiled("^(?:" + x.Expr + ")$")
	for _, el := range elements {
		labels := maps.Clone(el.labels)
		source := labels[x.Src]
		if m := re.FindStringSubmatchIndex(source); m != nil {
			labels[x.Dst] = string(re.ExpandString(nil, x.Replacement, source, m))
			if labels[x.Dst] == "" {
				delete(labels, x.Dst)
			}
		}
		result = append(result, element{labels, el.value})
	}
	return result
}

// byValue orders by value, then labels; NaN is behind all numbers in either direction.
func byValue(elements []element, descending bool) []element {
	sorted := slices.Clone(elements)
	slices.SortFunc(sorted, func(a, b element) int {
		switch {
		case math.IsNaN(a.value) != math.IsNaN(b.value):
			if math.IsNaN(a.value) {
				return 1
			}
			return -1
		case a.value == b.value || math.IsNaN(a.value):
			return cmp.Compare(key(a.labels), key(b.labels))
		case descending:
			return cmp.Compare(b.value, a.value)
		}
		return cmp.Compare(a.value, b.value)
	})
	return sorted
}

func aggregateVector(x *syntax.VectorAggregation, elements []element) (result []element) {
	switch x.Op {
	case syntax.Sort, syntax.SortDesc:
		return byValue(elements, x.Op == syntax.SortDesc)
	}
	groups := map[string][]element{}
	for _, el := range elements {
		group := key(grouped(el.labels, x.Grouping))
		groups[group] = append(groups[group], el)
	}
	for _, group := range groups {
		if selects(x.Op) {
			sorted := byValue(group, x.Op != syntax.BottomK)
			result = append(result, sorted[:min(max(x.Param, 0), len(sorted))]...)
			continue
		}
		values := make([]float64, len(group))
		for i, el := range group {
			values[i] = el.value
		}
		value := 0.0
		switch x.Op {
		case syntax.Sum:
			value = total(values)
		case syntax.Avg:
			value = total(values) / float64(len(values))
		case syntax.Count:
			value = float64(len(values))
		case syntax.Max:
			value = extreme(values, true)
		case syntax.Min:
			value = extreme(values, false)
		case syntax.Stdvar:
			value = variance(values)
		case syntax.Stddev:
			value = math.Sqrt(variance(values))
		default:
			panic("unknown aggregation " + string(x.Op))
		}
		result = append(result, element{grouped(group[0].labels, x.Grouping), value})
	}
	if selects(x.Op) {
		return byValue(result, x.Op != syntax.BottomK)
	}
	return result
}

func selects(op syntax.VectorOp) bool {
	return op == syntax.TopK || op == syntax.BottomK || op == syntax.ApproxTopK
}

func isComparison(op syntax.BinaryOp) bool {
	return slices.Contains([]syntax.BinaryOp{"==", "!=", ">", ">=", "<", "<="}, op)
}

// calculate is an operation on two numbers: for a comparison 0 or 1.
func calculate(op syntax.BinaryOp, a, b float64) float64 {
	truth := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "%":
		return math.Mod(a, b)
	case "^":
		return math.Pow(a, b)
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	case ">":
		return truth(a > b)
	case ">=":
		return truth(a >= b)
	case "<":
		return truth(a < b)
	case "<=":
		return truth(a <= b)
	}
	panic("unknown operator " + string(op))
}

func binary(x *syntax.Binary, left, right vectorValue) (vectorValue, error) {
	switch {
	case x.Op == syntax.OpAnd || x.Op == syntax.OpOr || x.Op == syntax.OpUnless:
		if left.number || right.number {
			return vectorValue{}, errReference
		}
		return vectorValue{false, setOperation(x, left.elements, right.elements)}, nil
	case left.number && right.number:
		value := calculate(x.Op, left.elements[0].value, right.elements[0].value)
		return vectorValue{true, []element{{map[string]string{}, value}}}, nil
	case left.number || right.number:
		var result []element
		many := left.elements
		if left.number {
			many = right.elements
		}
		for _, el := range many {
			var value float64
			if left.number {
				value = calculate(x.Op, left.elements[0].value, el.value)
			} else {
				value = calculate(x.Op, el.value, right.elements[0].value)
			}
			if isComparison(x.Op) && !x.Bool {
				if value == 0 {
					continue
				}
				value = el.value
			}
			result = append(result, element{el.labels, value})
		}
		return vectorValue{false, result}, nil
	}
	result, err := matched(x, left.elements, right.elements)
	return vectorValue{false, result}, err
}

// matchingLabels are those that elements of both sides must have in common.
func matchingLabels(m *syntax.Matching, labels map[string]string) map[string]string {
	switch {
	case m == nil:
		return labels
	case m.On:
		return keepNames(labels, m.Labels)
	default:
		return withoutNames(labels, m.Labels)
	}
}

func setOperation(x *syntax.Binary, left, right []element) (result []element) {
	in := func(el element, all []element) bool {
		return slices.ContainsFunc(all, func(other element) bool {
			return key(matchingLabels(x.Matching, el.labels)) == key(matchingLabels(x.Matching, other.labels))
		})
	}
	for _, el := range left {
		if x.Op == syntax.OpOr || in(el, right) == (x.Op == syntax.OpAnd) {
			result = append(result, el)
		}
	}
	for _, el := range right {
		if x.Op == syntax.OpOr && !in(el, left) {
			result = append(result, el)
		}
	}
	return result
}

// matched is an operation on the pairs of elements that match.
func matched(x *syntax.Binary, left, right []element) (result []element, err error) {
	many, one := left, right
	toMany := x.Matching != nil && (x.Matching.GroupLeft || x.Matching.GroupRight)
	swapped := toMany && x.Matching.GroupRight
	if swapped {
		many, one = right, left
	}
	ones := map[string]element{}
	for _, el := range one {
		k := key(matchingLabels(x.Matching, el.labels))
		if _, double := ones[k]; double {
			return nil, errReference
		}
		ones[k] = el
	}
	used := map[string]bool{}
	for _, el := range many {
		labels := matchingLabels(x.Matching, el.labels)
		k := key(labels)
		other, ok := ones[k]
		if !ok {
			continue
		}
		a, b := el.value, other.value
		if swapped {
			a, b = b, a
		}
		value := calculate(x.Op, a, b)
		if isComparison(x.Op) && !x.Bool {
			if value == 0 {
				continue
			}
			value = a
		}
		if toMany {
			labels = maps.Clone(el.labels)
			for _, name := range x.Matching.Include {
				delete(labels, name)
				if other.labels[name] != "" {
					labels[name] = other.labels[name]
				}
			}
		}
		if used[key(labels)] {
			return nil, errReference
		}
		used[key(labels)] = true
		result = append(result, element{labels, value})
	}
	return result, nil
}
