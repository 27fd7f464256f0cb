package recognize

import (
	"logstow/internal/jsontext"
	"logstow/record"
)

// object reads the JSON object at the start of b, at its top level, until time
// and level are found.
func (f *finding) object(b []byte) {
	f.minute.apart = apart{}
	var timeAt, levelAt int // offsets of the values from which time and level were taken
	m := jsontext.Object(b)
	for first := true; !f.found || f.level == record.None; first = false {
		name, value, ok := m.Next()
		if !ok {
			break
		}
		if first && string(name) == "body" { // elsewhere it is more likely that of a request
			f.wrap(value)
		}
		kind := fieldOf(name)
		if kind == fieldOther {
			continue
		}
		found, level := f.found, f.level
		f.field(kind, name, value)
		switch {
		case kind == fieldTime && f.found != found:
			timeAt = m.Offset() - len(value)
		case kind == fieldLevel && f.level != level:
			levelAt = m.Offset() - len(value)
		}
	}
	f.timeOfParts()
	f.shape.learn(b, timeAt, levelAt)
	if f.level == record.None && f.gateway {
		f.level = statusLevel(f.properties)
	}
	if f.level == record.None {
		f.level = f.impliedLevel
	}
}

// unquoted is a value without the quotes around it.
func unquoted(b []byte) []byte {
	if n := len(b); n >= 2 && b[0] == '"' && b[n-1] == '"' {
		return b[1 : n-1]
	}
	return b
}

// unescape replaces the backslash escapes of ASCII characters in b. It writes the result to
// space, which must be as long as b.
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

// hexDigit returns the value of a hexadecimal digit; for other bytes it is undefined.
func hexDigit(c byte) byte {
	if c-'0' <= 9 {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
