package syntax

import (
	"math"
	"slices"
	"strings"
)

// binaryOp is the operator that a token is.
func binaryOp(t token) (BinaryOp, bool) {
	if t.kind != tokenSymbol && t.kind != tokenName {
		return "", false
	}
	op := BinaryOp(strings.ToLower(t.text))
	return op, op.precedence() > 0
}

// precedence returns the precedence of an operator, 0 for other tokens. All operators but ^ are left-associative.
func (op BinaryOp) precedence() int {
	switch op {
	case OpOr:
		return 1
	case OpAnd, OpUnless:
		return 2
	case OpEqual, OpNotEqual, OpGreater, OpGreaterEqual, OpLess, OpLessEqual:
		return 3
	case OpAdd, OpSub:
		return 4
	case OpMul, OpDiv, OpMod:
		return 5
	case OpPow:
		return 6
	}
	return 0
}

// IsComparison reports whether the operator is one of == != > >= < <=.
func (op BinaryOp) IsComparison() bool { return op.precedence() == 3 }

// IsSet reports whether the operator is one of and, or, unless.
func (op BinaryOp) IsSet() bool { return op.precedence() == 1 || op.precedence() == 2 }

// expr takes operands with operators that bind tighter than min: 0 is for all of a function's argument, or of parentheses.
func (p *parser) expr(min int) Expr {
	if min == 0 {
		p.enter()
		defer p.leave()
	}
	left := p.operand()
	for p.err == nil {
		t := p.peek()
		op, ok := binaryOp(t)
		switch _, log := left.(*LogExpr); {
		case log && ok:
			p.noOperand(t, op)
		case !log && !ok && startsStage(t):
			p.fail(t, "stages are allowed only after a stream selector, not after a metric query")
		case t.is("="):
			p.fail(t, "results are compared with ==, not with =")
		}
		if !ok || op.precedence() <= min {
			break
		}
		p.take()
		b := &Binary{Op: op}
		p.modifiers(b)
		at := p.peek()
		tighter := op.precedence()
		if op == OpPow { // which is right-associative
			tighter--
			p.enter()
		}
		right := p.expr(tighter)
		if op == OpPow {
			p.leave()
		}
		if p.err != nil {
			break
		}
		left = p.combine(b, t, at, left, right)
	}
	return left
}

// modifiers takes bool, on or ignoring, group_left or group_right.
func (p *parser) modifiers(b *Binary) {
	if t := p.peek(); p.acceptWord("bool") {
		b.Bool = true
		if !b.Op.IsComparison() {
			p.fail(t, "bool is allowed only after comparisons, not after %s", b.Op)
		}
	}
	on, ignoring := isWord(p.peek(), "on"), isWord(p.peek(), "ignoring")
	if !on && !ignoring {
		if t := p.peek(); isWord(t, "group_left") || isWord(t, "group_right") {
			p.fail(t, "%s needs on (…) or ignoring (…) before it", strings.ToLower(t.text))
		}
		return
	}
	p.take()
	m := &Matching{On: on, Labels: p.labels(true)}
	b.Matching = m
	t := p.peek()
	switch {
	case p.acceptWord("group_left"):
		m.GroupLeft = true
	case p.acceptWord("group_right"):
		m.GroupRight = true
	default:
		return
	}
	if p.peek().is("(") {
		m.Include = p.labels(true)
	}
	for _, name := range m.Include {
		if on && slices.Contains(m.Labels, name) {
			p.fail(t, "label %s is in on (…) and in %s (…)", name, strings.ToLower(t.text))
		}
	}
}

func (p *parser) noOperand(at token, op BinaryOp) {
	p.fail(at, "a log query cannot be an operand of %s: use a range aggregation, such as count_over_time", op)
}

// combine makes an operation of its operands, or a number of two numbers. The operator is at opAt, its right operand at rightAt.
func (p *parser) combine(b *Binary, opAt, rightAt token, left, right Expr) Expr {
	var leftOK, rightOK bool
	b.Left, leftOK = left.(SampleExpr)
	b.Right, rightOK = right.(SampleExpr)
	if !leftOK || !rightOK {
		p.noOperand(rightAt, b.Op)
		return nil
	}
	l, leftNumber := b.Left.(*Literal)
	r, rightNumber := b.Right.(*Literal)
	switch {
	case b.Op.IsSet() && (leftNumber || rightNumber):
		p.fail(opAt, "a number cannot be an operand of %s", b.Op)
	case b.Matching != nil && (leftNumber || rightNumber):
		p.fail(opAt, "on and ignoring are allowed only between two vectors, not with a number")
	case leftNumber && rightNumber:
		value, _ := b.Op.Apply(l.Value, r.Value)
		return &Literal{value}
	}
	return b
}

// Apply computes an arithmetic operation, or a comparison: then the value is 1 or 0, as it holds. Division by zero is infinite,
// or not a number, as in Prometheus. It reports false for set operators.
func (op BinaryOp) Apply(left, right float64) (value float64, ok bool) {
	holds := false
	switch op {
	case OpAdd:
		return left + right, true
	case OpSub:
		return left - right, true
	case OpMul:
		return left * right, true
	case OpDiv:
		return left / right, true
	case OpMod:
		return math.Mod(left, right), true
	case OpPow:
		return math.Pow(left, right), true
	case OpEqual:
		holds = left == right
	case OpNotEqual:
		holds = left != right
	case OpGreater:
		holds = left > right
	case OpGreaterEqual:
		holds = left >= right
	case OpLess:
		holds = left < right
	case OpLessEqual:
		holds = left <= right
	default:
		return 0, false
	}
	if holds {
		return 1, true
	}
	return 0, true
}
