package syntax

import (
	"math"
	"strings"
	"time"
)

// sampleExpr takes an operand that has to be a metric query.
func (p *parser) sampleExpr(where string) SampleExpr {
	at := p.peek()
	e := p.expr(0)
	s, ok := e.(SampleExpr)
	if !ok {
		p.fail(at, "%s needs a metric query, such as count_over_time({…}[5m]), not a log query", where)
	}
	return s
}

// operand takes an expression without operators outside of parentheses.
func (p *parser) operand() Expr {
	t := p.peek()
	switch {
	case t.is("{"):
		return p.logExpr()
	case t.is("("):
		p.take()
		e := p.expr(0)
		p.expect(")", "after an expression")
		if next := p.peek(); isLog(e) && startsStage(next) {
			p.fail(next, "no stage is allowed after a log query in parentheses")
		}
		return e
	case t.is("-"), t.is("+"), t.kind == tokenNumber:
		return &Literal{p.number()}
	case t.kind == tokenName:
		return p.function()
	}
	p.unexpected("a selector such as {service_name=\"web\"}, a function or a number")
	return nil
}

func isLog(e Expr) bool {
	_, ok := e.(*LogExpr)
	return ok
}

func startsStage(t token) bool {
	_, ok := lineOp(t)
	return ok || t.is("|")
}

// number takes a number with a sign.
func (p *parser) number() float64 {
	sign := 1.0
	if p.accept("-") {
		sign = -1
	} else {
		p.accept("+")
	}
	if p.peek().kind != tokenNumber {
		p.unexpected("a number")
	}
	return sign * p.take().value
}

// function takes an aggregation, label_replace or vector.
func (p *parser) function() Expr {
	t := p.peek()
	if op, ok := rangeOp(t.text); ok {
		return p.rangeAggregation(op)
	}
	switch op, ok := vectorOp(t.text); {
	case ok:
		return p.vectorAggregation(op)
	case isWord(t, "label_replace"):
		return p.labelReplace()
	case isWord(t, "vector"):
		p.take()
		p.expect("(", "after vector")
		if sign := p.peek(); sign.is("-") || sign.is("+") {
			p.fail(sign, "the number of vector cannot have a sign")
		}
		v := &Vector{p.number()}
		p.expect(")", "after the number")
		return v
	}
	switch name := strings.ToLower(t.text); {
	case isUnsupported(name):
		p.fail(t, "%s is not supported", name)
	case name == "nan" || name == "inf":
		p.fail(t, "LogQL has no literal %s: write 0 / 0 for not a number, 1 / 0 for infinity", t.text)
	case isKeyword(name) || isOperatorWord(name):
		p.unexpected("a selector, a function or a number")
	case p.following().is("("):
		p.fail(t, "unknown function %s", t.text)
	default:
		p.fail(t, "unexpected %q: a query begins with a selector such as {service_name=\"web\"}, a function or a number", t.text)
	}
	return nil
}

func isOperatorWord(name string) bool {
	switch name {
	case "and", "or", "unless", "by", "without":
		return true
	}
	return false
}

// isUnsupported reports whether Loki or Prometheus has a function that this package lacks.
func isUnsupported(name string) bool {
	switch name {
	case "count_values", "variants", "quantile", "group", "limitk", "limit_ratio",
		"label_join", "absent", "scalar", "time", "timestamp", "histogram_quantile",
		"increase", "delta", "deriv", "irate", "idelta", "changes", "resets", "present_over_time", "mad_over_time",
		"abs", "ceil", "floor", "round", "clamp", "clamp_min", "clamp_max", "exp", "ln", "log2", "log10", "sqrt", "sgn", "sort_by_label":
		return true
	}
	return strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}

func rangeOp(name string) (RangeOp, bool) {
	switch op := RangeOp(strings.ToLower(name)); op {
	case Rate, CountOver, BytesRate, BytesOver, AbsentOver, RateCounter, SumOver, AvgOver, MaxOver, MinOver,
		FirstOver, LastOver, StdvarOver, StddevOver, QuantileOver:
		return op, true
	}
	return "", false
}

// takesUnwrap reports whether a range aggregation accepts unwrapped samples, takesLines whether it accepts lines.
func (op RangeOp) takesUnwrap() bool {
	return op != CountOver && op != BytesRate && op != BytesOver
}

