package query

import (
	"bytes"

	"logstow/record"
)

// fields are the columns of a stored record behind its time. message is as
// stored: its newlines are followed by a TAB.
type fields struct {
	level   record.Level
	source  []byte
	message []byte
}

// split takes a stored record, without its last newline, apart.
func split(line []byte) (f fields, ok bool) {
	if len(line) <= record.TimeLen+1 || line[record.TimeLen] != '\t' {
		return f, false
	}
	rest := line[record.TimeLen+1:]
	level := bytes.IndexByte(rest, '\t')
	if level < 1 {
		return f, false
	}
	if f.level, ok = storedLevel(rest[:level]); !ok {
		return f, false
	}
	rest = rest[level+1:]
	source := bytes.IndexByte(rest, '\t')
	if source < 0 {
		return f, false
	}
	f.source, f.message = rest[:source], rest[source+1:]
	return f, true
}

// storedLevel reads a level column.
func storedLevel(b []byte) (record.Level, bool) {
	for l := record.None; l <= record.Fatal; l++ {
		if string(b) == l.String() {
			return l, true
		}
	}
	return 0, false
}

// recordEnd is the offset of the newline that ends the record around at, and
// whether a continuation follows at inside it.
func recordEnd(text []byte, at int) (end int, continued bool) {
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

// recordStart is the offset at which the record around at starts, and whether
// at is behind a continuation in it; floor is a record's start at or before it.
func recordStart(text []byte, floor, at int) (start int, continued bool) {
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

// encoded is a part of a message as it is stored. Storing maps every byte on its
// own, so a message that holds part is stored as text that holds encoded(part).
func encoded(part []byte) []byte {
	return bytes.ReplaceAll(part, []byte("\n"), []byte("\n\t"))
}
