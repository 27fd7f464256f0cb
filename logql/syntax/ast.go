// Package syntax parses LogQL, the query language of Grafana Loki, into a tree, and prints it.
//
// The language is documented at https://grafana.com/docs/loki/latest/query/. Packages pipeline (log stages) and engine
// (metric queries) evaluate the tree. For a construct of Loki that is not supported, the error names the construct.
package syntax

import (
	"fmt"
	"regexp"
	"time"

	"logstow/message/pattern"
)

// Expr is a query: a [*LogExpr] or a [SampleExpr]. String is its canonical form on one line, which
// parses to an equal tree.
type Expr interface {
	fmt.Stringer
	expr()
}

// SampleExpr is a query whose result is numbers.
type SampleExpr interface {
	Expr
	sample()
}

// LogExpr is a stream selector with a pipeline: {service_name="web"} |= "error" | json.
type LogExpr struct {
	Matchers []*Matcher
	Stages   []Stage
}

// MatchOp is the operator of a [Matcher].
type MatchOp uint8

// The operators of matchers.
const (
	MatchEqual     MatchOp = iota // =
	MatchNotEqual                 // !=
	MatchRegexp                   // =~
	MatchNotRegexp                // !~
)

// Matcher is a condition on a label. A missing label has the value "".
type Matcher struct {
	Name  string
	Op    MatchOp
	Value string
	// Regexp is Value compiled, anchored at both ends, for the operators of regular expressions.
	Regexp *regexp.Regexp
}

// Stage is a step of a pipeline: one of the types below it.
type Stage interface {
	fmt.Stringer
	stage()
}

// LineOp is the operator of a [LineFilter].
type LineOp uint8

// The operators of line filters.
const (
	LineContains   LineOp = iota // |=
	LineNotContain               // !=
	LineRegexp                   // |~
	LineNotRegexp                // !~
	LinePattern                  // |>
	LineNotPattern               // !>
)

// LineFilter keeps the lines that contain at least one of the texts, or for the negated operators, none of them: |= "a" or
// "b". An IP filter, |= ip("10.0.0.0/8"), is a text with IP set.
type LineFilter struct {
	Op    LineOp
	Texts []LineText
}

// LineText is an alternative of a [LineFilter].
type LineText struct {
	Text string
	// IP is set for ip("…"): an address, a range a-b or a CIDR. |~ and !~ have it too, with the meaning of |= and !=.
	IP bool
	// Regexp is Text compiled, not anchored, with a dot that matches newlines too, for the operators of regular expressions.
	Regexp *regexp.Regexp
	// Parts are the parts of Text for the pattern operators: literals and the capture "_", alternating.
	Parts []pattern.Part
}

// JSONParser is | json, or | json a="b.c[0]", x.
type JSONParser struct{ Extractions []Extraction }

// LogfmtParser is | logfmt [--strict] [--keep-empty] [a="b", x].
type LogfmtParser struct {
	Strict, KeepEmpty bool
	Extractions       []Extraction
}

// Extraction is a label and the expression that extracts it; for a name alone, both are the same.
type Extraction struct {
	Label, Expr string
	// Path is Expr parsed, for a [JSONParser].
	Path []PathStep
}

// PathStep goes from a JSON value into an object, or into an array if Index is not -1.
type PathStep struct {
	Key   string
	Index int
}

// RegexpParser is | regexp "(?P<name>…)": at least one group is named, all names are label names and different.
type RegexpParser struct {
	Expr   string
	Regexp *regexp.Regexp
}

// PatternParser is | pattern "<a> <_> [<b>]". Parts are its literals and captures in turn.
type PatternParser struct {
	Expr  string
	Parts []pattern.Part
}

// UnpackParser is | unpack.
type UnpackParser struct{}

// Decolorize is | decolorize.
type Decolorize struct{}

// LineFormat is | line_format "{{.a}}". The template is checked by package pipeline.
type LineFormat struct{ Template string }

// LabelFormat is | label_format a=b, c="{{.d}}".
type LabelFormat struct{ Items []LabelFormatItem }

// LabelFormatItem sets Label to a template, or to the label Rename, which is removed, if that is not empty.
type LabelFormatItem struct{ Label, Rename, Template string }

// DropLabels is | drop a, b="c".
type DropLabels struct{ Items []LabelItem }

