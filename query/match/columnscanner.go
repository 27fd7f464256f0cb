package match

import (
	"slices"

	"logstow/columns"
	"logstow/exact"
	"logstow/field"
	"logstow/field/where"
	"logstow/message"
	"logstow/segment"
)

// ColumnScanner selects records by columns. Not safe for concurrent use.
type ColumnScanner struct {
	m          *Matcher
	evaluators []*where.Evaluator
	records    []bool
	holds      Expression
	entries    [columns.MaxEntries]bool
	rejected   Rejections
}

// NewColumnScanner makes a scanner for a query.
func NewColumnScanner(m *Matcher) *ColumnScanner { return &ColumnScanner{m: m} }

// ColumnConditions reports whether there are conditions by which columns may exclude blocks: expressions or a [BlockFilter].
func (m *Matcher) ColumnConditions() bool { return len(m.Where) > 0 || m.Selection.Columns != nil }

// ColumnsSuffice reports whether columns can decide every condition.
func (m *Matcher) ColumnsSuffice() bool {
	return len(m.Required)+len(m.regexps)+len(m.excludes)+len(m.Selection.Templates) == 0 && m.ids == nil && m.Selection.Records == nil &&
		!slices.ContainsFunc(m.Where, func(p *where.Program) bool { return !Columnar(p) })
}

// ColumnNames returns the names of the columns that Select needs for these checks.
func (m *Matcher) ColumnNames(c Checks) (names []columns.Name) {
	add := func(wanted bool, name columns.Name) {
		if wanted && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(c.Time, columns.Name{Fixed: field.Time})
	add(c.Level, columns.Name{Fixed: field.Level})
	add(c.Source, columns.Name{Fixed: field.Source})
	if filter := m.Selection.Columns; filter != nil {
		for _, name := range filter.Names {
			add(true, name)
		}
	}
	for _, p := range m.Where {
		if !Columnar(p) {
			continue
		}
		add(p.Leveled(), columns.Name{Fixed: field.Level})
		add(p.Sourced(), columns.Name{Fixed: field.Source})
		for _, name := range p.Fields() {
			add(true, columns.Name{Field: name})
		}
	}
	return names
}

// Excluded reports whether no record of a block can match by the bounds of its pages. bounds returns the least and the
// greatest number of a column, as written, empty if it has no numbers; it is not ok if they are unknown.
func (m *Matcher) Excluded(bounds func(columns.Name) (least, greatest string, ok bool)) bool {
	for _, p := range m.Where {
		for _, b := range p.Bounds() {
			least, greatest, ok := bounds(columns.Name{Field: p.Fields()[b.Field]})
			if !ok {
				continue
			}
			low, first := exact.Parse([]byte(least))
			high, last := exact.Parse([]byte(greatest))
			if least == "" || first && last && !b.MayHold(low, high) {
				return true
			}
		}
	}
	return false
}

// Select selects the records of a block that may match. It is not ok if the text has to be read instead, because a column is
// missing or does not decide a condition.
func (s *ColumnScanner) Select(b *segment.Block, c Checks, cols Columns) (sel Selected, ok bool) {
	before := s.rejected
	defer func() {
		if !ok {
			s.rejected = before // the scan of the text counts them
		}
	}()
	n := int(b.Records)
	s.records = slices.Grow(s.records[:0], n)[:n]
	for i := range s.records {
		s.records[i] = true
	}
	sel = Selected{Count: n, Exact: s.m.ColumnsSuffice()}
	if c.Time && !s.inRange(b, cols.Seconds(), &sel) {
		return sel, false
	}
	if c.Level {
		page := cols.Page(columns.Name{Fixed: field.Level})
		if page == nil {
			return sel, false
		}
		s.keep(page, StageLevel, &sel, s.evaluate(page, func(v message.Value) bool { return s.m.Levels.Has(LevelOf(v)) }))
	}
	if c.Source {
		page := cols.Page(columns.Name{Fixed: field.Source})
		if page == nil {
			return sel, false
		}
		s.keep(page, StageSource, &sel, s.evaluate(page, func(v message.Value) bool { return s.m.Selection.matchesSource(string(v.Text)) }))
	}
	for i, p := range s.m.Where {
		if i == len(s.evaluators) {
			e, err := p.Evaluator()
			if err != nil {
				return sel, false
			}
			s.evaluators = append(s.evaluators, e)
		}
		if Columnar(p) && !s.where(p, s.evaluators[i], c.Service, cols, &sel) {
			return sel, false
		}
	}
	if sel.Count < n {
		sel.Records = s.records
	}
	return sel, true
}

// TakeRejections returns the numbers of records that did not match, and clears them.
func (s *ColumnScanner) TakeRejections() Rejections {
	taken := s.rejected
	s.rejected = Rejections{}
	return taken
}

// drop removes a record from the selection.
func (s *ColumnScanner) drop(i int, by Stage, sel *Selected) {
	s.records[i] = false
	sel.Count--
	s.rejected[by]++
}

// inRange drops the records outside of the time range; it is not ok if seconds are too coarse to decide.
func (s *ColumnScanner) inRange(b *segment.Block, runs []columns.Run, sel *Selected) bool {
	if len(runs) == 0 {
		return false
	}
	base, at := columns.FloorSecond(b.Start), 0
	for _, run := range runs {
		first, last := run.Times(base)
		switch {
		case first >= s.m.From && last < s.m.To:
		case last < s.m.From, first >= s.m.To:
			for i := at; i < run.End; i++ {
				s.drop(i, StageTime, sel)
			}
		default:
			return false
		}
		at = run.End
	}
	return true
}

// evaluate evaluates a condition for each entry of a page.
func (s *ColumnScanner) evaluate(page *columns.Page, holds func(message.Value) bool) []bool {
	for id, v := range page.Entries {
		s.entries[id] = holds(v)
	}
	return s.entries[:len(page.Entries)]
}

// keep drops the records whose entry does not satisfy a condition; holds has the result for each entry. The page must have
// no numbers.
func (s *ColumnScanner) keep(page *columns.Page, by Stage, sel *Selected, holds []bool) {
	if !slices.Contains(holds, false) {
		return
	}
	if page.IDs == nil {
		s.rejected[by] += uint64(sel.Count)
		sel.Count = 0
		clear(s.records)
		return
	}
	var padded [columns.MaxEntries]bool // avoids bounds checks
	copy(padded[:], holds)
	kept := 0
	for i, id := range page.IDs {
		if s.records[i] = s.records[i] && padded[id]; s.records[i] {
			kept++
		}
	}
	s.rejected[by] += uint64(sel.Count - kept)
	sel.Count = kept
}

// where drops the records for which an expression is not true; it is not ok if a page is missing.
func (s *ColumnScanner) where(p *where.Program, e *where.Evaluator, service string, cols Columns, sel *Selected) bool {
	if page, entries := s.holds.OfEntries(p, e, service, cols); page != nil {
		s.keep(page, StageWhere, sel, entries)
		return true
	}
	holds := s.holds.Of(p, e, service, cols)
	if holds == nil {
		return false
	}
	for i, selected := range s.records {
		if selected && !holds(i) {
			s.drop(i, StageWhere, sel)
		}
	}
	return true
}
