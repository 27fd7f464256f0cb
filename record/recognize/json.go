package recognize

import (
	"bytes"

	"logstow/record"
)

// object reads the JSON object at the start of b, at its top level, until time
// and level are found.
func (f *finding) object(b []byte) {
	m := members{b: b, i: 1}
	for !f.found || f.level == record.None {
		name, value, ok := m.next()
		if !ok {
			break
		}
		f.field(name, value)
	}
	if f.level == record.None {
		f.level = f.impliedLevel
	}
}

// members walks over the members of a JSON object: i starts behind the opening brace.
// It checks no more than it needs to find where names and values end.
type members struct {
	b []byte
	i int
}

// next returns the next member's name without quotes and its value as written;
// not ok at the object's end, and where b is no JSON.
func (m *members) next() (name, value []byte, ok bool) {
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
		if end = stringEnd(b, i+1); end < 0 {
			return nil, nil, false
		}
	}
	name = b[i+1 : end]
	if i = skipBlank(b, end+1); i >= len(b) || b[i] != ':' {
		return nil, nil, false
	}
	i = skipBlank(b, i+1)
	if end = valueEnd(b, i); end < 0 {
		return nil, nil, false
	}
	m.i = end
	return name, b[i:end], true
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd is the offset of the quote that closes the string whose content
// starts at b[i], or -1.
func stringEnd(b []byte, i int) int {
	for k := i; ; k++ {
		n := bytes.IndexByte(b[k:], '"')
		if n < 0 {
			return -1
		}
		if k += n; b[k-1] != '\\' {
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

// valueEnd is the offset after the JSON value at b[i], or -1.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		end := stringEnd(b, i+1)
		if end < 0 {
			return -1
		}
		return end + 1
	case '{', '[':
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
				if k = stringEnd(b, k+1); k < 0 {
					return -1
				}
			}
		}
		return -1
	}
	k := i
	for k < len(b) && b[k] != ',' && b[k] != '}' && b[k] > ' ' {
		k++
	}
	if k == i {
		return -1
	}
	return k
}

// unquoted is a value without the quotes around it.
func unquoted(b []byte) []byte {
	if n := len(b); n >= 2 && b[0] == '"' && b[n-1] == '"' {
		return b[1 : n-1]
	}
	return b
}

// unescape undoes the backslash escapes of ASCII characters in b, writing over
// space, which b must fit in; others are left as they are.
func unescape(b, space []byte) []byte {
	out := space[:0]
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c == '\\' && i+1 < len(b) {
			if i++; b[i] != 'u' {
				c = b[i]
			} else if i+4 < len(b) && b[i+1] == '0' && b[i+2] == '0' {
				c = hexDigit(b[i+3])<<4 | hexDigit(b[i+4])
				i += 4
			}
		}
		out = append(out, c)
	}
	return out
}

// hexDigit is the value of a hexadecimal digit; that of other bytes does not matter.
func hexDigit(c byte) byte {
	if c-'0' <= 9 {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
