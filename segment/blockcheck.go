package segment

import (
	"logstow/record"
)

// BlockCheck compares the records of a block with what the footer says about them: the number of each level, the order of
// their times, the first and the last time. Readers skip blocks by the footer, so records that differ from it could be
// missing elsewhere. Times are compared as text, which costs nanoseconds a record. The zero value is unusable: call Reset.
type BlockCheck struct {
	block *Block
	// first and last are the times of the first and the last record, as text.
	first, last []byte
	records     uint64
	levels      record.Counts
	attributes  uint64 // records that have any
	// unordered is one more than the number of the first record that is before the one it follows; 0 if there is none.
	unordered uint64
}

// Reset starts the check of a block, which must not change meanwhile.
func (c *BlockCheck) Reset(b *Block) { *c = BlockCheck{block: b} }

// Add adds the next record by its text, which starts with a time of [record.TimeLen] bytes and must not change until the end of
// the check, and its other columns.
func (c *BlockCheck) Add(text []byte, columns *record.Columns) {
	at := text[:record.TimeLen]
	if c.records == 0 {
		c.first = at
	} else if string(at) < string(c.last) && c.unordered == 0 { // does not allocate
		c.unordered = c.records + 1
	}
	c.last = at
	c.records++
	c.levels[columns.Level]++
	if columns.Attributes != nil {
		c.attributes++
	}
}

// Done returns a [*CorruptError] if the records cannot be those of the footer. all is set if every record of the block was
// added; otherwise they are some of them, in order.
func (c *BlockCheck) Done(all bool) error {
	b := c.block
	if c.records == 0 {
		if all {
			return b.Corrupt("it has no records")
		}
		return nil
	}
	start, end := record.AppendTime(nil, b.Start), record.AppendTime(nil, b.End)
	levelsFit := true
	for level, n := range c.levels {
		levelsFit = levelsFit && n <= b.Levels[level]
	}
	switch {
	case string(c.first) < string(start) || all && string(c.first) != string(start):
		return b.Corrupt("time of the first record differs from the footer")
	case c.unordered > 0:
		return b.Corrupt("record %d is out of order", c.unordered-1)
	case string(c.last) > string(end) || all && string(c.last) != string(end):
		return b.Corrupt("time of the last record differs from the footer")
	case c.attributes > b.Attributes || all && c.attributes != b.Attributes:
		return b.Corrupt("number of records with attributes differs from the footer")
	case !levelsFit || all && (c.records != b.Records || c.levels != b.Levels):
		return b.Corrupt("number of records differs from the footer")
	}
	return nil
}
