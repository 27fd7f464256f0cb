package rowset

import "slices"

// Examples calls f with one record of a set for each combination, until it returns false.
func (c *Combiner) Examples(s *Set, f func(combination, record int) bool) {
	c.known = slices.Grow(c.known[:0], c.n)[:c.n]
	clear(c.known)
	for i := range s.Records {
		if !s.Has(i) {
			continue
		}
		id := c.of(i)
		if c.known[id] != unknown {
			continue
		}
		if c.known[id] = isTrue; !f(id, i) || c.n == 1 {
			return
		}
	}
}

// of returns the number of a record's combination.
func (c *Combiner) of(record int) int {
	switch {
	case c.narrow != nil:
		return int(c.narrow[record])
	case c.wide != nil:
		return int(c.wide[record])
	case c.separate:
		return record
	}
	return 0
}

// Counts calls f for each combination that records of a span of a set have, with their number, until an error. The combinations must not
// be separate records.
func (c *Combiner) Counts(s *Set, span Span, f func(combination, n int) error) error {
	for combination, n := range c.count(s, span) {
		if n > 0 {
			if err := f(combination, int(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Groups calls f for each combination that records of a span of a set have, with the indexes of these records in ascending order, until an
// error. The indexes are valid until f returns.
func (c *Combiner) Groups(s *Set, span Span, f func(combination int, records []uint32) error) error {
	for len(c.all) < s.Records {
		c.all = append(c.all, uint32(len(c.all)))
	}
	records := c.all[span.From:span.End]
	if s.Selected.Records != nil {
		c.chosen = c.chosen[:0]
		for _, i := range records {
			if s.Selected.Records[i] {
				c.chosen = append(c.chosen, i)
			}
		}
		records = c.chosen
	}
	switch {
	case len(records) == 0:
		return nil
	case c.n == 1:
		return f(0, records)
	case c.separate:
		for k, i := range records {
			if err := f(int(i), records[k:k+1]); err != nil {
				return err
			}
		}
		return nil
	}
	ends, sum := c.count(s, span), uint32(0)
	for combination, n := range ends { // counts become the starts of groups
		ends[combination], sum = sum, sum+n
	}
	c.sorted = slices.Grow(c.sorted[:0], len(records))[:len(records)]
	if c.narrow != nil {
		sortBy(c.sorted, records, c.narrow, ends)
	} else {
		sortBy(c.sorted, records, c.wide, ends)
	}
	before := uint32(0)
	for combination, end := range ends {
		if end > before {
			if err := f(combination, c.sorted[before:end]); err != nil {
				return err
			}
		}
		before = end
	}
	return nil
}

// sortBy puts records in order of their ids. next has the first place of each id, and afterwards the end.
func sortBy[T uint8 | uint16](sorted, records []uint32, ids []T, next []uint32) {
	for _, i := range records {
		at := &next[ids[i]]
		sorted[*at] = i
		*at++
	}
}

// count returns the number of records of a span of a set by combination, valid until the next call.
func (c *Combiner) count(s *Set, span Span) []uint32 {
	c.ends = slices.Grow(c.ends[:0], c.n)[:c.n]
	clear(c.ends)
	var selected []bool
	if s.Selected.Records != nil {
		selected = s.Selected.Records[span.From:span.End]
	}
	switch {
	case c.narrow != nil:
		countIDs(c.ends, c.narrow[span.From:span.End], selected)
	case c.wide != nil:
		countIDs(c.ends, c.wide[span.From:span.End], selected)
	case selected == nil:
		c.ends[0] = uint32(span.End - span.From)
	default:
		c.ends[0] = uint32(countTrue(selected))
	}
	return c.ends
}

func countIDs[T uint8 | uint16](counts []uint32, ids []T, selected []bool) {
	for i, id := range ids {
		if selected == nil || selected[i] {
			counts[id]++
		}
	}
}
