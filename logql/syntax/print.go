package syntax

import (
	"math"
	"strconv"
	"strings"
)

// joined returns the texts of items with a separator between them.
func joined[T any](items []T, separator string, text func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = text(item)
	}
	return strings.Join(texts, separator)
}

func (e *LogExpr) String() string { return selectorText(e.Matchers) + stagesText(e.Stages) }

func selectorText(matchers []*Matcher) string {
	return "{" + joined(matchers, ", ", (*Matcher).String) + "}"
}

func stagesText(stages []Stage) string {
	return joined(stages, "", func(s Stage) string { return " " + s.String() })
}

// rangeFirst reports whether the range is printed before the stages. With an offset and unwrap, Grafana's editor parses no other form.
func (r *LogRange) rangeFirst() bool {
	return r.Offset != 0 && r.Unwrap != nil && len(r.Log.Stages) > 0
}

func (r *LogRange) String() string {
	text := selectorText(r.Log.Matchers)
	if r.rangeFirst() {
		text += " " + r.rangeText()
	}
	text += stagesText(r.Log.Stages)
	if r.Unwrap != nil {
		text += " " + r.Unwrap.String()
	}
	switch {
	case r.rangeFirst():
		return text
	case len(r.Log.Stages) > 0 || r.Unwrap != nil:
		text += " "
	}
	return text + r.rangeText()
}

// rangeText is the range with its offset.
func (r *LogRange) rangeText() string {
	text := "[" + durationText(r.Range) + "]"
	if r.Offset != 0 {
		text += " offset " + durationText(r.Offset)
	}
	return text
}

func (u *Unwrap) String() string {
	return u.head() + joined(u.Filters, "", func(f *LabelFilter) string { return " " + f.String() })
}

// head is an unwrap without its filters.
func (u *Unwrap) head() string {
	switch u.Unit {
	case UnitDuration:
		return "| unwrap duration(" + u.Label + ")"
	case UnitBytes:
		return "| unwrap bytes(" + u.Label + ")"
	}
	return "| unwrap " + u.Label
}

func (a *RangeAggregation) String() string {
	text := string(a.Op) + "("
	if a.Op == QuantileOver {
		text += numberText(a.Param) + ", "
	}
	text += a.Range.String() + ")"
	if a.Grouping != nil {
		text += " " + a.Grouping.String()
	}
	return text
}

func (g *Grouping) String() string {
	if g.Without {
		return "without " + labelsText(g.Labels)
	}
	return "by " + labelsText(g.Labels)
}

func labelsText(names []string) string { return "(" + strings.Join(names, ", ") + ")" }

func (l *Literal) String() string { return numberText(l.Value) }

func (v *Vector) String() string { return "vector(" + numberText(v.Value) + ")" }

func (a *VectorAggregation) String() string { return text(a) }

func (b *Binary) String() string { return text(b) }

func (r *LabelReplace) String() string { return text(r) }

// printer prints expressions that may be nested deeply, each part once.
type printer struct{ strings.Builder }

func text(e Expr) string {
	var p printer
	p.expr(e)
	return p.String()
}

func (p *printer) put(texts ...string) {
	for _, text := range texts {
		p.WriteString(text)
	}
}

func (p *printer) expr(e Expr) {
	switch x := e.(type) {
	case *VectorAggregation:
		p.put(x.head())
		p.expr(x.Inner)
		p.put(")")
	case *LabelReplace:
		p.put("label_replace(")
		p.expr(x.Inner)
		p.put(", ", x.arguments(), ")")
	case *Binary:
		p.operand(x, x.Left, false)
		p.put(" ", x.operator(), " ")
		p.operand(x, x.Right, true)
	default:
		p.put(e.String())
	}
}

func (p *printer) operand(b *Binary, operand SampleExpr, right bool) {
	if !b.needsParentheses(operand, right) {
		p.expr(operand)
		return
	}
	p.put("(")
	p.expr(operand)
	p.put(")")
}

// head is the text before the inner expression, with its parenthesis.
func (a *VectorAggregation) head() string {
	text := string(a.Op)
	if a.Grouping != nil {
		text += " " + a.Grouping.String() + " "
	}
	text += "("
	if a.Op.selects() {
		text += strconv.Itoa(a.Param) + ", "
	}
	return text
}

// operator is the operator with its modifiers.
func (b *Binary) operator() string {
	text := string(b.Op)
	if b.Bool {
		text += " bool"
	}
	if m := b.Matching; m != nil {
		text += " " + m.String()
		if (m.GroupLeft || m.GroupRight) && len(m.Include) == 0 && b.opensParenthesis(b.Right, true) {
			text += " ()" // otherwise the parenthesis of the operand would be parsed as that of labels
		}
	}
	return text
}

// opensParenthesis reports whether the text of an operand begins with a parenthesis.
func (b *Binary) opensParenthesis(operand SampleExpr, right bool) bool {
	if l, ok := operand.(*Literal); ok && (math.IsNaN(l.Value) || math.IsInf(l.Value, 0)) {
		return true
	}
	inner, ok := operand.(*Binary)
	return b.needsParentheses(operand, right) || ok && inner.opensParenthesis(inner.Left, false)
}

func (b *Binary) needsParentheses(operand SampleExpr, right bool) bool {
	inner, ok := operand.(*Binary)
	if !ok {
		return false
	}
	outer, in := b.Op.precedence(), inner.Op.precedence()
	return in < outer || in == outer && right != (b.Op == OpPow)
}

func (m *Matching) String() string {
	text := "ignoring "
	if m.On {
		text = "on "
	}
	text += labelsText(m.Labels)
	switch {
	case m.GroupLeft:
		text += " group_left"
	case m.GroupRight:
		text += " group_right"
	}
	if len(m.Include) > 0 {
		text += " " + labelsText(m.Include)
	}
	return text
}

// arguments are the four strings.
func (r *LabelReplace) arguments() string {
	return joined([]string{r.Dst, r.Replacement, r.Src, r.Expr}, ", ", quoted)
}
