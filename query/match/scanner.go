package match

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"logstow/internal/units"
	"logstow/query/patterns"

	"logstow/field/where"
	"logstow/message/parse"
	"logstow/record"
	"logstow/record/attributes"
	"logstow/segment"
)

// Stage is a condition that rejects candidates, the records that are checked after the search for the anchor.
type Stage uint8

// The stages, in the order of their checks. StagePattern and StageInside are one check.
const (
	StageTime Stage = iota
	StageLevel
	StageSource
	StagePattern
	// StageInside rejects records that contain a pattern only inside a longer identifier.
	StageInside
	// StageIDs rejects records without any of the identifiers.
	StageIDs
	StageRegexp
	StageExclude
	StageTemplate
	StageWhere
	// StageUnread is StageWhere for records that are not read: other conditions may reject them, too.
	StageUnread
	// StageSample rejects records that match and are not in the sample.
	StageSample
	// StageAttributes rejects records without attributes, which only LogQL does.
	StageAttributes
	Stages
)

// Rejections counts candidates by the stage that rejected them.
type Rejections [Stages]uint64

// rejected counts the records that did not match.
type rejected struct{ counts Rejections }

// TakeRejections returns the numbers of records that did not match, and clears them.
func (r *rejected) TakeRejections() (taken Rejections) {
	taken, r.counts = r.counts, taken
	return taken
}

// Scanner searches blocks. Not safe for concurrent use.
type Scanner struct {
	m           *Matcher
	checks      Checks
	message     record.Message // scratch: a message of several lines as logged
	lower       []byte         // scratch: a block in lower case
	ids         []byte         // scratch: a message in lower case
	lastSource  []byte         // the last source checked
	lastMatches bool           // whether lastSource matches
	broken      int            // number of lines of the block that are not records
	check       segment.BlockCheck
	at          int            // offset in the block of the current record
	columns     record.Columns // of the last record
	rejected
	templates []*patterns.Matcher
	where     *where.Evaluators
	records   RecordMatcher // nil if there is no condition
	record    where.Record
	splitter  *parse.Splitter
	splitters parse.Splitters
}

// NewScanner makes a scanner for a query.
func NewScanner(m *Matcher) *Scanner {
	s := &Scanner{m: m, where: m.Where.Evaluators()}
	for _, template := range m.Selection.Templates {
		s.templates = append(s.templates, patterns.NewMatcher(template))
	}
	if filter := m.Selection.Records; filter != nil {
		s.records = filter.New()
	}
	return s
}

// Scan calls found for every matching record of a block's text, in order, with its start and end in text (without the
// newline) and its columns, which are valid until found returns. If lines are not records, Scan searches the others and
// returns an error. It also returns an error if a record differs from what the footer says about the block, after all
// matches.
func (s *Scanner) Scan(text []byte, c Checks, found func(start, end int, columns *record.Columns)) error {
	s.broken = 0
	s.prepare(c)
	if c.Block != nil {
		s.check.Reset(c.Block)
	}
	anchors := &s.checks.Fields.anchors
	if s.attributed() {
		anchors = &s.checks.Fields.attributed
	}
	anchor := anchors.unescaped
	if anchor != anchors.any && bytes.Contains(text, []byte(`\u`)) {
		anchor = anchors.any
	}
	if anchors.ascii != nil && anchor == anchors.any && !foldingOutside(text) {
		anchor = anchors.ascii
	}
	byIDs := anchor == nil && s.m.ids != nil && !s.attributed()
	var ids idSearch
	if byIDs {
		ids, s.lower = s.m.ids.search(text, s.lower)
	}
	searched := text
	if anchor != nil && anchor.fold {
		s.lower = appendLower(s.lower[:0], text)
		searched = s.lower
	}
	for pos := 0; pos < len(text); {
		start, hit, before := pos, pos, false
		if anchor != nil {
			n := anchor.indexExact(searched[pos:])
			if n < 0 {
				break
			}
			hit = pos + n
			start, before = record.Start(text, pos, hit)
		} else if byIDs {
			found, ok := ids.next(pos)
			if !ok {
				break
			}
			hit = found.start
			start, before = record.Start(text, pos, hit)
		}
		end, behind := record.End(text, hit)
		s.at = start
		if s.matches(text[start:end], hit-start, before || behind) {
			found(start, end, &s.columns)
		}
		pos = end + 1
	}
	if s.broken > 0 {
		return fmt.Errorf("%s without the form of a record", units.Count(s.broken, "line"))
	}
	if c.Block != nil {
		return s.check.Done(anchor == nil && !byIDs)
	}
	return nil
}

// prepare sets the checks, and makes the splitter of the fields.
func (s *Scanner) prepare(c Checks) {
	if c.Fields == nil {
		c.Fields = s.m.FieldsOf("")
	}
	s.checks = c
	if len(s.where.Each) > 0 {
		s.splitter = s.splitters.Of(c.Fields.Parser, s.m.Where.Names...)
	}
}

// Match splits one stored record and reports whether it matches; continued is set if it has more than one line. The columns
// are empty if line is not a record.
func (s *Scanner) Match(line []byte, c Checks, continued bool) (record.Columns, bool) {
	s.prepare(c)
	ok := s.matches(line, 0, continued)
	return s.columns, ok
}

// Shrink drops the buffers that may be as large as a block.
func (s *Scanner) Shrink() { s.lower, s.ids = nil, nil }

