package aggregate

import "logstow/field"

// Kind is what a function computes: its name, but "quantile" for all quantiles.
type Kind string

// The functions that callers treat in a special way; functionTypes has all.
const (
	// Count is the number of records, or of those for which Expr is true.
	Count Kind = "count"
	// Ratio is the fraction of the records for which Expr is true, 0 to 1.
	Ratio Kind = "ratio"
	// Rate is the number of records per second.
	Rate Kind = "rate"
	// Share is the number of a group's records as a fraction of all records, 0 to 1.
	Share Kind = "share"
	// Quantile is a number of a field by nearest rank: sorted number ceil(q·n), the minimum at 0.
	Quantile Kind = "quantile"
	// Distinct is the number of distinct values of a field.
	Distinct Kind = "distinct"
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