func (op RangeOp) takesLines() bool {
	switch op {
	case Rate, CountOver, BytesRate, BytesOver, AbsentOver:
		return true
	}
	return false
}

// takesGrouping reports whether a range aggregation can have by or without.
func (op RangeOp) takesGrouping() bool {
	switch op {
	case AvgOver, MaxOver, MinOver, FirstOver, LastOver, StdvarOver, StddevOver, QuantileOver:
		return true
	}
	return false
}

func (p *parser) rangeAggregation(op RangeOp) Expr {
	at := p.take()
	a := &RangeAggregation{Op: op}
	p.expect("(", "after "+string(op))
	first := p.peek()
	if first.is("-") || first.is("+") {
		p.fail(first, "the parameter of %s cannot have a sign", op)
	}
	switch {
	case first.kind == tokenNumber && op != QuantileOver && p.following().is(","):
		p.fail(first, "%s has no parameter", op)
	case first.kind == tokenNumber && op == QuantileOver:
		a.Param = p.take().value
		p.expect(",", "after the quantile")
	case op == QuantileOver:
		p.fail(first, "quantile_over_time needs a quantile as its first parameter: quantile_over_time(0.95, …)")
	}
	a.Range = p.logRange(op)
	p.expect(")", "after the range")
	switch {
	case p.err != nil:
		return a
	case a.Range.Unwrap != nil && !op.takesUnwrap():
		p.fail(at, "invalid aggregation %s with unwrap", op)
	case a.Range.Unwrap == nil && !op.takesLines():
		p.fail(at, "invalid aggregation %s without unwrap", op)
	}
	if g := p.peek(); isGrouping(g) {
		if !op.takesGrouping() {
			p.fail(g, "grouping is not allowed for %s: group outside it, as in sum by (…) (%s(…))", op, op)
		}
		a.Grouping = p.grouping()
	}
	return a
}

func isGrouping(t token) bool { return isWord(t, "by") || isWord(t, "without") }

func (p *parser) grouping() *Grouping {
	t := p.take()
	return &Grouping{Without: isWord(t, "without"), Labels: p.labels(false)}
}

// logRange takes a log query with its range.
func (p *parser) logRange(op RangeOp) *LogRange {
	r, ranged := p.logRangeOrQuery()
	if !ranged {
		p.fail(p.peek(), "range of %s is missing, such as [5m]", op)
	}
	return r
}

// logRangeOrQuery takes a log query that may be in parentheses, and reports whether there was a range.
func (p *parser) logRangeOrQuery() (r *LogRange, ranged bool) {
	p.enter()
	defer p.leave()
	if !p.accept("(") {
		return p.plainRange()
	}
	nested := p.peek().is("(")
	r, ranged = p.logRangeOrQuery()
	if nested && !ranged {
		p.unexpected("a range, such as [5m]")
	}
	p.expect(")", "after a log query")
	if ranged || !p.peek().is("[") {
		return r, ranged
	}
	p.rangeAndOffset(r)
	if len(r.Log.Stages) == 0 && r.Unwrap == nil && startsStage(p.peek()) {
		at := p.peek()
		r.Log.Stages, r.Unwrap, _ = p.pipeline()
		if len(r.Log.Stages) > 0 {
			p.fail(at, "no stage is allowed after a selector in parentheses")
		}
	}
	return r, true
}

// plainRange parses a selector with its pipeline, and the range before or after the pipeline.
func (p *parser) plainRange() (r *LogRange, ranged bool) {
	at := p.peek()
	if !at.is("{") {
		p.notARange(at)
		return &LogRange{Log: &LogExpr{}}, false
	}
	r = &LogRange{Log: &LogExpr{Matchers: p.querySelector()}}
	before := p.peek().is("[")
	if before {
		p.rangeAndOffset(r)
	}
	r.Log.Stages, r.Unwrap, _ = p.pipeline()
	if before {
		return r, true
	}
	if !p.peek().is("[") {
		return r, false
	}
	p.rangeAndOffset(r)
	if t := p.peek(); startsStage(t) {
		p.fail(t, "no stage is allowed after the range: the range ends a pipeline or precedes all stages")
	}
	return r, true
}