// matches splits a stored record into s.columns and reports whether it matches. hit is the offset of the first anchor in it; continued is
// set if it has more than one line.
func (s *Scanner) matches(line []byte, hit int, continued bool) bool {
	m, f := s.m, &s.columns
	var ok bool
	if *f, ok = record.Split(line); !ok {
		s.broken++
		return false
	}
	if s.checks.Block != nil {
		s.check.Add(line, f)
	}
	switch {
	case s.checks.Time && (string(line[:record.TimeLen]) < m.fromText || string(line[:record.TimeLen]) >= m.toText):
		return s.reject(StageTime)
	case s.checks.Level && !m.Levels.Has(f.Level):
		return s.reject(StageLevel)
	case m.Selection.Attributed && f.Attributes == nil:
		return s.reject(StageAttributes)
	case s.checks.Source && !s.matchesSource(f.Source):
		return s.reject(StageSource)
	}
	message, from := f.Raw, 0
	if continued {
		s.message.Decode(message)
		message = s.message
	} else if !s.attributed() && len(m.Required) == 1 && len(m.regexps)+len(s.where.Each)+len(s.templates)+len(m.Selection.Hints) == 0 {
		// The only literal is the anchor, so it does not occur before hit.
		from = max(0, hit-(len(line)-len(message)))
	}
	for i := range m.Required {
		switch s.occurrence(f, message, from, &m.Required[i]) {
		case Inside:
			return s.reject(StageInside)
		case Absent:
			return s.reject(StagePattern)
		}
	}
	if m.ids != nil && !s.any(f, message, s.hasID) {
		return s.reject(StageIDs)
	}
	for _, re := range m.regexps {
		if !s.any(f, message, re.Match) {
			return s.reject(StageRegexp)
		}
	}
	for i := range m.excludes {
		if s.occurrence(f, message, 0, &m.excludes[i]) == Present {
			return s.reject(StageExclude)
		}
	}
	for _, template := range s.templates {
		if !template.Matches(message) {
			return s.reject(StageTemplate)
		}
	}
	if len(s.where.Each) > 0 && !s.matchesWhere(line, f, message) ||
		s.records != nil && !s.records.Matches(s.checks.Service, s.instance(), s.checks.Fields.Parser, f, message) {
		return s.reject(StageWhere)
	}
	if m.sampled > 0 && xxhash.Sum64(line) >= m.sampled {
		return s.reject(StageSample)
	}
	return true
}

// attributed reports whether attributes of records of the block may decide whether they match.
func (s *Scanner) attributed() bool {
	return !s.m.Selection.MessageOnly && (s.checks.Block == nil || s.checks.Block.Attributes > 0)
}

// occurrence reports how a record contains a literal: its message from an offset on, or a string among its attributes.
func (s *Scanner) occurrence(f *record.Columns, message []byte, from int, l *Literal) Occurrence {
	found := l.find(message, from)
	if found == Present || f.Attributes == nil || s.m.Selection.MessageOnly {
		return found
	}
	for text := range attributes.Strings(f.Attributes) {
		if found = max(found, l.find(text, 0)); found == Present {
			break
		}
	}
	return found
}

// any reports whether a condition holds for a record's message, or a string among its attributes.
func (s *Scanner) any(f *record.Columns, message []byte, holds func([]byte) bool) bool {
	if holds(message) {
		return true
	}
	if f.Attributes == nil || s.m.Selection.MessageOnly {
		return false
	}
	for text := range attributes.Strings(f.Attributes) {
		if holds(text) {
			return true
		}
	}
	return false
}

// hasID reports whether a text contains one of the identifiers.
func (s *Scanner) hasID(text []byte) (ok bool) {
	var ids idSearch
	ids, s.ids = s.m.ids.search(text, s.ids)
	_, ok = ids.next(0)
	return ok
}

// reject counts a candidate that a condition rejects, and returns false.
func (s *Scanner) reject(by Stage) bool {
	s.counts[by]++
	return false
}

// matchesWhere reports whether every expression is true for a record.
func (s *Scanner) matchesWhere(line []byte, f *record.Columns, message []byte) bool {
	var at int64
	if slices.ContainsFunc(s.m.Where.Programs, (*where.Program).Timed) {
		var err error
		if at, err = record.ParseTime(line[:record.TimeLen]); err != nil {
			s.broken++
			return false
		}
	}
	s.splitter.Split(f.Attributes, message)
	s.record = where.Record{
		Time:       at,
		Level:      f.Level,
		Service:    s.checks.Service,
		Source:     f.Source,
		Instance:   s.instance(),
		Attributes: f.Attributes,
		Message:    message,
		Fields:     s.splitter,
	}
	return s.where.AllHold(&s.record)
}

// instance returns the instance of the current record.
func (s *Scanner) instance() string {
	if s.checks.InstanceAt != nil {
		return s.checks.InstanceAt(s.at)
	}
	return s.checks.Instance
}

// matchesSource reports whether a source is selected. It caches the last source, which most records repeat.
func (s *Scanner) matchesSource(source []byte) bool {
	if s.lastSource == nil || !bytes.Equal(source, s.lastSource) {
		s.lastSource = append(s.lastSource[:0], source...)
		s.lastMatches = s.m.Selection.matchesSource(string(source))
	}
	return s.lastMatches
}
