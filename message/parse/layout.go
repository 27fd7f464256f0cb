package parse

import (
	"bytes"
	"strings"
)

// A layout describes the columns of a format, with a space between them:
//
//	name          text without spaces
//	#name         a number
//	"name"        text in double quotes; "request" is a request line
//	[name]        text in brackets; the column may be missing
//	{name}        text in braces; the column may be missing
//	a/b/c         text without spaces with as many slashes
//	ip:port       an address; the port follows the last colon
//	name,         a list whose elements are separated by ", " or " : ", as nginx writes them
//
// The last column, and a column followed by "$", may end the line without a space.

// id is the number of a field name of a format; 0 is none.
type id uint8

// maxIDs exceeds the number of names in all layouts, maxFields the number of names in any layout.
const (
	maxIDs    = 160
	maxFields = 48
)

type columnKind uint8

const (
	kindWord columnKind = iota
	kindNumber
	kindQuoted
	kindRequest
	kindBrackets
	kindBraces
	kindSlashes
	kindAddress
	kindList
	kindURL
)

type column struct {
	kind columnKind
	// padded is set if several spaces may precede the column, ends if the line may end after it.
	padded, ends bool
	ids          []id
}

// layout compiles the description of a format.
func (f *formats) layout(description string) []column {
	words := strings.Fields(description)
	columns := make([]column, len(words))
	for i, word := range words {
		c := column{kind: kindWord}
		word, c.padded = strings.CutPrefix(word, "~")
		word, c.ends = strings.CutSuffix(word, "$")
		c.ends = c.ends || i == len(words)-1
		switch {
		case word == `"request"`:
			c.kind, c.ids = kindRequest, []id{idMethod, idHost, idPath, idQuery, idProtocol, idRequest}
		case word == "url":
			c.kind, c.ids = kindURL, []id{idHost, idPath, idQuery}
		case word[0] == '"':
			c.kind = kindQuoted
		case word[0] == '[':
			c.kind = kindBrackets
		case word[0] == '{':
			c.kind = kindBraces
		case word[0] == '#':
			c.kind = kindNumber
		case word[len(word)-1] == ',':
			c.kind = kindList
		case strings.Contains(word, "/"):
			c.kind = kindSlashes
		case strings.Contains(word, ":"):
			c.kind = kindAddress
		}
		if c.ids == nil {
			for name := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(`"[]{}#,/:`, r) }) {
				c.ids = append(c.ids, f.id(name))
			}
		}
		columns[i] = c
	}
	return columns
}

// span is a part of a message.
type span struct {
	quoted     bool // it is a string, even if it reads as a number
	id         id
	start, end int
}

// line is a message of a format, split.
type line struct {
	text []byte
	// cut is set if text was truncated when it was logged, so that the last column may be incomplete.
	cut bool
	// escape is the byte that escapes others in this format.
	escape byte
	// n is the number of fields found, which are in order of the text.
	n      int
	fields [maxFields]span
	at     [maxIDs]uint8 // by id: one more than the index in fields, 0 if there is none
	// rest is text that may contain further fields; the whole message if it has no format.
	rest []byte
}

// reset makes l a message without a format.
func (l *line) reset(message []byte) {
	for i := range l.n {
		l.at[l.fields[i].id] = 0
	}
	l.text, l.rest = message, message
	l.cut, l.escape, l.n = false, 0, 0
}

// add adds a field. Its value is missing if it is empty or "-".
func (l *line) add(name id, start, end int, quoted bool) {
	if start < end && (end > start+1 || l.text[start] != '-') {
		l.set(name, start, end, quoted)
	}
}

// set adds a field that is not missing.
func (l *line) set(name id, start, end int, quoted bool) {
	if l.at[name] != 0 || l.n == maxFields {
		return
	}
	l.fields[l.n] = span{quoted, name, start, end}
	l.n++
	l.at[name] = uint8(l.n)
}

// get returns the text of a field as logged; nil if it is missing.
func (l *line) get(name id) []byte {
	if at := l.at[name]; at > 0 {
		return l.text[l.fields[at-1].start:l.fields[at-1].end]
	}
	return nil
}

// mismatch is returned if a column does not fit the layout.
const mismatch = -1

// walk reads columns at text[i] and returns the start of the next one: len(text) if there is none, or mismatch.
func (l *line) walk(columns []column, i int) int {
	for k := range columns {
		c := &columns[k]
		for c.padded && i < len(l.text) && l.text[i] == ' ' {
			i++
		}
		if i >= len(l.text) {
			return len(l.text)
		}
		end := l.column(c, i)
		if end < 0 {
			return end
		}
		if end == i && (c.kind == kindBrackets || c.kind == kindBraces) {
			continue // missing
		}
		if end < len(l.text) && l.text[end] != ' ' {
			return mismatch
		}
		i = end + 1
	}
	return min(i, len(l.text))
}

