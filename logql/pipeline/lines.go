package pipeline

import (
	"bytes"

	"logstow/internal/ansi"
	"logstow/logql/syntax"
	"logstow/message/pattern"
	"logstow/query/match"
)

// lineFilter compiles a line filter. Its step needs no state.
func lineFilter(f *syntax.LineFilter) (step, error) {
	negated := f.Op == syntax.LineNotContain || f.Op == syntax.LineNotRegexp || f.Op == syntax.LineNotPattern
	var matches []func(line []byte) bool
	for i := range f.Texts {
		m, err := lineMatch(f.Op, &f.Texts[i])
		if err != nil {
			return nil, err
		}
		matches = append(matches, m)
	}
	if len(matches) == 1 {
		found := matches[0]
		return func(p *Processor) bool { return found(p.line) != negated }, nil
	}
	return func(p *Processor) bool {
		for _, found := range matches {
			if found(p.line) {
				return !negated
			}
		}
		return negated
	}, nil
}

// lineMatch returns the condition of one text of a line filter, before negation.
func lineMatch(op syntax.LineOp, t *syntax.LineText) (func(line []byte) bool, error) {
	switch {
	case t.IP:
		m, err := parseIPMatch(t.Text)
		return m.find, err
	case op == syntax.LineContains || op == syntax.LineNotContain:
		text := []byte(t.Text)
		return func(line []byte) bool { return bytes.Contains(line, text) }, nil
	case op == syntax.LineRegexp || op == syntax.LineNotRegexp:
		if prefix, complete := t.Regexp.LiteralPrefix(); complete {
			text := []byte(prefix)
			return func(line []byte) bool { return bytes.Contains(line, text) }, nil
		}
		required, ok := match.RequiredLiteral(t.Regexp.String())
		if !ok {
			return t.Regexp.Match, nil
		}
		return func(line []byte) bool { return required.Index(line) >= 0 && t.Regexp.Match(line) }, nil
	}
	return linePattern(t.Parts), nil
}

// linePattern is the condition that a line ends with a pattern, which may begin anywhere. As of the parser pattern, a capture ends where
// the next literal occurs first; none is empty.
func linePattern(parts []pattern.Part) func(line []byte) bool {
	var literals [][]byte
	for _, p := range parts {
		literals = append(literals, []byte(p.Literal)) // nil for a capture
	}
	return func(line []byte) bool {
		captures := false
		for i, literal := range literals {
			if len(literal) == 0 {
				captures = true
				continue
			}
			at := bytes.Index(line, literal)
			if at < 0 || at == 0 && i > 0 {
				return false
			}
			line, captures = line[at+len(literal):], false
		}
		return captures == (len(line) > 0)
	}
}

// decolorize removes the escape sequences of terminals from the line.
func decolorize(p *Processor) bool {
	if bytes.IndexByte(p.line, ansi.Escape) < 0 {
		return true
	}
	start := len(p.arena)
	p.arena = ansi.Strip(p.arena, p.line)
	p.line = p.arena[start:len(p.arena):len(p.arena)]
	return true
}
