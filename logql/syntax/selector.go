package syntax

// emptySelector is Loki's message.
const emptySelector = "queries require at least one regexp or equality matcher that does not have an empty-compatible value. " +
	"For instance, app=~\".*\" does not meet this requirement, but app=~\".+\" will"

// logExpr takes a selector and its pipeline. Behind it unwrap is nil unless a range aggregation allows it.
func (p *parser) logExpr() *LogExpr {
	e := &LogExpr{Matchers: p.querySelector()}
	stages, unwrap, at := p.pipeline()
	if unwrap != nil {
		p.fail(at, "unwrap is allowed only inside a range aggregation, such as sum_over_time")
	}
	e.Stages = stages
	return e
}

// querySelector is a selector that does not select everything.
func (p *parser) querySelector() []*Matcher {
	at := p.peek()
	matchers := p.selector()
	for _, m := range matchers {
		if p.err != nil || !m.Matches("") {
			return matchers
		}
	}
	p.fail(at, emptySelector)
	return nil
}

func (p *parser) selector() []*Matcher {
	p.expect("{", "of a stream selector")
	var matchers []*Matcher
	if p.accept("}") {
		return nil
	}
	for p.err == nil {
		if t := p.peek(); t.is("}") {
			p.unexpected("a matcher, such as service_name=\"web\"")
		}
		matchers = append(matchers, p.matcher())
		if p.accept("}") {
			break
		}
		p.expect(",", "or \"}\"")
	}
	return matchers
}

func (p *parser) matcher() *Matcher {
	name := p.label(labelName)
	switch t := p.peek(); {
	case t.is("="), t.is("!="), t.is("=~"), t.is("!~"):
	default:
		p.unexpected("=, !=, =~ or !~ after label " + name)
	}
	op := p.take()
	return p.newMatcher(name, op, p.stringOf("value of label "+name))
}

// newMatcher makes a matcher of its tokens.
func (p *parser) newMatcher(name string, op, value token) *Matcher {
	m := &Matcher{Name: name, Value: value.text}
	switch op.text {
	case "!=":
		m.Op = MatchNotEqual
	case "=~":
		m.Op = MatchRegexp
	case "!~":
		m.Op = MatchNotRegexp
	}
	if m.Op == MatchRegexp || m.Op == MatchNotRegexp {
		m.Regexp = p.anchored(value)
	}
	return m
}

// Matches reports whether a value fulfils the condition.
func (m *Matcher) Matches(value string) bool {
	switch m.Op {
	case MatchEqual:
		return value == m.Value
	case MatchNotEqual:
		return value != m.Value
	case MatchRegexp:
		return m.Regexp.MatchString(value)
	default:
		return !m.Regexp.MatchString(value)
	}
}
