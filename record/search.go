package record

import (
	"bytes"

	"logstow/record/attributes"
)

// Columns are the columns of a stored record behind its time.
type Columns struct {
	Level Level
	// Source is the origin of the record inside the instance.
	Source []byte
	// Attributes are those of package attributes; nil if there are none.
	Attributes []byte
	// Raw is the message as stored: a TAB stands after each newline. See [AppendMessage].
	Raw []byte
}

// Split splits a stored record, without its final newline, into its columns. It only checks
// that there are five columns and that the level is valid; [Next] checks everything. The
// slices are views into line.
func Split(line []byte) (c Columns, ok bool) {
	if len(line) <= TimeLen+1 || line[TimeLen] != '\t' {
		return c, false
	}
	rest := line[TimeLen+1:]
	level := bytes.IndexByte(rest, '\t')
	if level < 1 {
		return c, false
	}
	if c.Level, ok = parseLevel(rest[:level]); !ok {
		return c, false
	}
	rest = rest[level+1:]
	source := bytes.IndexByte(rest, '\t')
	if source < 0 {
		return c, false
	}
	c.Source, rest = rest[:source], rest[source+1:]
	if len(rest) > 1 && rest[0] == noAttributes && rest[1] == '\t' {
		c.Raw = rest[2:]
		return c, true
	}
	end := bytes.IndexByte(rest[:min(len(rest), attributes.MaxSize+1)], '\t')
	if end < 2 || rest[0] != '{' {
		return c, false
	}
	c.Attributes, c.Raw = rest[:end:end], rest[end+1:]
	return c, true
}

// End returns the offset of the newline that ends the record at offset at in a text of
// records, or the text's length. continued reports whether the record has further lines
// behind at.
func End(text []byte, at int) (end int, continued bool) {
	for {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			return len(text), continued
		}
		at += n
		if at+1 >= len(text) || text[at+1] != '\t' {
			return at, continued
		}
		continued = true
		at++
	}
}

// Start returns the offset at which the record at offset at in a text of records starts.
// continued reports whether at is behind the first line of the record. floor is the start
// of this record or of an earlier one.
func Start(text []byte, floor, at int) (start int, continued bool) {
	for {
		n := bytes.LastIndexByte(text[floor:at], '\n')
		switch {
		case n < 0:
			return floor, continued
		case text[floor+n+1] != '\t':
			return floor + n + 1, continued
		}
		continued = true
		at = floor + n
	}
}

// Stored returns a part of a message in its stored form. Each byte is stored independently,
// so the stored form of a message that contains part contains Stored(part).
func Stored(part []byte) []byte {
	return bytes.ReplaceAll(part, []byte("\n"), []byte("\n\t"))
}
