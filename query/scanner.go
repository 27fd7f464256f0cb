package query

import (
	"bytes"
	"fmt"
	"slices"

	"logstow/record"
	"logstow/where"
)

// checks are what has to be checked in each record, beside its message.
type checks struct {
	time, level, source bool
	service             string // of all the block's records
}

// A stage is a condition that rejects candidates: records that the search for the
// anchor came to. The order is that in which they are checked, but that stageInside
// and stagePattern are one check.
type stage uint8

const (
	stageTime stage = iota
	stageLevel
	stageSource
	stagePattern
	// stageInside rejects records that contain a pattern only inside of a longer identifier.
	stageInside
	stageRegexp
	stageExclude
	stageWhere
	stages
)

// rejections are numbers of candidates by the stage that rejected them.
type rejections [stages]uint64

// A scanner searches blocks for one goroutine.
type scanner struct {
	m           *matcher
	checks      checks
	message     []byte         // scratch: a message of several lines as logged
	lower       []byte         // scratch: a block in lower case
	lastSource  []byte         // the last source looked at
	lastMatches bool           // and whether it matches
	broken      int            // lines of the block that are no records
	columns     record.Columns // of the record that matched last
	// rejected counts the candidates that did not match; whoever scans takes it.
	rejected rejections
	where    []*where.Evaluator
	record   where.Record
}

// scan calls found for every matching record of a block's text, in order, with
// its place in text (without the newline) and its columns, which are valid until found
// returns. Lines that are no records are an error; the other matches have been found nevertheless.
func (s *scanner) scan(text []byte, c checks, found func(start, end int, columns *record.Columns)) error {
	s.checks, s.broken = c, 0
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
			start, before = record.Start(text, pos, hit)
		}
		end, behind := record.End(text, hit)
		if columns, ok := s.matches(text[start:end], hit-start, before || behind); ok {
			s.columns = columns
			found(start, end, &s.columns)
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

// match splits one stored record and reports whether it matches; continued says that it has
// more than one line. The columns of a line that is no record are empty.
func (s *scanner) match(line []byte, c checks, continued bool) (record.Columns, bool, error) {
	s.checks = c
	if err := s.prepare(); err != nil {
		return record.Columns{}, false, err
	}
	columns, ok := s.matches(line, 0, continued)
	return columns, ok, nil
}

// takeRejections returns the numbers of candidates that did not match, and clears them.
func (s *scanner) takeRejections() rejections {
	taken := s.rejected
	s.rejected = rejections{}
	return taken
}

// shrink drops the buffers that are as large as a block.
func (s *scanner) shrink() { s.lower = nil }

// matches splits a stored record and reports whether it matches. The anchor does not occur
// in it before hit. continued says that it has more than one line.
func (s *scanner) matches(line []byte, hit int, continued bool) (f record.Columns, ok bool) {
	m := s.m
	f, ok = record.Split(line)
	if !ok {
		s.broken++
		return f, false
	}
	switch {
	case s.checks.time && (string(line[:record.TimeLen]) < m.fromText || string(line[:record.TimeLen]) >= m.toText):
		return f, s.reject(stageTime)
	case s.checks.level && !m.levels.Has(f.Level):
		return f, s.reject(stageLevel)
	case s.checks.source && !s.matchesSource(f.Source):
		return f, s.reject(stageSource)
	}
	message, from := f.Raw, 0
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
			return f, s.reject(stageInside)
		case absent:
			return f, s.reject(stagePattern)
		}
	}
	for _, re := range m.regexps {
		if !re.Match(message) {
			return f, s.reject(stageRegexp)
		}
	}
	for i := range m.excludes {
		if m.excludes[i].find(message, 0) == present {
			return f, s.reject(stageExclude)
		}
	}
	if len(s.where) == 0 || s.matchesWhere(line, &f, message) {
		return f, true
	}
	return f, s.reject(stageWhere)
}

// reject counts a candidate that a condition rejects, and is false.
func (s *scanner) reject(by stage) bool {
	s.rejected[by]++
	return false
}

// matchesWhere reports whether a record fulfils every expression.
func (s *scanner) matchesWhere(line []byte, f *record.Columns, message []byte) bool {
	var at int64
	if slices.ContainsFunc(s.m.where, (*where.Program).Timed) {
		var err error
		if at, err = record.ParseTime(line[:record.TimeLen]); err != nil {
			s.broken++
			return false
		}
	}
	s.record = where.Record{Time: at, Level: f.Level, Service: s.checks.service, Source: f.Source, Message: message}
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
		s.lastMatches = s.m.sel.matchesSource(string(source))
	}
	return s.lastMatches
}
