package parse

import (
	"bytes"
	"strings"

	"logstow/field"
	"logstow/internal/jsontext"
)

// messagePrefix in front of a name means the field of the message itself, not that of the line it wraps.
const messagePrefix = "message."

// A wrappedLine is the line that a JSON message wraps: agents put what an application logged into a
// member. It is looked for when a value is asked for.
type wrappedLine struct {
	known, found bool
	text         []byte // without escapes
	line         line
	whole        line // as line, with all fields
}

// inner reports whether the current message wraps a line.
func (s *Splitter) inner() bool {
	w := &s.wrapped
	if w.known {
		return w.found
	}
	w.known = true
	raw := lineInside(s.message)
	if w.found = raw != nil; w.found {
		w.text = append(w.text[:0], raw...)
		if bytes.IndexByte(raw, '\\') >= 0 {
			w.text = jsontext.Unescape(w.text[:0], raw)
		}
		s.parser.formats.split(&w.line, w.text, &s.depth)
	}
	return w.found
}

// all yields the fields of the wrapped line.
func (s *Splitter) allInner(yield func(string, field.Value) bool) bool {
	s.parser.formats.split(&s.wrapped.whole, s.wrapped.text, &s.parser.formats.all)
	return s.allOf(&s.wrapped.whole, yield)
}

// lineInside is the line that a JSON message wraps, with JSON's escapes: the first text named log,
// message or, if it is the first member, body, if it is JSON, of a format, or begins with a logfmt pair.
// It is nil if there is none.
func lineInside(message []byte) []byte {
	if len(message) == 0 || message[0] != '{' {
		return nil
	}
	// Most messages are excluded by a few quick searches: a line in JSON has an escape, a pair or a bracket.
	if bytes.IndexByte(message, '\\') < 0 && bytes.IndexByte(message, '=') < 0 && bytes.IndexByte(message, ']') < 0 {
		return nil
	}
	if !bytes.Contains(message, []byte(`log"`)) && !bytes.Contains(message, []byte(`message"`)) && !bytes.Contains(message[:min(len(message), maxBefore)], []byte(`body"`)) {
		return nil
	}
	members := jsontext.Object(message)
	for n := 0; ; n++ {
		name, value, ok := members.Next()
		if !ok {
			return nil
		}
		switch string(name) {
		case "body":
			if n > 0 {
				continue
			}
		case "log", "message":
		default:
			continue
		}
		if len(value) > 2 && value[0] == '"' {
			if text := value[1 : len(value)-1]; isLine(text) {
				return text
			}
			return nil
		}
	}
}

// isLine reports whether text, which may have JSON's escapes, has fields as a line.
func isLine(text []byte) bool {
	var space [2 * maxBefore]byte
	text = text[:min(len(text), len(space))]
	if bytes.IndexByte(text, '\\') >= 0 {
		text = jsontext.Unescape(space[:0], text)
	}
	text = bytes.TrimLeft(text, " \t\r\n")
	i := 0
	for i < len(text) && (isDigit(text[i]) || text[i]|0x20-'a' < 26 || strings.IndexByte("_.-", text[i]) >= 0) {
		i++
	}
	if i == len(text) {
		return false
	}
	if text[0] == '{' || i > 0 && text[i] == '=' {
		return true
	}
	format, _ := recognize(text)
	return format != plain
}