// KeepLabels is | keep a, b="c".
type KeepLabels struct{ Items []LabelItem }

// LabelItem is a label, with a condition on its value unless Matcher is nil.
type LabelItem struct {
	Name    string
	Matcher *Matcher
}

// LabelFilter is a stage that keeps records by a condition on labels.
type LabelFilter struct{ Condition Condition }

// Condition is a condition on labels: one of the types below it.
type Condition interface {
	fmt.Stringer
	condition()
}

// Junction is two conditions that both have to hold, or of which at least one has to if Or is set. A comma is and.
type Junction struct {
	Or          bool
	Left, Right Condition
}

// Leaves returns the comparisons of a condition, which are no Junction.
func Leaves(c Condition) []Condition {
	if x, ok := c.(*Junction); ok {
		return append(Leaves(x.Left), Leaves(x.Right)...)
	}
	return []Condition{c}
}

// Required returns the conditions of which a condition needs all: none of them is a Junction without Or.
func Required(c Condition) []Condition {
	if x, ok := c.(*Junction); ok && !x.Or {
		return append(Required(x.Left), Required(x.Right)...)
	}
	return []Condition{c}
}

// LabelOf returns the label that a comparison is about.
func LabelOf(leaf Condition) string {
	switch x := leaf.(type) {
	case *StringCondition:
		return x.Matcher.Name
	case *NumberCondition:
		return x.Name
	case *IPCondition:
		return x.Name
	}
	return ""
}

// StringCondition compares a label as a text.
type StringCondition struct{ Matcher *Matcher }

// Unit is the kind of quantity of a [NumberCondition] or an [Unwrap].
type Unit uint8

// The kinds of quantities.
const (
	UnitNone     Unit = iota // a float
	UnitDuration             // 250ms; Value is in seconds
	UnitBytes                // 20MB; Value is in bytes
)

// NumberCondition compares a label as a number: status >= 500, took > 250ms, size < 20MB.
type NumberCondition struct {
	Name  string
	Op    BinaryOp // a comparison
	Unit  Unit
	Value float64
	Text  string // the quantity as written
}

// IPCondition is addr = ip("10.0.0.0/8"), or != if Not is set. Range is the text in quotes.
type IPCondition struct {
	Name  string
	Not   bool
	Range string
}

// Unwrap is | unwrap x: samples are made from label x, as | unwrap duration(x) or bytes(x) from a quantity. Filters are the label filters
// after it, such as | __error__="".
type Unwrap struct {
	Label   string
	Unit    Unit
	Filters []*LabelFilter
}

// LogRange is a log query over a range: {…} | json | unwrap x [5m] offset 1h.
type LogRange struct {
	Log    *LogExpr
	Unwrap *Unwrap // nil if samples are made of lines
	Range  time.Duration
	Offset time.Duration // positive is the past
}

// RangeOp is the name of a [RangeAggregation], such as "rate".
type RangeOp string

// The range aggregations, first those of lines, then those of unwrapped samples. Rate and AbsentOver accept both.
const (
	Rate       RangeOp = "rate"
	CountOver  RangeOp = "count_over_time"
	BytesRate  RangeOp = "bytes_rate"
	BytesOver  RangeOp = "bytes_over_time"
	AbsentOver RangeOp = "absent_over_time"

	RateCounter  RangeOp = "rate_counter"
	SumOver      RangeOp = "sum_over_time"
	AvgOver      RangeOp = "avg_over_time"
	MaxOver      RangeOp = "max_over_time"
	MinOver      RangeOp = "min_over_time"
	FirstOver    RangeOp = "first_over_time"
	LastOver     RangeOp = "last_over_time"
	StdvarOver   RangeOp = "stdvar_over_time"
	StddevOver   RangeOp = "stddev_over_time"
	QuantileOver RangeOp = "quantile_over_time"
)

// Grouping is by (a, b) or without (a, b). by () is a Grouping without labels.
type Grouping struct {
	Without bool
	Labels  []string
}

// RangeAggregation is a function of the samples of each window.
type RangeAggregation struct {
	Op RangeOp
	// Param is the quantile of [QuantileOver], otherwise 0.
	Param float64
	Range *LogRange
	// Grouping is nil if there is none. Only functions of unwrapped samples that Loki documents with a grouping have one.
	Grouping *Grouping
}

