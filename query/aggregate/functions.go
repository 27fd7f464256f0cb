package aggregate

import (
	"encoding/binary"
	"slices"
)

// functionType describes a function.
type functionType struct {
	kind Kind
	// numeric is set for a function of the numbers of a field.
	numeric bool
	// stat is what the function is computed from; nil if the number of records suffices.
	stat statType
	// value computes it.
	value func(*outcome) Value
}

// functionTypes returns the functions in the order of suggestions. A new function is a line here, and its stat, unless one of the others
// suffices.
func functionTypes() []functionType {
	return []functionType{
		{kind: Count, value: countOf},
		{kind: Ratio, value: func(in *outcome) Value { return floatValue(quotient(binary.LittleEndian.Uint64(in.b), in.records)) }},
		{kind: Rate, value: func(in *outcome) Value { return floatValue(perSecond(in.records, in.nanoseconds)) }},
		{kind: Share, value: func(in *outcome) Value { return floatValue(quotient(in.records, in.all)) }},
		{kind: "sum", numeric: true, stat: sums{}, value: totalOf},
		{kind: "avg", numeric: true, stat: sums{}, value: meanOf},
		{kind: "min", numeric: true, stat: extreme{}, value: extremeOf},
		{kind: "max", numeric: true, stat: extreme{greatest: true}, value: extremeOf},
		{kind: "stddev", numeric: true, stat: sums{squares: true}, value: deviationOf},
		{kind: "geomean", numeric: true, stat: logarithms{}, value: geometricMeanOf},
		{kind: Quantile, numeric: true, stat: values{}, value: quantileOf},
		{kind: Distinct, stat: distinct{}, value: distinctOf},
		{kind: "first", stat: edge{}, value: edgeOf},
		{kind: "last", stat: edge{last: true}, value: edgeOf},
	}
}

// typeOf returns the function of a kind.
func typeOf(kind Kind) (f functionType, ok bool) {
	all := functionTypes()
	i := slices.IndexFunc(all, func(f functionType) bool { return f.kind == kind })
	if i < 0 {
		return f, false
	}
	return all[i], true
}

// functionNames returns the names of all functions, for suggestions.
func functionNames() (names []string) {
	for _, f := range functionTypes() {
		if f.kind == Quantile {
			names = append(names, "p50", "p90", "p95", "p99")
		}
		names = append(names, string(f.kind))
	}
	return names
}

func countOf(in *outcome) Value {
	if in.b != nil {
		return integerValue(binary.LittleEndian.Uint64(in.b))
	}
	return integerValue(in.records)
}
