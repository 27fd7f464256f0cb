package syntax

import (
	"slices"
	"strconv"
	"strings"
)

// regexpParser checks the names of the groups.
func (p *parser) regexpParser(t token) *RegexpParser {
	r := &RegexpParser{Expr: t.text, Regexp: p.compile(t)}
	if r.Regexp == nil {
		return r
	}
	var names []string
	for _, name := range r.Regexp.SubexpNames() {
		switch {
		case name == "":
			continue
		case !isLabelName(name):
			p.fail(t, "group name %q is not a label name", name)
		case slices.Contains(names, name):
			p.fail(t, "two groups have the name %s", name)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		p.fail(t, "regexp needs a named group: (?P<name>…)")
	}
	return r
}

// patternParser checks the captures: at least one has a name, the names differ, and there is a literal between two captures.
func (p *parser) patternParser(t token) *PatternParser {
	parts := p.pattern(t)
	var names []string
	for _, part := range parts {
		if part.Capture == "" || part.Capture == "_" {
			continue
		}
		if slices.Contains(names, part.Capture) {
			p.fail(t, "pattern captures %s twice", part.Capture)
		}
		names = append(names, part.Capture)
	}
	if len(names) == 0 {
		p.fail(t, "pattern needs a named capture: <name>")
	}
	return &PatternParser{Expr: t.text, Parts: parts}
}

// linePattern is the pattern of a line filter, which names nothing.
func (p *parser) linePattern(t token) []PatternPart {
	parts := p.pattern(t)
	for _, part := range parts {
		if part.Capture != "" && part.Capture != "_" {
			p.fail(t, "a pattern of a line filter can contain only <_>, not <%s>", part.Capture)
		}
	}
	return parts
}

func (p *parser) pattern(t token) []PatternPart {
	parts := patternParts(t.text)
	for i := 1; i < len(parts); i++ {
		if parts[i-1].Capture != "" && parts[i].Capture != "" {
			p.fail(t, "pattern has no text between <%s> and <%s>", parts[i-1].Capture, parts[i].Capture)
		}
	}
	return parts
}

// patternParts splits a pattern into literals and captures. What is between < and > and is not a name is literal.
func patternParts(s string) []PatternPart {
	var parts []PatternPart
	literal := 0
	for i := 0; i < len(s); {
		start := strings.IndexByte(s[i:], '<')
		if start < 0 {
			break
		}
		start += i
		end := start + 1
		for end < len(s) && isNamePart(s[end]) {
			end++
		}
		i = end
		name := s[start+1 : end]
		if end == len(s) || s[end] != '>' || !isLabelName(name) {
			continue
		}
		if literal < start {
			parts = append(parts, PatternPart{Literal: s[literal:start]})
		}
		parts = append(parts, PatternPart{Capture: name})
		i = end + 1
		literal = i
	}
	if literal < len(s) {
		parts = append(parts, PatternPart{Literal: s[literal:]})
	}
	return parts
}

// jsonPath parses a path such as a.b[0]["c d"], the expression at t.
func (p *parser) jsonPath(t token, expr string) []PathStep {
	path, ok := parsePath(expr)
	if !ok {
		p.fail(t, "%q is not a JSON expression, such as a.b[0][\"c d\"]", expr)
	}
	return path
}

func parsePath(s string) ([]PathStep, bool) {
	var path []PathStep
	for s != "" {
		if s[0] == '[' {
			step, rest, ok := parseSubscript(s[1:])
			if !ok {
				return nil, false
			}
			path, s = append(path, step), rest
			continue
		}
		if len(path) > 0 {
			if s[0] != '.' {
				return nil, false
			}
			s = s[1:]
		}
		end := 0
		for end < len(s) && (isNamePart(s[end]) || s[end] == '-') {
			end++
		}
		if end == 0 || !isNameStart(s[0]) {
			return nil, false
		}
		path, s = append(path, PathStep{Key: s[:end], Index: -1}), s[end:]
	}
	return path, len(path) > 0
}

// parseSubscript parses a subscript after its [.
func parseSubscript(s string) (step PathStep, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return step, "", false
		}
		key, err := strconv.Unquote(quoted)
		rest, ok = strings.CutPrefix(s[len(quoted):], "]")
		return PathStep{Key: key, Index: -1}, rest, ok && err == nil
	}
	number, rest, ok := strings.Cut(s, "]")
	index, err := strconv.ParseUint(number, 10, 31)
	return PathStep{Index: int(index)}, rest, ok && err == nil
}
