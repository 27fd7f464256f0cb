package aggregate

import (
	"slices"
	"strings"

	"logstow/internal/hint"
)

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
	f.Kind = Kind(name)
	switch f.Kind {
	case Count, Ratio:
		f.Expr = arguments.Text
		if !call {
			f.Expr = ""
		}
		if f.Expr == "" && (call || f.Kind == Ratio) {
			return Function{}, i.Errorf(len(name), "%s requires a condition: %s(EXPR)", name, name)
		}
		f.ExprAt = arguments.Character(0)
		return f, nil
	case Rate, Share:
		if call {
			return Function{}, i.Errorf(len(name), "%s has no argument", name)
		}
		return f, nil
	case Quantile:
		return i.quantile(f, name, arguments, call)
	}
	if _, known := typeOf(f.Kind); !known {
		return i.quantile(f, name, arguments, call)
	}
	if !call {
		return Function{}, i.Errorf(len(name), "%s requires a field: %s(FIELD)", name, name)
	}
	f.Field, err = arguments.field()
	return f, err
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
	if instead := otherName(name); instead != "" {
		return f, hint.Wrap(i.Errorf(0, "unknown function %q", name), "write %s", instead)
	}
	return f, i.unknown("function", name, functionNames())
}

// otherName is what a function that has another name elsewhere is here; "" if it is none.
func otherName(name string) string {
	switch strings.ToLower(name) {
	case "mean", "average":
		return "avg"
	case "median":
		return "p50"
	case "percentile":
		return "p95(FIELD), or quantile(0.95, FIELD)"
	case "stdev", "std", "stddev_pop":
		return "stddev"
	case "uniq", "unique", "count_distinct", "cardinality", "dc", "dcount":
		return "distinct"
	case "countif", "count_if":
		return "count(EXPR)"
	}
	if _, _, named := strings.Cut(name, "="); named {
		return "the name behind the function: count(status >= 500) as errors"
	}
	return ""
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
