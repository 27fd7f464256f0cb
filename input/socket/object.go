package socket

import "strings"

// object is the state behind a part of a message that may be a JSON object.
type object struct {
	// begun is set behind the first byte, is if that begins an object.
	begun, is bool
	// depth is the number of open brackets and braces; inString and escaped are set within a string and behind its backslash.
	depth             int
	inString, escaped bool
}

// end returns the offset of the first byte of s that ends the message, or -1: one of ends, or a newline that is not inside of an
// object. Then the next message begins.
func (o *object) end(s []byte, ends string) int {
	for i, c := range s {
		if strings.IndexByte(ends, c) >= 0 || c == '\n' && o.depth == 0 {
			*o = object{}
			return i
		}
		if !o.begun {
			o.begun, o.is = true, c == '{'
		}
		if o.is {
			o.add(c)
		}
	}
	return -1
}

// add adds a byte of an object.
func (o *object) add(c byte) {
	switch {
	case o.escaped:
		o.escaped = false
	case o.inString:
		o.escaped, o.inString = c == '\\', c != '"'
	case c == '"':
		o.inString = true
	case c == '{', c == '[':
		o.depth++
	case c == '}', c == ']':
		o.depth--
	}
}
