// Package message takes messages apart: JSON, logfmt pairs, and the values in them. It is the only place that scans them;
// recognition of times and levels, fields, columns, the parsers of LogQL, patterns and output use it.
//
// A message is JSON if it starts with an object (which may be truncated), or ends with one after
// other text; otherwise it is treated as logfmt. Only what is requested is parsed: [Members] and [Elements] find where names and
// values of JSON end, [PairAt] where a pair does. [Finder] finds a field by its name, [Set] several in one pass, [All] all of them.
//
// A name with dots finds a member of a nested object, or a member whose name
// contains the dots: "http.status" finds {"http":{"status":…}} and {"http.status":…}. If there are several, the first one is
// returned.
package message

import "bytes"

// Members iterates over the members of a JSON object. It is lenient: commas may be missing, or precede the first member. Logs have
// truncated and slightly wrong objects. [Members.NextStrict] and
// [Members.End] are for those who are strict.
type Members struct {
	b     []byte
	start int
	i     int
	open  int // where the value without an end begins, 0 if there is none
}

// Object returns the members of the object that b starts with, at its opening brace.
func Object(b []byte) Members { return ObjectAt(b, 0) }

// ObjectAt returns the members of the object at b[i]. Offsets are those in b.
func ObjectAt(b []byte, i int) Members { return Members{b: b, start: i + 1, i: i + 1} }

// Offset is where in the text the value that Next returned last ends.
func (m *Members) Offset() int { return m.i }

