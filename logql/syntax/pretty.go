package syntax

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// prettyWidth is the number of characters of a line that an expression is not split within.
const prettyWidth = 100

// Pretty formats a query for people. An expression that does not fit one line is on several lines, indented by depth. The
// result parses to an equal tree.
func Pretty(e Expr) string {
	p := &prettyPrinter{}
	p.expr(0, e, "")
	return strings.TrimSuffix(string(p.dst), "\n")
}

type prettyPrinter struct{ dst []byte }

func (p *prettyPrinter) line(depth int, text string) {
	p.dst = append(p.dst, bytes.Repeat([]byte("  "), depth)...)
	p.dst = append(append(p.dst, text...), '\n')
}

// expr prints an expression followed by behind, the text that has to be on the same line.
func (p *prettyPrinter) expr(depth int, e Expr, behind string) {
	if line := e.String(); 2*depth+utf8.RuneCountInString(line) <= prettyWidth {
		p.line(depth, line+behind)
		return
	}
	switch e := e.(type) {
	case *LogExpr:
		p.pipeline(depth, e.Matchers, e.Stages, behind)
	case *RangeAggregation:
		p.rangeAggregation(depth, e, behind)
	case *VectorAggregation:
		head := strings.TrimSuffix(e.head(), strconv.Itoa(e.Param)+", ")
		p.line(depth, head)
		if e.Param > 0 {
			p.line(depth+1, strconv.Itoa(e.Param)+",")
		}
		p.expr(depth+1, e.Inner, "")
		p.line(depth, ")"+behind)
	case *LabelReplace:
		p.line(depth, "label_replace(")
		p.expr(depth+1, e.Inner, ",")
		p.line(depth+1, e.arguments())
		p.line(depth, ")"+behind)
	case *Binary:
		p.chain(depth, e)
		p.dst = append(append(p.dst[:len(p.dst)-1], behind...), '\n')
	default:
		p.line(depth, e.String()+behind)
	}
}

// pipeline prints a selector and its stages, each on its line.
func (p *prettyPrinter) pipeline(depth int, matchers []*Matcher, stages []Stage, behind string) {
	if len(stages) == 0 {
		p.line(depth, selectorText(matchers)+behind)
		return
	}
	p.line(depth, selectorText(matchers))
	for i, s := range stages {
		if i < len(stages)-1 {
			p.line(depth+1, s.String())
		} else {
			p.line(depth+1, s.String()+behind)
		}
	}
}

func (p *prettyPrinter) rangeAggregation(depth int, a *RangeAggregation, behind string) {
	p.line(depth, string(a.Op)+"(")
	if a.Op == QuantileOver {
		p.line(depth+1, numberText(a.Param)+",")
	}
	r := a.Range
	selector := selectorText(r.Log.Matchers)
	if r.rangeFirst() {
		selector += " " + r.rangeText()
	}
	p.line(depth+1, selector)
	for _, s := range r.Log.Stages {
		p.line(depth+2, s.String())
	}
	if r.Unwrap != nil {
		p.line(depth+2, r.Unwrap.head())
		for _, f := range r.Unwrap.Filters {
			p.line(depth+2, f.String())
		}
	}
	if !r.rangeFirst() {
		p.line(depth+1, r.rangeText())
	}
	if a.Grouping != nil {
		behind = " " + a.Grouping.String() + behind
	}
	p.line(depth, ")"+behind)
}

// chain prints operations that group without parentheses: operators at depth, their operands one deeper.
func (p *prettyPrinter) chain(depth int, b *Binary) {
	var operations []*Binary
	for left := b; ; {
		operations = append(operations, left)
		next, ok := left.Left.(*Binary)
		if !ok || left.needsParentheses(next, false) || next.Op.precedence() != b.Op.precedence() {
			p.operand(depth+1, left, left.Left, false)
			break
		}
		left = next
	}
	for i := len(operations) - 1; i >= 0; i-- {
		o := operations[i]
		p.line(depth, o.operator())
		p.operand(depth+1, o, o.Right, true)
	}
}

func (p *prettyPrinter) operand(depth int, b *Binary, operand SampleExpr, right bool) {
	if !b.needsParentheses(operand, right) {
		p.expr(depth, operand, "")
		return
	}
	p.line(depth, "(")
	p.expr(depth+1, operand, "")
	p.line(depth, ")")
}
