package query

import (
	"errors"
	"fmt"
	"regexp"

	"logstow/record"
	"logstow/segment"
	"logstow/token"
	"logstow/where"
)

// matcher is a compiled [Selection]. It does not change once it is made.
type matcher struct {
	sel              *Selection
	from, to         int64  // Unix nanoseconds
	fromText, toText string // the same as stored
	levels           record.LevelSet
	required         []literal // the patterns, in order
	regexps          []*regexp.Regexp
	excludes         []literal
	where            []*where.Program
	// anchor is nil where every record has to be looked at. unescaped is the one for
	// text without \u escapes, where what the expression requires stands as it is.
	anchor, unescaped *literal
	// filter is what token filters are asked for.
	filter filterQuery
}

// ErrSelection is wrapped by the errors of [New]: the selection is invalid.
var ErrSelection = errors.New("invalid query")

// compile compiles a selection. A mistake in it wraps [ErrSelection].
func compile(sel Selection) (*matcher, error) {
	if err := sel.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelection, err)
	}
	m, err := compileMatcher(&sel)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelection, err)
	}
	return m, nil
}

// withoutConditions matches everything in the range, of the selected sources, without a limit.
func (m *matcher) withoutConditions() *matcher {
	sel := Selection{Services: m.sel.Services, From: m.sel.From, To: m.sel.To, Sources: m.sel.Sources, Newest: m.sel.Newest, Now: m.sel.Now}
	return &matcher{sel: &sel, from: m.from, to: m.to, fromText: m.fromText, toText: m.toText}
}

func compileMatcher(sel *Selection) (*matcher, error) {
	m := &matcher{sel: sel, from: nanos(sel.From), to: nanos(sel.To), levels: sel.Levels}
	m.fromText, m.toText = string(record.AppendTime(nil, m.from)), string(record.AppendTime(nil, m.to))
	plain := func(pattern string) literal {
		text := []byte(pattern)
		return newLiteral(text, sel.IgnoreCase, !sel.Substring && token.Whole(text))
	}
	for _, p := range sel.Patterns {
		m.required = append(m.required, plain(p))
	}
	for _, p := range sel.Excludes {
		m.excludes = append(m.excludes, plain(p))
	}
	candidates := m.required
	for _, expr := range sel.Regexps {
		re, lit, err := compileRegexp(expr, sel.IgnoreCase)
		if err != nil {
			return nil, fmt.Errorf("regular expression %q: %w", expr, err)
		}
		m.regexps = append(m.regexps, re)
		candidates = append(candidates, lit)
	}
	for i := range candidates {
		m.filter.consider(filterText{candidates[i].text, candidates[i].whole})
	}
	m.anchor = anchor(candidates)
	for _, expr := range sel.Where {
		program, err := where.Compile(expr, sel.Now)
		if err != nil {
			return nil, fmt.Errorf("--where %q: %w", expr, err)
		}
		m.where = append(m.where, program)
		for _, group := range program.Groups() {
			m.filter.considerFields(group)
		}
		for _, text := range program.Required() {
			candidates = append(candidates, newLiteral([]byte(text), false, false))
		}
	}
	m.unescaped = anchor(candidates)
	return m, nil
}

// inRange reports whether records between two times can be in the range.
func (m *matcher) inRange(start, end int64) bool { return start < m.to && end >= m.from }

// mayMatch reports whether records between two times, with these counts by level,
// can match at all.
func (m *matcher) mayMatch(start, end int64, levels record.Counts) bool {
	return m.inRange(start, end) && m.levels.Count(levels) > 0
}

// checksFor are the checks that a block's metadata do not answer for all its records.
func (m *matcher) checksFor(b *segment.Block, service string) checks {
	return checks{
		time:    b.Start < m.from || b.End >= m.to,
		level:   m.levels.Count(b.Levels) < b.Records,
		source:  len(m.sel.Sources) > 0,
		service: service,
	}
}

// allChecks are the checks of records of which nothing is known but the service.
func (m *matcher) allChecks(service string) checks {
	return checks{time: true, level: true, source: len(m.sel.Sources) > 0, service: service}
}

// levelsSuffice reports whether the numbers by level of records between two times
// answer how many of them match.
func (m *matcher) levelsSuffice(start, end int64) bool {
	return start >= m.from && end < m.to && m.timeAndLevelOnly()
}

// timeAndLevelOnly reports whether nothing but time and level is asked for.
func (m *matcher) timeAndLevelOnly() bool {
	return len(m.sel.Sources)+len(m.where)+len(m.required)+len(m.regexps)+len(m.excludes) == 0
}
