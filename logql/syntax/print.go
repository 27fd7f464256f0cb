package syntax

import (
	"math"
	"strconv"
)

// appender is a part of a query that can append its canonical form.
type appender interface{ appendTo(dst []byte) []byte }

func text(a appender) string { return string(a.appendTo(nil)) }

func (e *LogExpr) String() string           { return text(e) }
func (a *RangeAggregation) String() string  { return text(a) }
func (a *VectorAggregation) String() string { return text(a) }
func (b *Binary) String() string            { return text(b) }
func (l *Literal) String() string           { return text(l) }
func (v *Vector) String() string            { return text(v) }
func (r *LabelReplace) String() string      { return text(r) }
func (r *LogRange) String() string          { return text(r) }
func (u *Unwrap) String() string            { return text(u) }
func (g *Grouping) String() string          { return text(g) }
func (m *Matching) String() string          { return text(m) }

func (e *LogExpr) appendTo(dst []byte) []byte {
	return appendStages(appendSelector(dst, e.Matchers), e.Stages)
}

func appendSelector(dst []byte, matchers []*Matcher) []byte {
	dst = append(dst, '{')
	for i, m := range matchers {
		dst = m.appendTo(appendComma(dst, i))
	}
	return append(dst, '}')
}

// appendComma appends a separator before element i of a list, unless it is the first.
func appendComma(dst []byte, i int) []byte {
	if i == 0 {
		return dst
	}
	return append(dst, ", "...)
}

func appendStages(dst []byte, stages []Stage) []byte {
	for _, s := range stages {
		dst = s.appendTo(append(dst, ' '))
	}
	return dst
}

// rangeFirst reports whether the range is printed before the stages. With an offset and unwrap, Grafana's editor parses no other form.
func (r *LogRange) rangeFirst() bool {
	return r.Offset != 0 && r.Unwrap != nil && len(r.Log.Stages) > 0
}

func (r *LogRange) appendTo(dst []byte) []byte {
	dst = appendSelector(dst, r.Log.Matchers)
	if r.rangeFirst() {
		dst = r.appendRange(append(dst, ' '))
	}
	dst = appendStages(dst, r.Log.Stages)
	if r.Unwrap != nil {
		dst = r.Unwrap.appendTo(append(dst, ' '))
	}
	if r.rangeFirst() {
		return dst
	}
	if len(r.Log.Stages) > 0 || r.Unwrap != nil {
		dst = append(dst, ' ')
	}
	return r.appendRange(dst)
}

func (r *LogRange) appendRange(dst []byte) []byte {
	dst = append(appendDuration(append(dst, '['), r.Range), ']')
	if r.Offset != 0 {
		dst = appendDuration(append(dst, " offset "...), r.Offset)
	}
	return dst
}

func (u *Unwrap) appendTo(dst []byte) []byte {
	dst = u.appendHead(dst)
	for _, f := range u.Filters {
		dst = f.appendTo(append(dst, ' '))
	}
	return dst
}

// appendHead appends an unwrap without its filters.
func (u *Unwrap) appendHead(dst []byte) []byte {
	dst = append(dst, "| unwrap "...)
	switch u.Conversion {
	case ConvertDuration:
		dst = append(dst, "duration("...)
	case ConvertBytes:
		dst = append(dst, "bytes("...)
	default:
		return append(dst, u.Label...)
	}
	return append(append(dst, u.Label...), ')')
}

func (a *RangeAggregation) appendTo(dst []byte) []byte {
	dst = append(append(dst, a.Op...), '(')
	if a.Op == QuantileOver {
		dst = append(appendNumber(dst, a.Param), ", "...)
	}
	dst = append(a.Range.appendTo(dst), ')')
	if a.Grouping != nil {
		dst = a.Grouping.appendTo(append(dst, ' '))
	}
	return dst
}

func (g *Grouping) appendTo(dst []byte) []byte {
	if g.Without {
		dst = append(dst, "without "...)
	} else {
		dst = append(dst, "by "...)
	}
	return appendLabels(dst, g.Labels)
}

