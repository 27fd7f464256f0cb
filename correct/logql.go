package correct

import (
	"slices"
	"strings"

	"logstow/logql/labels"
	"logstow/logql/syntax"
	"logstow/query/explain"
)

// LogQL applies a correction to a query. It returns "" if the query cannot be parsed, or stays the same.
func LogQL(query string, c explain.Correction) string {
	expr, err := syntax.Parse(query)
	if err != nil {
		return ""
	}
	before := expr.String()
	eachLog(expr, func(log *syntax.LogExpr) {
		for i := range c {
			(&edit{log, &c[i]}).apply()
		}
	})
	after := expr.String()
	if _, err := syntax.Parse(after); err != nil || after == before {
		return ""
	}
	return after
}

// eachLog calls f with the log queries of an expression.
func eachLog(expr syntax.Expr, f func(*syntax.LogExpr)) {
	switch e := expr.(type) {
	case *syntax.LogExpr:
		f(e)
	case *syntax.RangeAggregation:
		f(e.Range.Log)
	case *syntax.VectorAggregation:
		eachLog(e.Inner, f)
	case *syntax.LabelReplace:
		eachLog(e.Inner, f)
	case *syntax.Binary:
		eachLog(e.Left, f)
		eachLog(e.Right, f)
	}
}

// edit applies a fix to a log query.
type edit struct {
	log *syntax.LogExpr
	fix *explain.Fix
}

func (e *edit) apply() {
	f := e.fix
	switch f.Kind {
	case explain.FixService:
		e.renameService()
	case explain.FixSource:
		e.eachMatcher(labels.Source, func(m *syntax.Matcher) {
			if m.Op == syntax.MatchEqual && explain.Glob(m.Value) == f.Old {
				m.Value = f.New
			}
		})
	case explain.FixLabel:
		e.eachMatcher(f.Old, func(m *syntax.Matcher) { m.Name = f.New })
	case explain.FixLabelFilter:
		e.labelFilter()
	case explain.FixField:
		e.eachMatcher(f.Old, func(m *syntax.Matcher) { m.Name = f.New })
		e.eachNumber(f.Old, func(c *syntax.NumberCondition) { c.Name = f.New })
	case explain.FixValue:
		e.replaceValue(f.Field)
	case explain.FixLevel:
		e.replace(nil)
		if f.Old != "" {
			e.replaceValue(labels.Level)
			e.replaceValue(labels.DetectedLevel)
		} else {
			e.setMatcher(labels.Level, f.New)
		}
	case explain.FixSelectService:
		e.replace(nil)
		e.setMatcher(labels.Service, f.New)
	case explain.FixCondition:
		e.replace(nil)
		e.parse(len(e.log.Stages))
		e.log.Stages = append(e.log.Stages, stages("| "+f.Label(f.Field))...)
	case explain.FixWords, explain.FixExclude, explain.FixAny:
		e.replace(e.filters())
	case explain.FixIgnoreCase:
		e.ignoreCase()
	case explain.FixParser:
		e.parse(slices.IndexFunc(e.log.Stages, func(s syntax.Stage) bool {
			filter, ok := s.(*syntax.LabelFilter)
			return ok && uses(filter.Condition, f.Field)
		}))
	case explain.FixSelector:
		e.log.Stages = nil
	}
}

// stages parses stages.
func stages(text string) []syntax.Stage {
	expr, err := syntax.Parse(everything + " " + text)
	log, ok := expr.(*syntax.LogExpr)
	if err != nil || !ok {
		return nil
	}
	return log.Stages
}

// matcher makes a matcher of a label.
func matcher(name, value string) *syntax.Matcher {
	return &syntax.Matcher{Name: name, Op: syntax.MatchEqual, Value: value}
}

