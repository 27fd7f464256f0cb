package query

// A cursor goes through records that are in output order.
type cursor interface {
	// key is the current record's.
	key() key
	// segment is the current record's.
	source() *Segment
	// line is the current record's stored text; valid until next.
	line() []byte
	// next goes to the next record; false at the end or with an error.
	next() (bool, error)
	// size is the memory held, in bytes.
	size() int64
}

// blockCursor goes through what was found in a block.
type blockCursor struct {
	matches *blockMatches
	at      int
	newest  bool
}

func (c *blockCursor) span() matchSpan {
	if c.newest {
		return c.matches.records[len(c.matches.records)-1-c.at]
	}
	return c.matches.records[c.at]
}

func (c *blockCursor) key() key {
	return key{c.span().time, c.matches.segment.rank, c.matches.block}
}

func (c *blockCursor) source() *Segment { return c.matches.segment }

func (c *blockCursor) line() []byte {
	p := c.span()
	return c.matches.text[p.start:p.end]
}

func (c *blockCursor) next() (bool, error) {
	c.at++
	return c.at < len(c.matches.records), nil
}

// placeSize is the memory that a place takes.
const placeSize = 24

func (c *blockCursor) size() int64 {
	return int64(cap(c.matches.text)) + placeSize*int64(cap(c.matches.records))
}

// maxRuns is the number of runs in the temporary file that are merged at once;
// past it, all become one.
const maxRuns = 256

// A merger puts the records of blocks, which are added in the order of their
// start, into output order.
type merger struct {
	before func(a, b key) bool
	newest bool
	emit   func(Match) error
	budget int64
	// spill writes a run of records and returns a cursor at its start.
	spill func(write func(put func(key, *Segment, []byte) error) error) (cursor, error)

	cursors heap[cursor]
	size    int64
	runs    int
}

// add takes what was found in the next block. All records before its start are put out.
func (m *merger) add(f *blockMatches) error {
	if err := m.advance(func(k key) bool { return m.before(k, f.start) }, m.put); err != nil {
		return err
	}
	if len(f.records) == 0 {
		return nil
	}
	c := &blockCursor{matches: f, newest: m.newest}
	m.cursors.push(c)
	if m.size += c.size(); m.size <= m.budget {
		return nil
	}
	return m.toFile()
}

// finish puts out what is left.
func (m *merger) finish() error {
	return m.advance(func(key) bool { return true }, m.put)
}

// put hands out one record.
func (m *merger) put(k key, s *Segment, line []byte) error {
	return m.emit(Match{Segment: s, Time: k.time, Line: line})
}

// advance puts records in order for as long as their keys may.
func (m *merger) advance(may func(key) bool, put func(key, *Segment, []byte) error) error {
	for len(m.cursors.items) > 0 {
		c := m.cursors.items[0]
		k := c.key()
		if !may(k) {
			return nil
		}
		if err := put(k, c.source(), c.line()); err != nil {
			return err
		}
		more, err := c.next()
		if err != nil {
			return err
		}
		if more {
			m.cursors.fix()
			continue
		}
		m.cursors.pop()
		m.size -= c.size()
		if _, ok := c.(*blockCursor); !ok {
			m.runs--
		}
	}
	return nil
}

// toFile moves the records in memory into one run of the temporary file, and
// the runs that are there already too when they have become many.
func (m *merger) toFile() error {
	all := m.cursors.items
	m.cursors.items = nil
	var runs []cursor
	for _, c := range all {
		if _, ok := c.(*blockCursor); ok || m.runs >= maxRuns {
			m.cursors.push(c)
		} else {
			runs = append(runs, c)
		}
	}
	run, err := m.spill(func(put func(key, *Segment, []byte) error) error {
		return m.advance(func(key) bool { return true }, put)
	})
	if err != nil {
		return err
	}
	m.runs++
	m.size += run.size()
	for _, c := range append(runs, run) {
		m.cursors.push(c)
	}
	return nil
}
