package match

import (
	"slices"

	"logstow/columns"
	"logstow/exact"
	"logstow/field"
	"logstow/field/where"
	"logstow/message"
	"logstow/query/rowset"
	"logstow/segment"
)

// ColumnScanner selects records by columns. Not safe for concurrent use.
type ColumnScanner struct {
	m          *Matcher
	evaluators *where.Evaluators
	records    []bool
	expression Expression
	rejected
}

// NewColumnScanner makes a scanner for a query.
func NewColumnScanner(m *Matcher) *ColumnScanner {
	return &ColumnScanner{m: m, evaluators: m.Where.Evaluators()}
}

// ColumnConditions reports whether there are conditions by which columns may exclude blocks: expressions or a [BlockFilter].
func (m *Matcher) ColumnConditions() bool {
	return len(m.Where.Programs) > 0 || m.Selection.Columns != nil
}

// ColumnsSuffice reports whether columns can decide every condition.
func (m *Matcher) ColumnsSuffice() bool {
	return !m.needsText() && !slices.ContainsFunc(m.Where.Programs, func(p *where.Program) bool { return !Columnar(p) })
}

// ColumnNames returns the names of the columns that Select needs for these checks.
func (m *Matcher) ColumnNames(c Checks) (names []columns.Name) {
	for _, fixed := range []struct {
		used bool
		name field.Fixed
	}{{c.Time, field.Time}, {c.Level, field.Level}, {c.Source, field.Source}} {
		if fixed.used {
			names = append(names, columns.Name{Fixed: fixed.name})
		}
	}
	if filter := m.Selection.Columns; filter != nil {
		names = columns.AddNames(names, filter.Names...)
	}
	for _, p := range m.Where.Programs {
		if Columnar(p) {
			names = columns.AddNames(names, ColumnsOf(p)...)
		}
	}
	return names
}

// Excluded reports whether no record of a block can match by the bounds of its pages. bounds returns the least and the
// greatest number of a column, as written, empty if it has no numbers; it is not ok if they are unknown.
func (m *Matcher) Excluded(bounds func(columns.Name) (least, greatest string, ok bool)) bool {
	for _, p := range m.Where.Programs {
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
func (s *ColumnScanner) Select(b *segment.Block, c Checks, cols rowset.Columns) (sel rowset.Selected, ok bool) {
	before := s.counts
	defer func() {
		if !ok {
			s.counts = before // the scan of the text counts them
		}
	}()
	n := int(b.Records)
	s.records = slices.Grow(s.records[:0], n)[:n]
	for i := range s.records {
		s.records[i] = true
	}
	sel = rowset.Selected{Count: n}
	if c.Time && !s.inRange(b, cols.Seconds(), &sel) {
		return sel, false
	}
	if c.Level && !s.byValue(field.Level, StageLevel, cols, &sel, func(v message.Value) bool { return s.m.Levels.Has(LevelOf(v)) }) ||
		c.Source && !s.byValue(field.Source, StageSource, cols, &sel,
			func(v message.Value) bool { return s.m.Selection.matchesSource(string(v.Text)) }) {
		return sel, false
	}
	for i, p := range s.m.Where.Programs {
		if !Columnar(p) {
			continue
		}
		kept, ok := s.expression.Filter(p, s.evaluators.Each[i], c.Service, cols, s.records)
		if !ok {
			return sel, false
		}
		s.keep(kept, StageWhere, &sel)
	}
	if sel.Count < n {
		sel.Records = s.records
	}
	return sel, true
}

// drop removes a record from the selection.
func (s *ColumnScanner) drop(i int, by Stage, sel *rowset.Selected) {
	s.records[i] = false
	sel.Count--
	s.counts[by]++
}

// inRange drops the records outside of the time range; it is not ok if seconds are too coarse to decide.
func (s *ColumnScanner) inRange(b *segment.Block, runs []columns.Run, sel *rowset.Selected) bool {
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

// byValue drops the records for which a condition on the value of a fixed field does not hold; it is not ok if the page is missing.
func (s *ColumnScanner) byValue(name field.Fixed, by Stage, cols rowset.Columns, sel *rowset.Selected, holds func(message.Value) bool) bool {
	page := cols.Page(columns.Name{Fixed: name})
	if page == nil {
		return false
	}
	s.keep(s.expression.filterBy(page, s.records, holds), by, sel)
	return true
}

// keep counts the records that a stage left in the selection.
func (s *ColumnScanner) keep(kept int, by Stage, sel *rowset.Selected) {
	s.counts[by] += uint64(sel.Count - kept)
	sel.Count = kept
}