// Next returns the next member's name without quotes, still escaped, and its raw value. It is not
// ok at the object's end, and if b is not JSON; if only the end of the value is missing, it returns the name.
func (m *Members) Next() (name, value []byte, ok bool) {
	b := m.b
	i := skipBlank(b, m.i)
	if i < len(b) && b[i] == ',' {
		i = skipBlank(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		return nil, nil, false
	}
	end := i + 1 // names are short and rarely hold escapes
	for end < len(b) && b[end] != '"' && b[end] != '\\' {
		end++
	}
	if end == len(b) || b[end] != '"' {
		if end = StringEnd(b, i+1); end < 0 {
			return nil, nil, false
		}
	}
	name = b[i+1 : end]
	if i = skipBlank(b, end+1); i >= len(b) || b[i] != ':' {
		return nil, nil, false
	}
	i = skipBlank(b, i+1)
	if end = valueEnd(b, i); end < 0 {
		m.open = i
		return name, nil, false
	}
	m.i = end
	return name, b[i:end], true
}

// Open returns the text from the value of the next member on if Next found its name, but no end of its value.
func (m *Members) Open() []byte {
	if m.open == 0 {
		return nil
	}
	return m.b[m.open:]
}

// NextStrict is Next, but it is not ok where a comma is missing, or precedes the first member.
func (m *Members) NextStrict() (name, value []byte, ok bool) {
	i := skipBlank(m.b, m.i)
	if comma := i < len(m.b) && m.b[i] == ','; comma != (m.i > m.start) {
		return nil, nil, false
	}
	return m.Next()
}

// after returns the value of the next member if lead stands before it: what NextStrict read before a value of another object, after
// as many members. It is not ok otherwise, without a lead, and if the value has no end; then nothing is read.
func (m *Members) after(lead []byte) (value []byte, ok bool) {
	rest := m.b[m.i:]
	if len(lead) == 0 || len(rest) < len(lead) || string(rest[:len(lead)]) != string(lead) {
		return nil, false
	}
	i := skipBlank(m.b, m.i+len(lead))
	if i < len(m.b) && m.b[i] == '"' { // as valueEnd, for a string without escapes
		if n := bytes.IndexByte(m.b[i+1:], '"'); n >= 0 && m.b[i+n] != '\\' {
			m.i = i + n + 2
			return m.b[i:m.i], true
		}
	}
	end := valueEnd(m.b, i)
	if end < 0 {
		return nil, false
	}
	m.i = end
	return m.b[i:end], true
}

// End returns the offset after the object, if the text ends it after the last member that Next returned.
func (m *Members) End() (end int, ok bool) {
	i := skipBlank(m.b, m.i)
	return i + 1, i < len(m.b) && m.b[i] == '}'
}

// Close is End, but a comma may follow the last member.
func (m *Members) Close() (end int, ok bool) {
	i := skipBlank(m.b, m.i)
	if i < len(m.b) && m.b[i] == ',' && m.i > m.start {
		i = skipBlank(m.b, i+1)
	}
	return i + 1, i < len(m.b) && m.b[i] == '}'
}

// Elements iterates over the elements of a JSON array.
type Elements struct {
	b    []byte
	i    int
	open int // where the element without an end begins, 0 if there is none
}

// Array returns the elements of the array that b starts with, at its opening bracket.
func Array(b []byte) Elements { return Elements{b: b, i: 1} }

// Next returns the next raw element. It is not ok at the array's end, and if b is not JSON.
func (e *Elements) Next() (value []byte, ok bool) {
	i := skipBlank(e.b, e.i)
	if i < len(e.b) && e.b[i] == ',' {
		i = skipBlank(e.b, i+1)
	}
	end := valueEnd(e.b, i)
	if end < 0 {
		e.open = i
		return nil, false
	}
	e.i = end
	return e.b[i:end], true
}

// Offset is where in the text the value that Next returned last ends.
func (e *Elements) Offset() int { return e.i }

// Open returns the text from the next element on if Next found no end of it; nil behind the last one.
func (e *Elements) Open() []byte {
	if e.open == 0 || e.open >= len(e.b) || e.b[e.open] == ']' {
		return nil
	}
	return e.b[e.open:]
}

// RawValue returns the raw value that b starts with, without leading blanks; not ok if there is none.
func RawValue(b []byte) (value []byte, ok bool) {
	i := skipBlank(b, 0)
	end := valueEnd(b, i)
	if end < 0 {
		return nil, false
	}
	return b[i:end], true
}

// Content returns the content of a raw string, still escaped; not ok for another value.
func Content(value []byte) (text []byte, ok bool) {
	n := len(value)
	if n < 2 || value[0] != '"' || value[n-1] != '"' {
		return nil, false
	}
	return value[1 : n-1], true
}

// Unquoted is Content, or another value as written.
func Unquoted(value []byte) []byte {
	if text, ok := Content(value); ok {
		return text
	}
	return value
}

// TrimBlank returns b without JSON's blanks at its start.
func TrimBlank(b []byte) []byte { return b[skipBlank(b, 0):] }

func skipBlank(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// StringEnd returns the offset of the quote that closes the string whose content starts at b[i], or -1.
func StringEnd(b []byte, i int) int {
	for k := i; ; {
		n := bytes.IndexByte(b[k:], '"')
		if n < 0 {
			return -1
		}
		if k += n; b[k-1] != '\\' {
			return k
		}
		escaped := true // by an odd number of backslashes before it
		for back := k - 2; back >= i && b[back] == '\\'; back-- {
			escaped = !escaped
		}
		if !escaped {
			return k
		}
		k++
		// Escapes come in runs, as for the quotes of JSON in JSON: check bytes one by one for a while.
		for end := min(k+escapeRun, len(b)); k < end; k++ {
			if c := b[k]; c == '"' {
				return k
			} else if c == '\\' {
				k++
				end = min(k+escapeRun, len(b))
			}
		}
		k = min(k, len(b))
	}
}

// valueEnd is the offset after the value at b[i], or -1.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		end := StringEnd(b, i+1)
		if end < 0 {
			return -1
		}
		return end + 1
	case '{', '[':
		return nestedEnd(b, i)
	}
	k := i
	for k < len(b) && b[k] != ',' && b[k] != '}' && b[k] != ']' && b[k] > ' ' {
		k++
	}
	if k == i {
		return -1
	}
	return k
}

func nestedEnd(b []byte, i int) int {
	depth := 0
	for k := i; k < len(b); k++ {
		switch b[k] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return k + 1
			}
		case '"':
			if k = StringEnd(b, k+1); k < 0 {
				return -1
			}
		}
	}
	return -1
}
