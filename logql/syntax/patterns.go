package syntax

import (
	"slices"
	"strconv"
	"strings"

	"logstow/message/pattern"
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
	for i, part := range parts {
		if part.Capture != "" && part.Capture != pattern.Unnamed && slices.Contains(parts[:i], part) {
			p.fail(t, "pattern captures %s twice", part.Capture)
		}
	}
	if len(pattern.New(parts).Names) == 0 {
		p.fail(t, "pattern needs a named capture: <name>")
	}
	return &PatternParser{Expr: t.text, Parts: parts}
}

// linePattern is the pattern of a line filter, which names nothing.
func (p *parser) linePattern(t token) []pattern.Part {
	parts := p.pattern(t)
	if names := pattern.New(parts).Names; len(names) > 0 {
		p.fail(t, "a pattern of a line filter can contain only <_>, not <%s>", names[0])
	}
	return parts
}

func (p *parser) pattern(t token) []pattern.Part {
	parts := pattern.Split(t.text, false)
	for i := 1; i < len(parts); i++ {
		if parts[i-1].Capture != "" && parts[i].Capture != "" {
			p.fail(t, "pattern has no text between <%s> and <%s>", parts[i-1].Capture, parts[i].Capture)
		}
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
