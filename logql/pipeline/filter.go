package pipeline

import (
	"fmt"
	"slices"

	"logstow/internal/memo"
	"logstow/logql/syntax"
)

// The values of __error__ that filters and unwrap set.
const (
	filterError = "LabelFilterErr"
	sampleError = "SampleExtractionErr"
)

// compileCondition compiles a condition on labels, which is a stage.
func compileCondition(c syntax.Condition) (stage, error) {
	switch c := c.(type) {
	case *syntax.Junction:
		return compileJunction(c)
	case *syntax.StringCondition:
		return stage{names: []string{c.Matcher.Name}, bind: func(p *Processor) step {
			s, matches := p.symbol(c.Matcher.Name), newMatcher(c.Matcher)
			return func(p *Processor) bool { return matches(p, s) }
		}}, nil
	case *syntax.NumberCondition:
		return stage{names: []string{c.Name}, bind: func(p *Processor) step { return bindNumber(p, c) }}, nil
	case *syntax.IPCondition:
		match, err := parseIPMatch(c.Range)
		return stage{names: []string{c.Name}, bind: func(p *Processor) step {
			s := p.symbol(c.Name)
			return func(p *Processor) bool {
				if p.failed() {
					return true
				}
				value := p.value(s)
				return value != "" && match.find([]byte(value)) != c.Not
			}
		}}, err
	}
	return stage{}, fmt.Errorf("cannot process the condition %s", c)
}

func compileJunction(j *syntax.Junction) (stage, error) {
	left, err := compileCondition(j.Left)
	if err != nil {
		return left, err
	}
	right, err := compileCondition(j.Right)
	return stage{names: slices.Concat(left.names, right.names), bind: func(p *Processor) step {
		first, second := left.bind(p), right.bind(p)
		if j.Or {
			return func(p *Processor) bool { return first(p) || second(p) }
		}
		return func(p *Processor) bool { return first(p) && second(p) }
	}}, err
}

// failed reports whether the record has an __error__. A condition on an address keeps it then.
func (p *Processor) failed() bool { return p.value(p.err) != "" }

func bindNumber(p *Processor, c *syntax.NumberCondition) step {
	s := p.symbol(c.Name)
	return func(p *Processor) bool {
		if p.is(s, "") {
			return false
		}
		n, err := p.number(s, c.Unit)
		if err != nil {
			p.fail(filterError, c.Name+": "+err.Error())
			return true
		}
		holds, _ := c.Op.Apply(n, c.Value)
		return holds != 0
	}
}

// maxRemembered is the number of values for which the result of an expression is remembered.
const maxRemembered = 1024

// newMatcher makes the condition of a matcher, which is not safe for concurrent use.
func newMatcher(m *syntax.Matcher) func(p *Processor, s *symbol) bool {
	switch m.Op {
	case syntax.MatchEqual:
		return func(p *Processor, s *symbol) bool { return p.is(s, m.Value) }
	case syntax.MatchNotEqual:
		return func(p *Processor, s *symbol) bool { return !p.is(s, m.Value) }
	case syntax.MatchRegexp, syntax.MatchNotRegexp:
	}
	negated := m.Op == syntax.MatchNotRegexp
	known := memo.Map[string, bool]{Max: maxRemembered}
	return func(p *Processor, s *symbol) bool {
		if p.isText(s) && len(s.text) > maxInternedSize {
			return m.Regexp.Match(s.text) != negated
		}
		value := p.value(s)
		matches := func() bool { return m.Regexp.MatchString(value) }
		if len(value) > maxInternedSize {
			return matches() != negated
		}
		return known.Get(value, matches) != negated
	}
}

// is reports whether a label has a value.
func (p *symbols) is(s *symbol, value string) bool {
	if p.isText(s) {
		return string(s.text) == value
	}
	return p.value(s) == value
}

// unwrap is a compiled unwrap.
type unwrap struct {
	bind  func(p *Processor) func(p *Processor) (float64, bool)
	names []string
}

func compileUnwrap(u *syntax.Unwrap) (*unwrap, error) {
	compiled := &unwrap{names: []string{u.Label}}
	var filters []stage
	for _, f := range u.Filters {
		c, err := compileCondition(f.Condition)
		if err != nil {
			return nil, err
		}
		filters = append(filters, c)
		compiled.names = append(compiled.names, c.names...)
	}
	compiled.bind = func(p *Processor) func(p *Processor) (float64, bool) {
		s := p.symbol(u.Label)
		var steps []step
		for _, f := range filters {
			steps = append(steps, f.bind(p))
		}
		return func(p *Processor) (float64, bool) {
			if p.is(s, "") {
				return 0, false
			}
			n, err := p.number(s, u.Unit)
			if err != nil {
				p.fail(sampleError, u.Label+": "+err.Error())
				n = 0
			}
			for _, keep := range steps {
				if !keep(p) {
					return 0, false
				}
			}
			return n, true
		}
	}
	return compiled, nil
}