func (p *parser) notARange(at token) {
	_, isRange := rangeOp(at.text)
	_, isVector := vectorOp(at.text)
	if at.kind == tokenNumber || at.kind == tokenName && (isRange || isVector || isKeyword(at.text)) {
		p.fail(at, "a range aggregation needs a log query with a range, such as {service_name=\"web\"}[5m], not a metric query")
	}
	p.unexpected("a log query with a range, such as {service_name=\"web\"}[5m]")
}

func (p *parser) rangeAndOffset(r *LogRange) {
	p.take()
	r.Range = p.duration("a duration, such as 5m")
	if colon := p.peek(); colon.is(":") {
		p.fail(colon, "subqueries are not supported")
	}
	p.expect("]", "after the range")
	if at := p.peek(); at.is("@") {
		p.fail(at, "the modifier @ is not supported")
	}
	if !p.acceptWord("offset") {
		return
	}
	minus := p.peek()
	negative := p.accept("-")
	if negative && minus.end != p.peek().start {
		p.unexpected("a duration right after -")
	}
	r.Offset = p.duration("a duration, such as 1h")
	if negative {
		r.Offset = -r.Offset
	}
}

func (p *parser) duration(what string) time.Duration {
	t := p.peek()
	switch t.kind {
	case tokenDuration:
	case tokenNumber:
		p.fail(t, "duration %s has no unit: write %sm for minutes", t.text, t.text)
	default:
		p.unexpected(what)
	}
	d, err := parseDuration(p.take().text)
	if err != nil {
		return 0
	}
	return d
}

func vectorOp(name string) (VectorOp, bool) {
	switch op := VectorOp(strings.ToLower(name)); op {
	case Sum, Avg, Max, Min, Count, Stddev, Stdvar, TopK, BottomK, Sort, SortDesc, ApproxTopK:
		return op, true
	}
	return "", false
}

func (p *parser) vectorAggregation(op VectorOp) Expr {
	p.take()
	a := &VectorAggregation{Op: op}
	at := p.peek()
	if isGrouping(at) {
		a.Grouping = p.grouping()
	}
	p.expect("(", "after "+string(op))
	p.vectorParam(a)
	a.Inner = p.sampleExpr(string(op))
	p.expect(")", "after the expression")
	if t := p.peek(); isGrouping(t) {
		if a.Grouping != nil {
			p.fail(t, "%s has two groupings", op)
		}
		at, a.Grouping = t, p.grouping()
	}
	if a.Grouping != nil && (op == Sort || op == SortDesc || op == ApproxTopK) {
		p.fail(at, "grouping is not allowed for %s", op)
	}
	return a
}

// vectorParam takes the k of aggregations that select series.
func (p *parser) vectorParam(a *VectorAggregation) {
	t := p.peek()
	number := t.kind == tokenNumber && p.following().is(",")
	switch takes := a.Op.selects(); {
	case takes && !number && (t.is("-") || t.is("+")):
		p.fail(t, "the parameter of %s cannot have a sign", a.Op)
	case takes && !number:
		p.fail(t, "%s needs the number of series as its first parameter: %s(5, …)", a.Op, a.Op)
	case !takes && number:
		p.fail(t, "%s has no parameter", a.Op)
	case takes && (t.value < 1 || t.value > math.MaxInt32 || t.value != math.Trunc(t.value)):
		p.fail(t, "the parameter of %s has to be a positive whole number, not %s", a.Op, t.text)
	case takes:
		a.Param = int(t.value)
		p.take()
		p.take()
	}
}

func (p *parser) labelReplace() Expr {
	p.take()
	p.expect("(", "after label_replace")
	r := &LabelReplace{Inner: p.sampleExpr("label_replace")}
	var args [4]token
	for i, what := range [...]string{"destination label", "replacement", "source label", "regular expression"} {
		p.expect(",", "and "+what)
		args[i] = p.stringOf(what)
	}
	p.expect(")", "after label_replace")
	if dst := args[0]; !isLabelName(dst.text) {
		p.fail(dst, "%q is not a label name", dst.text)
	}
	r.Dst, r.Replacement, r.Src, r.Expr = args[0].text, args[1].text, args[2].text, args[3].text
	if p.err == nil {
		r.Regexp = p.anchored(args[3])
	}
	return r
}
