package recognize

import (
	"bytes"

	"logstow/internal/jsontext"
	"logstow/record"
)

// isPair reports whether a logfmt pair, name=…, starts at b[i].
func isPair(b []byte, i int) bool {
	end := nameEnd(b, i)
	return end > i && end < len(b) && b[end] == '='
}

// nameEnd returns the end of the logfmt name at b[i], or i if there is none.
func nameEnd(b []byte, i int) int {
	if i < len(b) && (b[i]-'0' <= 9 || b[i] == '-' || b[i] == '.') {
		return i
	}
	for ; i < len(b); i++ {
		c := b[i]
		if c|0x20-'a' >= 26 && c-'0' > 9 && c != '_' && c != '.' && c != '-' && c != '@' {
			break
		}
	}
	return i
}

// pairs reads the logfmt pairs at the start of b until time and level are found, and returns their end.
func (f *finding) pairs(b []byte) (i int) {
	f.minute.apart = apart{}
	for !f.found || f.level == record.None {
		for i < len(b) && b[i] == ' ' {
			i++
		}
		if !isPair(b, i) {
			break
		}
		equals := nameEnd(b, i)
		end := pairEnd(b, equals+1)
		name := b[i:equals]
		f.field(fieldOf(name), name, b[equals+1:end])
		i = end
	}
	f.wrapped = nil // only JSON wraps lines
	f.timeOfParts()
	return i
}

// pairEnd is the end of the logfmt value at b[i], which may be empty.
func pairEnd(b []byte, i int) int {
	if i < len(b) && b[i] == '"' {
		if end := jsontext.StringEnd(b, i+1); end >= 0 {
			return end + 1
		}
		return len(b)
	}
	if n := bytes.IndexByte(b[i:], ' '); n >= 0 {
		return i + n
	}
	return len(b)
}
