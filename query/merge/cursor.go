package merge

import (
	"logstow/query/fetch"
)

// cursor iterates over records in output order.
type cursor interface {
	// key returns the key of the current record.
	key() key
	// match returns the current record; its Line is valid until the next call of next or match of any cursor.
	match() (Match, error)
	// next advances to the next record; it returns false at the end or with an error.
	next() (bool, error)
	// size returns the memory of the records in bytes.
	size() int64
}

// blockCursor iterates over the matches of a block.
type blockCursor struct {
	matches *fetch.Matches
	at      int
	newest  bool
}

func (c *blockCursor) span() fetch.Span {
	if c.newest {
		return c.matches.Spans[len(c.matches.Spans)-1-c.at]
	}
	return c.matches.Spans[c.at]
}

func (c *blockCursor) key() key {
	at := c.span()
	return key{time: at.Time, origin: c.matches.Origin(&at), block: c.matches.Block}
}

func (c *blockCursor) match() (Match, error) {
	at := c.span()
	origin := c.matches.Origin(&at)
	return Match{
		Segment: c.matches.Segment, Store: origin.Store, Instance: origin.Meta.Instance, Time: at.Time,
		Line: c.matches.Text[at.Start:at.End], message: int(at.Message), level: at.Level,
	}, nil
}

func (c *blockCursor) next() (bool, error) {
	c.at++
	return c.at < len(c.matches.Spans), nil
}

// spanSize is the size of a [fetch.Span] in bytes.
const spanSize = 32

func (c *blockCursor) size() int64 {
	return int64(cap(c.matches.Text)) + spanSize*int64(cap(c.matches.Spans))
}