// VectorOp is the name of a [VectorAggregation], such as "sum".
type VectorOp string

// The vector aggregations.
const (
	Sum      VectorOp = "sum"
	Avg      VectorOp = "avg"
	Max      VectorOp = "max"
	Min      VectorOp = "min"
	Count    VectorOp = "count"
	Stddev   VectorOp = "stddev"
	Stdvar   VectorOp = "stdvar"
	TopK     VectorOp = "topk"
	BottomK  VectorOp = "bottomk"
	Sort     VectorOp = "sort"
	SortDesc VectorOp = "sort_desc"
	// ApproxTopK is Loki's approximation of topk, here the exact result.
	ApproxTopK VectorOp = "approx_topk"
)

// selects reports whether an aggregation selects a number of series: topk, bottomk and approx_topk.
func (op VectorOp) selects() bool { return op == TopK || op == BottomK || op == ApproxTopK }

// VectorAggregation is a function of the series of a vector.
type VectorAggregation struct {
	Op       VectorOp
	Param    int // k of those that select series, otherwise 0
	Inner    SampleExpr
	Grouping *Grouping // nil if there is none
}

// BinaryOp is the operator of a [Binary], such as "+" or "unless".
type BinaryOp string

// The binary operators.
const (
	OpOr           BinaryOp = "or"
	OpAnd          BinaryOp = "and"
	OpUnless       BinaryOp = "unless"
	OpEqual        BinaryOp = "=="
	OpNotEqual     BinaryOp = "!="
	OpGreater      BinaryOp = ">"
	OpGreaterEqual BinaryOp = ">="
	OpLess         BinaryOp = "<"
	OpLessEqual    BinaryOp = "<="
	OpAdd          BinaryOp = "+"
	OpSub          BinaryOp = "-"
	OpMul          BinaryOp = "*"
	OpDiv          BinaryOp = "/"
	OpMod          BinaryOp = "%"
	OpPow          BinaryOp = "^"
)

// Binary is two operands with an operator. Operations on two literals are folded by the parser, as Loki's does.
type Binary struct {
	Op          BinaryOp
	Left, Right SampleExpr
	// Bool is set for a comparison with bool: 0 and 1 instead of a filter.
	Bool bool
	// Matching is nil if there is no on or ignoring.
	Matching *Matching
}

// Matching is on (…) or ignoring (…), with group_left (…) or group_right (…).
type Matching struct {
	On     bool // otherwise ignoring
	Labels []string
	// GroupLeft and GroupRight: many on that side; Include are the labels in their parentheses.
	GroupLeft, GroupRight bool
	Include               []string
}

// Literal is a number.
type Literal struct{ Value float64 }

// Vector is vector(n): a vector of one sample without labels.
type Vector struct{ Value float64 }

// LabelReplace is label_replace(v, "dst", "replacement", "src", "regexp"). Regexp is anchored at both ends.
type LabelReplace struct {
	Inner                 SampleExpr
	Dst, Replacement, Src string
	Expr                  string
	Regexp                *regexp.Regexp
}

func (*LogExpr) expr()           {}
func (*RangeAggregation) expr()  {}
func (*VectorAggregation) expr() {}
func (*Binary) expr()            {}
func (*Literal) expr()           {}
func (*Vector) expr()            {}
func (*LabelReplace) expr()      {}

func (*RangeAggregation) sample()  {}
func (*VectorAggregation) sample() {}
func (*Binary) sample()            {}
func (*Literal) sample()           {}
func (*Vector) sample()            {}
func (*LabelReplace) sample()      {}

func (*LineFilter) stage()    {}
func (*LabelFilter) stage()   {}
func (*JSONParser) stage()    {}
func (*LogfmtParser) stage()  {}
func (*RegexpParser) stage()  {}
func (*PatternParser) stage() {}
func (*UnpackParser) stage()  {}
func (*Decolorize) stage()    {}
func (*LineFormat) stage()    {}
func (*LabelFormat) stage()   {}
func (*DropLabels) stage()    {}
func (*KeepLabels) stage()    {}

func (*Junction) condition()        {}
func (*StringCondition) condition() {}
func (*NumberCondition) condition() {}
func (*IPCondition) condition()     {}