// setMatcher selects a value of a label, in place of other matchers of it.
func (e *edit) setMatcher(name, value string) {
	before := len(e.log.Matchers)
	at := before
	for i, m := range slices.Backward(e.log.Matchers) {
		if m.Name == name || name == labels.Service && m.Name == labels.ServiceAlias ||
			name == labels.Level && m.Name == labels.DetectedLevel {
			e.log.Matchers, at = slices.Delete(e.log.Matchers, i, i+1), i
		}
	}
	e.log.Matchers = slices.Insert(e.log.Matchers, at, matcher(name, value))
	e.log.Matchers = slices.DeleteFunc(e.log.Matchers, func(m *syntax.Matcher) bool { // it selects everything
		return m.Name == labels.Service && m.Op == syntax.MatchRegexp && m.Value == ".+"
	})
}

// renameService replaces a service, also among alternatives of a regular expression.
func (e *edit) renameService() {
	for i, m := range e.log.Matchers {
		switch {
		case m.Name != labels.Service && m.Name != labels.ServiceAlias:
		case m.Op == syntax.MatchEqual && m.Value == e.fix.Old:
			e.log.Matchers[i] = matcher(m.Name, e.fix.New)
		case m.Op == syntax.MatchRegexp:
			names := strings.Split(m.Value, "|")
			if j := slices.Index(names, e.fix.Old); j >= 0 {
				names[j] = e.fix.New
				m.Value = strings.Join(names, "|")
			}
		}
	}
}

// labelFilter moves the matchers of a label behind a parser.
func (e *edit) labelFilter() {
	var filters []syntax.Stage
	e.log.Matchers = slices.DeleteFunc(e.log.Matchers, func(m *syntax.Matcher) bool {
		if m.Name == e.fix.Old {
			filters = append(filters, &syntax.LabelFilter{Condition: &syntax.StringCondition{Matcher: m}})
		}
		return m.Name == e.fix.Old
	})
	if !slices.ContainsFunc(e.log.Matchers, func(m *syntax.Matcher) bool { return !m.Matches("") }) {
		e.log.Matchers = append(e.log.Matchers, emptyLog().Matchers...)
	}
	e.parse(len(e.log.Stages))
	e.log.Stages = append(e.log.Stages, filters...)
}

func emptyLog() *syntax.LogExpr {
	expr, err := syntax.Parse(everything)
	if log, ok := expr.(*syntax.LogExpr); ok && err == nil {
		return log
	}
	return &syntax.LogExpr{}
}

// parse adds the parser of the fix at an index of the stages, unless there is one before.
func (e *edit) parse(at int) {
	if at < 0 || e.fix.Parser == "" {
		return
	}
	parser := stages("| " + e.fix.Parser)
	for _, s := range e.log.Stages[:at] {
		text := s.String()
		if len(parser) == 1 && text == parser[0].String() {
			return
		}
	}
	e.log.Stages = slices.Insert(e.log.Stages, at, parser...)
}

// replaceValue replaces a value of a label, in the selector and in filters.
func (e *edit) replaceValue(name string) {
	e.eachMatcher(name, func(m *syntax.Matcher) {
		if m.Op == syntax.MatchEqual && m.Value == e.fix.Old {
			m.Value = e.fix.New
		}
	})
}

// eachMatcher calls f with the matchers of a label, in the selector and in filters.
func (e *edit) eachMatcher(name string, f func(*syntax.Matcher)) {
	for _, m := range e.log.Matchers {
		if m.Name == name {
			f(m)
		}
	}
	e.eachCondition(func(c syntax.Condition) {
		if text, ok := c.(*syntax.StringCondition); ok && text.Matcher.Name == name {
			f(text.Matcher)
		}
	})
}

func (e *edit) eachNumber(name string, f func(*syntax.NumberCondition)) {
	e.eachCondition(func(c syntax.Condition) {
		if number, ok := c.(*syntax.NumberCondition); ok && number.Name == name {
			f(number)
		}
	})
}

func (e *edit) eachCondition(f func(syntax.Condition)) {
	for _, s := range e.log.Stages {
		if filter, ok := s.(*syntax.LabelFilter); ok {
			for _, leaf := range syntax.Leaves(filter.Condition) {
				f(leaf)
			}
		}
	}
}

// uses reports whether a condition compares a label.
func uses(c syntax.Condition, name string) bool {
	return slices.ContainsFunc(syntax.Leaves(c), func(leaf syntax.Condition) bool { return syntax.LabelOf(leaf) == name })
}
