package syntax

import "strings"

// lineOp is the line filter that a token begins.
func lineOp(t token) (LineOp, bool) {
	if t.kind == tokenSymbol {
		switch t.text {
		case "|=":
			return LineContains, true
		case "!=":
			return LineNotContain, true
		case "|~":
			return LineRegexp, true
		case "!~":
			return LineNotRegexp, true
		case "|>":
			return LinePattern, true
		case "!>":
			return LineNotPattern, true
		}
	}
	return 0, false
}

// lineFilter parses a line filter.
func (p *parser) lineFilter() *LineFilter {
	op, _ := lineOp(p.take())
	f := &LineFilter{Op: op}
	for {
		f.Texts = append(f.Texts, p.lineText(op))
		if p.err != nil || !p.acceptWord("or") {
			return f
		}
	}
}

func (p *parser) lineText(op LineOp) LineText {
	if at := p.peek(); p.call("ip") {
		if op == LinePattern || op == LineNotPattern {
			p.fail(at, "ip() is not allowed after |> and !>")
		}
		return LineText{Text: p.ip(), IP: true}
	}
	t := p.stringOf("text of a line filter")
	text := LineText{Text: t.text}
	switch op {
	case LineRegexp, LineNotRegexp:
		text.Regexp = p.compile(t)
	case LinePattern, LineNotPattern:
		text.Parts = p.linePattern(t)
	}
	return text
}

// ip takes ip("…").
func (p *parser) ip() string {
	p.take()
	p.expect("(", "and an address range")
	t := p.stringOf("address, range or CIDR")
	p.expect(")", "after the address range")
	return t.text
}

// condition takes conditions on labels with and, or, comma or nothing (which is and) between them. And binds tighter than or.
func (p *parser) condition() Condition {
	c := p.conjunction()
	for p.err == nil && p.acceptWord("or") {
		c = &Junction{true, c, p.conjunction()}
	}
	return c
}

func (p *parser) conjunction() Condition {
	c := p.conditionOperand()
	for p.err == nil {
		t := p.peek()
		switch {
		case p.accept(","), p.acceptWord("and"):
		case t.is("("), t.kind == tokenName && !isKeyword(t.text) && !isWord(t, "or"):
		default:
			return c
		}
		c = &Junction{false, c, p.conditionOperand()}
	}
	return c
}

func (p *parser) conditionOperand() Condition {
	if p.accept("(") {
		p.enter()
		defer p.leave()
		c := p.condition()
		p.expect(")", "after a condition")
		return c
	}
	name := p.label(labelName)
	t := p.peek()
	if t.kind != tokenSymbol || !strings.Contains(" = == != =~ !~ > >= < <= ", " "+t.text+" ") {
		p.unexpected("a comparison after label " + name)
	}
	op := p.take()
	switch value := p.peek(); {
	case value.kind == tokenString && comparesStrings(op.text):
		return &StringCondition{p.newMatcher(name, op, p.take())}
	case value.kind == tokenString && op.text == "==":
		p.fail(op, "strings are compared with =, == is for numbers")
	case value.kind == tokenString:
		p.fail(op, "strings cannot be compared with %s", op.text)
	case op.text == "=~" || op.text == "!~":
		p.unexpected("a regular expression in quotes")
	case p.call("ip"):
		if op.text != "=" && op.text != "!=" {
			p.fail(op, "ip() is compared with = or !=, not with %s", op.text)
		}
		return &IPCondition{Name: name, Not: op.text == "!=", Range: p.ip()}
	}
	return p.numberCondition(name, op)
}

func comparesStrings(op string) bool { return op == "=" || op == "!=" || op == "=~" || op == "!~" }

func (p *parser) numberCondition(name string, op token) Condition {
	c := &NumberCondition{Name: name, Op: BinaryOp(op.text)}
	if op.text == "=" {
		c.Op = OpEqual
	}
	sign := token{}
	if t := p.peek(); t.is("-") || t.is("+") {
		sign = p.take()
	}
	t := p.peek()
	switch {
	case t.kind == tokenNumber:
	case t.kind == tokenDuration && (sign.text == "" || sign.text == "-" && sign.end == t.start):
		c.Unit = UnitDuration
	case t.kind == tokenBytes && sign.text == "":
		c.Unit = UnitBytes
	case t.kind == tokenBytes || t.kind == tokenDuration:
		p.fail(sign, "%q cannot precede %s", sign.text, t.text)
	default:
		p.unexpected("a string, a number, a duration, a size or ip()")
	}
	p.take()
	c.Value, c.Text = t.value, sign.text+t.text
	if t.kind == tokenNumber && strings.ContainsAny(t.text, "_pP") { // Grafana's editor has no such numbers
		c.Text = sign.text + numberText(t.value)
	}
	if sign.text == "-" {
		c.Value = -c.Value
	}
	return c
}
