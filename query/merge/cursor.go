package merge

import (
	"io"

	"logstow/query/fetch"
)

// blockCursor iterates over the matches of a block in output order.
type blockCursor struct {
	matches *fetch.Matches
	next    int
	newest  bool
	at      fetch.Span // the current match
}

// Next implements [spill.Cursor].
func (c *blockCursor) Next() (key, error) {
	n := len(c.matches.Spans)
	if c.next == n {
		return key{}, io.EOF
	}
	c.at = c.matches.Spans[c.next]
	if c.newest {
		c.at = c.matches.Spans[n-1-c.next]
	}
	c.next++
	return key{time: c.at.Time, origin: c.matches.Origin(&c.at), block: c.matches.Block}, nil
}

// Payload implements [spill.Cursor]: it returns the line of the current match.
func (c *blockCursor) Payload(*[]byte) ([]byte, error) {
	return c.matches.Text[c.at.Start:c.at.End], nil
}

// spanSize is the size of a [fetch.Span] in bytes.
const spanSize = 32

// size returns the memory of the matches in bytes.
func (c *blockCursor) size() int64 {
	return int64(cap(c.matches.Text)) + spanSize*int64(cap(c.matches.Spans))
}
