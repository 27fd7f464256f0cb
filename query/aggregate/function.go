package aggregate

import (
	"slices"
	"strings"

	"logstow/field"
)

// Kind is what a function computes.
type Kind uint8

// The functions.
const (
	// Count is the number of records, or of those for which Expr is true.
	Count Kind = iota
	// Ratio is the fraction of the records for which Expr is true, 0 to 1.
	Ratio
	// Rate is the number of records per second.
	Rate
	// Share is the number of a group's records as a fraction of all records, 0 to 1.
	Share
	// Sum, Avg, Min, Max and Deviation are computed from the numbers of a field; Deviation is the standard deviation of a
	// population.
	Sum
	Avg
	Min
	Max
	Deviation
	// Quantile is a number of a field by nearest rank: sorted number ceil(q·n), the minimum at 0.
	Quantile
	// Distinct is the number of distinct values of a field.
	Distinct
	// First and Last are a field's values in the first and last record that has one.
	First
	Last
)

// Function is an item of --compute.
type Function struct {
	// Header is the name after "as", or the item as typed.
	Header string
	Kind   Kind
	// Expr is the text of the condition of Count (may be empty) and Ratio, ExprAt the position of its first character in
	// the flag's value, from 1.
	Expr   string
	ExprAt int
	// Field is the field of a function of a field.
	Field field.Name
	// Q is the quantile, 0 to 1, as a fraction.
	Q     Fraction
	typed string // the item without its name
}

// Fraction is a number from 0 to 1: Num / Den.
type Fraction struct{ Num, Den uint64 }

// functionNames returns the names of all functions, for suggestions.
func functionNames() []string {
	return []string{"count", "ratio", "rate", "share", "sum", "avg", "min", "max", "stddev", "p50", "p90", "p95", "p99", "quantile", "distinct", "first", "last"}
}

// ofField returns the function of a field with a name.
func ofField(name string) (Kind, bool) {
	switch name {
	case "sum":
		return Sum, true
	case "avg":
		return Avg, true
	case "min":
		return Min, true
	case "max":
		return Max, true
	case "stddev":
		return Deviation, true
	case "distinct":
		return Distinct, true
	case "first":
		return First, true
	case "last":
		return Last, true
	}
	return 0, false
}

// ParseCompute parses the values of --compute, each a list of functions separated by commas:
//
//	count  count(EXPR)  ratio(EXPR)  rate  share
//	sum(F)  avg(F)  min(F)  max(F)  stddev(F)  pNN(F)  quantile(Q, F)  distinct(F)  first(F)  last(F)
//
// each with an optional " as NAME". Headers are unique. Errors name the position, and may carry a hint.
func ParseCompute(lists []string) ([]Function, error) {
	var functions []Function
	err := parseLists("compute", lists, func(i item) error {
		f, err := i.function()
		if err == nil && slices.ContainsFunc(functions, func(o Function) bool { return o.Header == f.Header }) {
			err = i.Errorf(0, "%q occurs twice", f.Header)
		}
		functions = append(functions, f)
		return err
	})
	return functions, err
}

// cutName cuts " as NAME" off.
func (i item) cutName() (rest item, header string, err error) {
	as := -1
	if err := i.Walk(func(at int) {
		if strings.HasPrefix(i.Text[at:], " as ") {
			as = at
		}
	}); err != nil {
		return i, "", err
	}
	if as < 0 {
		return i, i.Text, nil
	}
	name := i.slice(as+len(" as "), len(i.Text))
	header = name.Text
	if unquoted, ok := unquote(header); ok {
		header = unquoted
	} else if bad := strings.IndexAny(header, " \t\n,()[]{}\"'`"); bad >= 0 {
		return i, "", name.Errorf(bad, "unexpected %c in a name; put it in quotes", header[bad])
	}
	if header == "" {
		return i, "", name.Errorf(0, "missing name")
	}
	return i.slice(0, as), header, nil
}

func (i item) function() (Function, error) {
	i, header, err := i.cutName()
	if err != nil {
		return Function{}, err
	}
	f := Function{Header: header, typed: i.Text}
	name, arguments, call, err := i.cutCall()
	if err != nil {
		return Function{}, err
	}
	if kind, ok := ofField(name); ok {
		f.Kind = kind
		if !call {
			return Function{}, i.Errorf(len(name), "%s requires a field: %s(FIELD)", name, name)
		}
		f.Field, err = arguments.field()
		return f, err
	}
	switch name {
	case "count", "ratio":
		if name == "ratio" {
			f.Kind = Ratio
		}
		f.Expr = arguments.Text
		if !call {
			f.Expr = ""
		}
		if f.Expr == "" && (call || f.Kind == Ratio) {
			return Function{}, i.Errorf(len(name), "%s requires a condition: %s(EXPR)", name, name)
		}
		f.ExprAt = arguments.Character(0)
		return f, nil
	case "rate", "share":
		f.Kind = Rate
		if name == "share" {
			f.Kind = Share
		}
		if call {
			return Function{}, i.Errorf(len(name), "%s has no argument", name)
		}
		return f, nil
	}
	return i.quantile(f, name, arguments, call)
}

// quantile reads pNN(F) and quantile(Q, F), and rejects other names.
func (i item) quantile(f Function, name string, arguments item, call bool) (Function, error) {
	f.Kind = Quantile
	var err error
	switch percent := strings.TrimPrefix(name, "p"); {
	case name == "quantile":
		parts, err := arguments.split()
		if err != nil {
			return f, err
		}
		if !call || len(parts) != 2 {
			return f, i.Errorf(len(name), "quantile requires a number from 0 to 1 and a field: quantile(0.99, FIELD)")
		}
		var ok bool
		if f.Q, ok = parseFraction(parts[0].Text, 1); !ok {
			return f, parts[0].Errorf(0, "%q is not a number from 0 to 1 with at most %d decimal places", parts[0].Text, maxPlaces)
		}
		f.Field, err = parts[1].field()
		return f, err
	case percent != name && percent != "" && strings.Trim(percent, "0123456789.") == "":
		var ok bool
		if f.Q, ok = parseFraction(percent, 100); !ok {
			return f, i.Errorf(0, "%s is not a percentile from p0 to p100", name)
		}
		if !call {
			return f, i.Errorf(len(name), "%s requires a field: %s(FIELD)", name, name)
		}
		f.Field, err = arguments.field()
		return f, err
	}
	return f, i.unknown("function", name, functionNames())
}

// maxPlaces is the maximum number of decimal places of a quantile.
const maxPlaces = 9

// parseFraction reads a decimal number from 0 to whole, which is 1 or 100.
func parseFraction(text string, whole uint64) (f Fraction, ok bool) {
	f.Den = whole
	integer, places, point := strings.Cut(text, ".")
	if integer+places == "" || point && places == "" || len(places) > maxPlaces || len(integer) > 3 {
		return f, false
	}
	for _, c := range integer + places {
		if c < '0' || c > '9' {
			return f, false
		}
		f.Num = 10*f.Num + uint64(c-'0')
	}
	for range len(places) {
		f.Den *= 10
	}
	return f, f.Num <= f.Den
}
