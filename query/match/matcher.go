package match

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"logstow/field/where"
	"logstow/filter/token"
	"logstow/record"
	"logstow/segment"
)

// Matcher is a compiled [Selection]. Immutable, and safe for concurrent use.
type Matcher struct {
	Selection        *Selection
	From, To         int64  // Unix nanoseconds
	fromText, toText string // From and To as in stored records
	Levels           record.LevelSet
	Required         []Literal // the patterns, in order
	ids              *idSet    // nil if there is no condition
	regexps          []*regexp.Regexp
	excludes         []Literal
	Where            where.Conditions
	origins          *origins
	// sampled is the number of hashes that are in the sample, 0 if all are.
	sampled uint64
	// texts are the literals that every match contains.
	texts []Literal
	// ascii are the literals that every match without [foldingOutside] contains.
	ascii []Literal
	// filter is the query of token filters by the conditions on the whole message.
	filter filterQuery
	// parsers has the parts that depend on the parser of the messages.
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

// With returns the matcher of another selection. It compiles the conditions on messages again only if they differ. A mistake
// in the selection wraps [ErrSelection].
func (m *Matcher) With(sel Selection) (*Matcher, error) {
	if !sel.sameMessages(m.Selection) {
		return Compile(sel)
	}
	if err := sel.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelection, err)
	}
	return m.within(sel), nil
}

// WithoutConditions returns a matcher of all records of the selected services and sources in the range, without a limit.
func (m *Matcher) WithoutConditions() *Matcher {
	s := m.Selection
	return (&Matcher{}).within(Selection{
		Services: s.Services,
		From:     s.From,
		To:       s.To,
		Sources:  s.Sources,
		Newest:   s.Newest,
		Now:      s.Now,
		Parser:   s.Parser,
	})
}

// within returns a copy with another selection, whose conditions on messages are the same.
func (m *Matcher) within(sel Selection) *Matcher {
	other := *m
	if other.parsers == nil {
		other.parsers = &fieldsByParser{}
	}
	other.Selection, other.From, other.To, other.Levels = &sel, Nanos(sel.From), Nanos(sel.To), sel.Levels
	other.sampled = uint64(math.Ldexp(sel.Sample, 64))
	if sel.Sample > 0 {
		other.sampled = max(other.sampled, 1)
	}
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
	candidates, ascii := m.Required, slices.Clone(m.Required)
	for _, expr := range sel.Regexps {
		re, every, inASCII, err := compileRegexp(expr, sel.IgnoreCase)
		if err != nil {
			return nil, fmt.Errorf("regular expression %q: %w", expr, err)
		}
		m.regexps = append(m.regexps, re)
		candidates, ascii = append(candidates, every), append(ascii, inASCII)
	}
	for i := range candidates {
		m.filter.consider(filterText{candidates[i].text, candidates[i].whole})
	}
	m.filter.considerIDs(sel.IDs, sel.Substring)
	m.texts, m.ascii = candidates, ascii
	for _, expr := range sel.Where {
		program, err := where.Compile(expr, sel.Now)
		if err != nil {
			return nil, fmt.Errorf("--where %q: %w", expr, err)
		}
		m.Where.Add(program)
	}
	m.origins = newOrigins(m.Where.Programs)
	return m, nil
}

// InRange reports whether records between two times, in Unix nanoseconds, may be in the range.
func (m *Matcher) InRange(start, end int64) bool { return start < m.To && end >= m.From }

// MayMatch reports whether records between two times, in Unix nanoseconds, with these counts by level may match.
func (m *Matcher) MayMatch(start, end int64, levels record.Counts) bool {
	return m.InRange(start, end) && m.Levels.Count(levels) > 0
}

// MayMatchOrigin reports whether records of an instance of a service may match.
func (m *Matcher) MayMatchOrigin(service, instance string) bool {
	return m.origins.mayHold(service, instance)
}

// Instanced reports whether a condition uses the instances of records.
func (m *Matcher) Instanced() bool {
	return m.Selection.Records != nil && m.Selection.Records.Instanced || slices.ContainsFunc(m.Where.Programs, (*where.Program).Instanced)
}

// Checks are the checks that each record of a block needs in addition to those of its message.
type Checks struct {
	Time, Level, Source bool
	Service             string // of all records of the block
	// Instance is the instance of all records of the block. If InstanceAt is set, it returns the instance of the record at
	// an offset of the text instead; it is called with ascending offsets.
	Instance   string
	InstanceAt func(start int) string
	// Fields are the conditions for the parser of the block's segment; nil is the parser auto.
	Fields *Fields
	// Block is the block as in the footer, with which its records are compared; nil for text without a footer.
	Block *segment.Block
}

// ChecksFor returns the checks that a block's metadata do not settle for all its records.
func (m *Matcher) ChecksFor(b *segment.Block, service, instance string) Checks {
	return Checks{
		Time:     b.Start < m.From || b.End >= m.To,
		Level:    m.Levels.Count(b.Levels) < b.Records,
		Source:   len(m.Selection.Sources) > 0,
		Service:  service,
		Instance: instance,
		Block:    b,
	}
}

// FieldsOf returns the conditions for the messages of a segment, by the parser in its metadata. The selection's parser, if
// set, takes precedence. The result is cached by parser.
func (m *Matcher) FieldsOf(stored string) *Fields {
	if m.Selection.Parser != nil {
		stored = m.Selection.Parser.String()
	}
	m.parsers.mu.Lock()
	defer m.parsers.mu.Unlock()
	return m.parsers.all.Get(stored, func() *Fields {
		return compileFields(stored, m.Where.Programs, m.Selection, m.texts, m.ascii, m.filter)
	})
}

// AllChecks returns the checks of records of which only service and instance are known.
func (m *Matcher) AllChecks(service, instance string) Checks {
	return Checks{Time: true, Level: true, Source: len(m.Selection.Sources) > 0, Service: service, Instance: instance}
}

// LevelsSuffice reports whether, for records between two times in Unix nanoseconds, their counts by level determine how many
// match.
func (m *Matcher) LevelsSuffice(start, end int64) bool {
	return start >= m.From && end < m.To && m.TimeAndLevelOnly()
}

// TimeAndLevelOnly reports whether the only conditions are time and level.
func (m *Matcher) TimeAndLevelOnly() bool {
	return !m.needsText() && len(m.Selection.Sources)+len(m.Where.Programs) == 0 && !m.Selection.Attributed
}

// needsText reports whether there are conditions besides time, level, source, expressions and whether there are attributes.
func (m *Matcher) needsText() bool {
	return m.sampled != 0 || len(m.Required)+len(m.regexps)+len(m.excludes)+len(m.Selection.Templates) > 0 ||
		m.ids != nil || m.Selection.Records != nil
}