// column reads the column at text[i] and returns its end, or mismatch. The end is i if an optional column is missing.
func (l *line) column(c *column, i int) int {
	b := l.text
	switch c.kind {
	case kindQuoted, kindRequest:
		if b[i] != '"' {
			return mismatch
		}
		end := closingQuote(b, i+1, l.escape)
		if c.kind == kindRequest {
			l.request(i+1, end)
		}
		if end < 0 {
			return len(b)
		}
		if c.kind == kindQuoted {
			l.add(c.ids[0], i+1, end, true)
		}
		return end + 1
	case kindBrackets, kindBraces:
		if b[i] != '[' && c.kind == kindBrackets || b[i] != '{' && c.kind == kindBraces {
			return i
		}
		n := bytes.IndexByte(b[i:], b[i]+2)
		if n < 0 {
			return len(b)
		}
		end := i + n + 1
		if end < len(b) && b[end] != ' ' {
			return i // [2001:db8::1]:80 is another column
		}
		l.add(c.ids[0], i+1, end-1, false)
		return end
	}
	end := wordEnd(b, i)
	if c.kind == kindList {
		end = listEnd(b, end)
	}
	complete := end < len(b) || c.ends && !l.cut
	switch c.kind {
	case kindNumber:
		return l.number(c, i, end, complete)
	case kindSlashes:
		if complete && bytes.Count(b[i:end], []byte{'/'}) != len(c.ids)-1 {
			return mismatch
		}
		l.slashes(c.ids, i, end, complete)
	case kindAddress:
		l.address(c.ids, i, end, complete)
	case kindURL:
		if bytes.Contains(b[i:end], []byte("://")) {
			l.target(i, end, complete)
		} else if complete { // of CONNECT
			l.add(idHost, i, end, true)
		}
	default:
		if complete {
			l.add(c.ids[0], i, end, false)
		}
	}
	return end
}

func (l *line) number(c *column, start, end int, complete bool) int {
	if start == end || !isNumeric(l.text[start:end]) {
		return mismatch
	}
	if c.ids[0] == idStatus && end == len(l.text) {
		complete = end-start == len("200")
	}
	if complete {
		l.add(c.ids[0], start+plus(l.text[start:end]), end, false)
	}
	return end
}

// slashes adds fields that are separated by slashes.
func (l *line) slashes(ids []id, start, end int, complete bool) {
	for _, name := range ids {
		part := l.text[start:end]
		n := bytes.IndexByte(part, '/')
		if n < 0 && !complete {
			return
		}
		if n < 0 {
			n = len(part)
		}
		l.add(name, start+plus(part), start+n, false)
		if start += n + 1; start > end {
			return
		}
	}
}

// plus returns 1 if b has a plus sign, with which HAProxy marks a value as a minimum, logged before the end of the request: +15.
func plus(b []byte) int {
	if len(b) > 1 && b[0] == '+' {
		return 1
	}
	return 0
}

// address adds an address and its port, which follows the last colon.
func (l *line) address(ids []id, start, end int, complete bool) {
	if !complete {
		return
	}
	colon := bytes.LastIndexByte(l.text[start:end], ':')
	if colon < 0 {
		l.add(ids[0], start, end, false)
		return
	}
	colon += start
	host := span{start: start, end: colon}
	if colon-start > 2 && l.text[start] == '[' && l.text[colon-1] == ']' {
		host.start++
		host.end--
	}
	l.add(ids[0], host.start, host.end, false)
	l.add(ids[1], colon+1, end, false)
}

// listEnd returns the end of a list whose first element ends at b[end].
func listEnd(b []byte, end int) int {
	for end < len(b) {
		switch {
		case end > 0 && b[end-1] == ',':
			end = wordEnd(b, end+1)
		case len(b) > end+2 && b[end+1] == ':' && b[end+2] == ' ':
			end = wordEnd(b, end+3)
		default:
			return end
		}
	}
	return len(b)
}

// wordEnd returns the offset of the first space at b[i] or later, or the length of b.
func wordEnd(b []byte, i int) int {
	for k := i; k < len(b); k++ {
		if b[k] == ' ' {
			return k
		}
	}
	return len(b)
}

// closingQuote returns the offset of the quote that closes the string whose content starts at b[i], or -1. It is followed by a space or
// the end of b, and not escaped by a backslash, if that is the escape.
func closingQuote(b []byte, i int, escape byte) int {
	for k := i; ; k++ {
		n := bytes.IndexByte(b[k:], '"')
		if n < 0 {
			return -1
		}
		k += n
		if k+1 < len(b) && b[k+1] != ' ' {
			continue
		}
		if escape != '\\' {
			return k
		}
		slashes := 0
		for k-slashes > i && b[k-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return k
		}
	}
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// isNumeric reports whether b consists of digits, points and signs only, as "-" does.
func isNumeric(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) && c != '.' && c != '-' && c != '+' {
			return false
		}
	}
	return true
}
