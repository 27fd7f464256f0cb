package match

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"logstow/field/where"
	"logstow/filter/token"
	"logstow/record"
	"logstow/segment"
)

// Matcher is a compiled [Selection]. It does not change once it is made.
type Matcher struct {
	Selection        *Selection
	From, To         int64  // Unix nanoseconds
	fromText, toText string // the same as stored
	Levels           record.LevelSet
	Required         []Literal // the patterns, in order
	ids              *idSet    // nil if there is no condition
	regexps          []*regexp.Regexp
	excludes         []Literal
	Where            []*where.Program
	origins          *origins
	// names are the fields of all programs, one after the other; those of each start at an index of
	// offsets.
	names   []string
	offsets []int
	// anchor is the literal to search for, nil if every record has to be checked; texts are those of
	// which it is the best.
	anchor *Literal
	texts  []Literal
	// filter is what the conditions on the whole message look up in token filters.
	filter filterQuery
	// parsers are what depends on the parser of messages.
	parsers *fieldsByParser
}

// ErrSelection is wrapped by the errors of [Compile]: the selection is invalid.
var ErrSelection = errors.New("invalid query")

// Compile compiles a selection. A mistake in it wraps [ErrSelection].
func Compile(sel Selection) (*Matcher, error) {
	if err := sel.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelection, err)
	}
	m, err := compileMessage(&sel)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelection, err)
	}
	return m.within(sel), nil
}

// With is the matcher of another selection. The conditions on messages are compiled again only if
// they differ. A mistake in the selection wraps [ErrSelection].
func (m *Matcher) With(sel Selection) (*Matcher, error) {
	if !sel.sameMessages(m.Selection) {
		return Compile(sel)
	}
	if err := sel.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelection, err)
	}
	return m.within(sel), nil
}

// WithoutConditions matches everything in the range, of the selected sources, without a limit.
func (m *Matcher) WithoutConditions() *Matcher {
	s := m.Selection
	return (&Matcher{}).within(Selection{Services: s.Services, From: s.From, To: s.To, Sources: s.Sources, Newest: s.Newest, Now: s.Now, Parser: s.Parser})
}

// within is a copy with a selection's range, levels and sources.
func (m *Matcher) within(sel Selection) *Matcher {
	other := *m
	if other.parsers == nil {
		other.parsers = &fieldsByParser{all: map[string]*Fields{}}
	}
	other.Selection, other.From, other.To, other.Levels = &sel, Nanos(sel.From), Nanos(sel.To), sel.Levels
	other.fromText, other.toText = string(record.AppendTime(nil, other.From)), string(record.AppendTime(nil, other.To))
	return &other
}

// compileMessage compiles the conditions on messages.
func compileMessage(sel *Selection) (*Matcher, error) {
	m := &Matcher{}
	plain := func(pattern string) Literal {
		text := []byte(pattern)
		return NewLiteral(text, sel.IgnoreCase, !sel.Substring && token.Whole(text))
	}
	for _, p := range sel.Patterns {
		m.Required = append(m.Required, plain(p))
	}
	m.ids = newIDSet(sel.IDs, sel.IgnoreCase, sel.Substring)
	for _, p := range sel.Excludes {
		m.excludes = append(m.excludes, plain(p))
	}
	candidates := m.Required
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
	m.filter.considerIDs(sel.IDs, sel.Substring)
	m.anchor, m.texts = anchor(candidates), candidates
	for _, expr := range sel.Where {
		program, err := where.Compile(expr, sel.Now)
		if err != nil {
			return nil, fmt.Errorf("--where %q: %w", expr, err)
		}
		m.Where = append(m.Where, program)
		m.offsets = append(m.offsets, len(m.names))
		m.names = append(m.names, program.Fields()...)
	}
	m.origins = newOrigins(m.Where)
	return m, nil
}

// InRange reports whether records between two times can be in the range.
func (m *Matcher) InRange(start, end int64) bool { return start < m.To && end >= m.From }

// MayMatch reports whether records between two times, with these counts by level,
// can match at all.
func (m *Matcher) MayMatch(start, end int64, levels record.Counts) bool {
	return m.InRange(start, end) && m.Levels.Count(levels) > 0
}

// MayMatchOrigin reports whether records of an instance of a service can match.
func (m *Matcher) MayMatchOrigin(service, instance string) bool {
	return m.origins.mayHold(service, instance)
}

// Instanced reports whether a condition uses records' instances.
func (m *Matcher) Instanced() bool {
	return m.Selection.Records != nil && m.Selection.Records.Instanced || slices.ContainsFunc(m.Where, (*where.Program).Instanced)
}

// Checks are the columns to check in each record, beside its message.
type Checks struct {
	Time, Level, Source bool
	Service             string // of all the block's records
	// Instance is that of all the block's records, unless InstanceAt returns that of the record which starts at an
	// offset of the text. It is called in the order of records, for some of them.
	Instance   string
	InstanceAt func(start int) string
	// Fields are those of the block's segment; nil is those of auto.
	Fields *Fields
}

// ChecksFor are the checks that a block's metadata do not settle for all its records.
func (m *Matcher) ChecksFor(b *segment.Block, service, instance string) Checks {
	return Checks{
		Time:     b.Start < m.From || b.End >= m.To,
		Level:    m.Levels.Count(b.Levels) < b.Records,
		Source:   len(m.Selection.Sources) > 0,
		Service:  service,
		Instance: instance,
	}
}

// FieldsOf are the conditions for messages of a segment whose metadata has a parser: that of the
// selection instead, if it has one. They are made once a parser. Safe for concurrent use.
func (m *Matcher) FieldsOf(stored string) *Fields {
	if m.Selection.Parser != nil {
		stored = m.Selection.Parser.String()
	}
	return m.parsers.get(stored, func() *Fields {
		return compileFields(stored, m.Where, m.Selection.Templates, m.Selection.Hints, m.texts, m.filter)
	})
}

// AllChecks are the checks of records of which only the service and the instance are known.
func (m *Matcher) AllChecks(service, instance string) Checks {
	return Checks{Time: true, Level: true, Source: len(m.Selection.Sources) > 0, Service: service, Instance: instance}
}

// LevelsSuffice reports whether the counts by level of records between two times determine
// how many of them match.
func (m *Matcher) LevelsSuffice(start, end int64) bool {
	return start >= m.From && end < m.To && m.TimeAndLevelOnly()
}

// TimeAndLevelOnly reports whether the only conditions are time and level.
func (m *Matcher) TimeAndLevelOnly() bool {
	return len(m.Selection.Sources)+len(m.Where)+len(m.Required)+len(m.regexps)+len(m.excludes)+len(m.Selection.Templates) == 0 && m.ids == nil && m.Selection.Records == nil
}
