package query

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"logstow/record"
	"logstow/segment"
	"logstow/token"
	"logstow/where"
)

// A matcher is a compiled [Selection]. It does not change once it is made.
type matcher struct {
	from, to         int64  // Unix nanoseconds
	fromText, toText string // the same as stored
	levels           record.LevelSet
	sources          []string // globs
	required         []literal
	regexps          []*regexp.Regexp
	excludes         []literal
	where            []*where.Program
	// anchor is nil where every record has to be looked at. unescaped is the one for
	// text without \u escapes, where what the expression requires stands as it is.
	anchor, unescaped *literal
	// filter is what token filters are asked for.
	filter filterQuery
}

func newMatcher(sel *Selection) (*matcher, error) {
	m := &matcher{from: nanos(sel.From), to: nanos(sel.To), levels: sel.Levels, sources: sel.Sources}
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

// checks says what has to be looked at in each record, beside its message.
type checks struct {
	time, level, source bool
	service             string // of all the block's records
}

// inRange reports whether records between two times can be in the range.
func (m *matcher) inRange(start, end int64) bool { return start < m.to && end >= m.from }

// mayMatch reports whether records between two times, with these counts by level,
// can match at all.
func (m *matcher) mayMatch(start, end int64, levels record.Counts) bool {
	return m.inRange(start, end) && m.levels.Count(levels) > 0
}

// mayMatchSources reports whether a segment with these sources can hold matches.
func (m *matcher) mayMatchSources(sources []string) bool {
	return len(m.sources) == 0 || slices.Equal(sources, []string{segment.ManySources}) || slices.ContainsFunc(sources, m.matchesSource)
}

// matchesSource reports whether a source is selected.
func (m *matcher) matchesSource(source string) bool {
	return slices.ContainsFunc(m.sources, func(glob string) bool { return doublestar.MatchUnvalidated(glob, source) })
}

// checksFor are those that a block does not answer for all its records.
func (m *matcher) checksFor(t *task) checks {
	b := &t.block
	return checks{
		time:    b.Start < m.from || b.End >= m.to,
		level:   m.levels.Count(b.Levels) < b.Records,
		source:  len(m.sources) > 0,
		service: t.segment.Name.Service,
	}
}

// levelsSuffice reports whether the numbers by level of records between two times
// answer how many of them match.
func (m *matcher) levelsSuffice(start, end int64) bool {
	return start >= m.from && end < m.to && m.timeAndLevelOnly()
}

// timeAndLevelOnly reports whether nothing but time and level is asked for.
func (m *matcher) timeAndLevelOnly() bool {
	return len(m.sources)+len(m.where)+len(m.required)+len(m.regexps)+len(m.excludes) == 0
}

// A scanner searches blocks for one goroutine.
type scanner struct {
	m           *matcher
	checks      checks
	message     []byte // scratch: a message of several lines as logged
	lower       []byte // scratch: a block in lower case
	lastSource  []byte // the last source looked at
	lastMatches bool   // and whether it matches
	broken      int    // lines of the block that are no records
	// rejected counts the candidates that did not match; whoever scans takes it.
	rejected rejections
	where    []*where.Evaluator
	record   where.Record
}

// scan calls found for every matching record of a block's text, in order, with
// its place in text (without the newline). It is an error when lines are no
// records; what else matches has been found nevertheless.
func (s *scanner) scan(text []byte, t checks, found func(start, end int)) error {
	s.checks, s.broken = t, 0
	if err := s.prepare(); err != nil {
		return err
	}
	anchor := s.m.unescaped
	if anchor != s.m.anchor && bytes.Contains(text, []byte(`\u`)) {
		anchor = s.m.anchor
	}
	searched := text
	if anchor != nil && anchor.fold {
		s.lower = appendLower(s.lower[:0], text)
		searched = s.lower
	}
	for pos := 0; pos < len(text); {
		start, hit, before := pos, pos, false
		if anchor != nil {
			n := bytes.Index(searched[pos:], anchor.text)
			if n < 0 {
				break
			}
			hit = pos + n
			start, before = recordStart(text, pos, hit)
		}
		end, behind := recordEnd(text, hit)
		if s.matches(text[start:end], hit-start, before || behind) {
			found(start, end)
		}
		pos = end + 1
	}
	if s.broken > 0 {
		return fmt.Errorf("%d lines are not records", s.broken)
	}
	return nil
}

// prepare makes what matches needs.
func (s *scanner) prepare() error {
	for _, program := range s.m.where[len(s.where):] {
		evaluator, err := program.Evaluator()
		if err != nil {
			return err
		}
		s.where = append(s.where, evaluator)
	}
	return nil
}

// matches reports whether a stored record matches. The anchor does not occur in
// it before hit. continued says that it has more than one line.
func (s *scanner) matches(line []byte, hit int, continued bool) bool {
	m := s.m
	f, ok := split(line)
	if !ok {
		s.broken++
		return false
	}
	switch {
	case s.checks.time && (string(line[:record.TimeLen]) < m.fromText || string(line[:record.TimeLen]) >= m.toText):
		return s.reject(stageTime)
	case s.checks.level && !m.levels.Has(f.level):
		return s.reject(stageLevel)
	case s.checks.source && !s.matchesSource(f.source):
		return s.reject(stageSource)
	}
	message, from := f.message, 0
	if continued {
		s.message = record.AppendMessage(s.message[:0], message)
		message = s.message
	} else if len(m.required) == 1 && len(m.regexps)+len(m.where) == 0 {
		// The one literal is the anchor: nothing before the hit is of interest.
		from = max(0, hit-(len(line)-len(message)))
	}
	for i := range m.required {
		switch m.required[i].find(message, from) {
		case inside:
			return s.reject(stageInside)
		case absent:
			return s.reject(stagePattern)
		}
	}
	for _, re := range m.regexps {
		if !re.Match(message) {
			return s.reject(stageRegexp)
		}
	}
	for i := range m.excludes {
		if m.excludes[i].find(message, 0) == present {
			return s.reject(stageExclude)
		}
	}
	if len(s.where) == 0 || s.matchesWhere(line, &f, message) {
		return true
	}
	return s.reject(stageWhere)
}

// reject counts a candidate that a condition rejects, and is false.
func (s *scanner) reject(by stage) bool {
	s.rejected[by]++
	return false
}

// matchesWhere reports whether a record fulfils every expression.
func (s *scanner) matchesWhere(line []byte, f *fields, message []byte) bool {
	var at int64
	if slices.ContainsFunc(s.m.where, (*where.Program).Timed) {
		var err error
		if at, err = record.ParseTime(line[:record.TimeLen]); err != nil {
			s.broken++
			return false
		}
	}
	s.record = where.Record{Time: at, Level: f.level, Service: s.checks.service, Source: f.source, Message: message}
	for _, e := range s.where {
		if !e.Holds(&s.record) {
			return false
		}
	}
	return true
}

// matchesSource reports whether a source is selected; most records have the source of the one before.
func (s *scanner) matchesSource(source []byte) bool {
	if s.lastSource == nil || !bytes.Equal(source, s.lastSource) {
		s.lastSource = append(s.lastSource[:0], source...)
		s.lastMatches = s.m.matchesSource(string(source))
	}
	return s.lastMatches
}