func appendLabels(dst []byte, names []string) []byte {
	dst = append(dst, '(')
	for i, name := range names {
		dst = append(appendComma(dst, i), name...)
	}
	return append(dst, ')')
}

func (a *VectorAggregation) appendTo(dst []byte) []byte {
	return append(a.Inner.appendTo(a.appendHead(dst)), ')')
}

// appendHead appends the text before the inner expression, with its parenthesis.
func (a *VectorAggregation) appendHead(dst []byte) []byte {
	dst = append(dst, a.Op...)
	if a.Grouping != nil {
		dst = append(a.Grouping.appendTo(append(dst, ' ')), ' ')
	}
	dst = append(dst, '(')
	if a.Op.selects() {
		dst = append(strconv.AppendInt(dst, int64(a.Param), 10), ", "...)
	}
	return dst
}

func (b *Binary) appendTo(dst []byte) []byte {
	dst = b.appendOperand(dst, b.Left, false)
	dst = b.appendOp(append(dst, ' '))
	return b.appendOperand(append(dst, ' '), b.Right, true)
}

// appendOp appends the operator with its modifiers.
func (b *Binary) appendOp(dst []byte) []byte {
	dst = append(dst, b.Op...)
	if b.Bool {
		dst = append(dst, " bool"...)
	}
	if m := b.Matching; m != nil {
		dst = m.appendTo(append(dst, ' '))
		if (m.GroupLeft || m.GroupRight) && len(m.Include) == 0 && b.opensParenthesis(b.Right, true) {
			// Otherwise the parenthesis of the operand would be parsed as that of labels.
			dst = append(dst, " ()"...)
		}
	}
	return dst
}

// opensParenthesis reports whether the text of an operand begins with a parenthesis.
func (b *Binary) opensParenthesis(operand SampleExpr, right bool) bool {
	if l, ok := operand.(*Literal); ok && (math.IsNaN(l.Value) || math.IsInf(l.Value, 0)) {
		return true
	}
	inner, ok := operand.(*Binary)
	return b.needsParentheses(operand, right) || ok && inner.opensParenthesis(inner.Left, false)
}

func (b *Binary) appendOperand(dst []byte, operand SampleExpr, right bool) []byte {
	if !b.needsParentheses(operand, right) {
		return operand.appendTo(dst)
	}
	return append(operand.appendTo(append(dst, '(')), ')')
}

func (b *Binary) needsParentheses(operand SampleExpr, right bool) bool {
	inner, ok := operand.(*Binary)
	if !ok {
		return false
	}
	outer, in := b.Op.precedence(), inner.Op.precedence()
	return in < outer || in == outer && right != (b.Op == OpPow)
}

func (m *Matching) appendTo(dst []byte) []byte {
	if m.On {
		dst = append(dst, "on "...)
	} else {
		dst = append(dst, "ignoring "...)
	}
	dst = appendLabels(dst, m.Labels)
	switch {
	case m.GroupLeft:
		dst = append(dst, " group_left"...)
	case m.GroupRight:
		dst = append(dst, " group_right"...)
	}
	if len(m.Include) > 0 {
		dst = appendLabels(append(dst, ' '), m.Include)
	}
	return dst
}

func (l *Literal) appendTo(dst []byte) []byte { return appendNumber(dst, l.Value) }

func (v *Vector) appendTo(dst []byte) []byte {
	return append(appendNumber(append(dst, "vector("...), v.Value), ')')
}

func (r *LabelReplace) appendTo(dst []byte) []byte {
	dst = r.Inner.appendTo(append(dst, "label_replace("...))
	return append(r.appendArguments(append(dst, ", "...)), ')')
}

// appendArguments appends the four strings.
func (r *LabelReplace) appendArguments(dst []byte) []byte {
	for i, s := range [...]string{r.Dst, r.Replacement, r.Src, r.Expr} {
		dst = appendString(appendComma(dst, i), s)
	}
	return dst
}
