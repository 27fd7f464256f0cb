package parse

import (
	"bytes"

	"logstow/message"
)

// messagePrefix before a name selects the field of the message itself. The field of a wrapped line is only used if the message has
// none.
const messagePrefix = "message."

// A wrappedLine is the line that a JSON message wraps: some agents put the line that an application logged into a member. It is found
// when the first value is requested.
type wrappedLine struct {
	known, found bool
	text         []byte // without escapes
	line         line
	whole        line // like line, with all fields
}

// inner reports whether the current message wraps a line.
func (s *Splitter) inner() bool {
	w := &s.wrapped
	if w.known {
		return w.found
	}
	w.known = true
	raw := LineInside(s.message)
	if w.found = raw != nil; w.found {
		w.text = append(w.text[:0], raw...)
		if bytes.IndexByte(raw, '\\') >= 0 {
			w.text = message.Unescape(w.text[:0], raw)
		}
		s.parser.formats.split(&w.line, w.text, &s.depth)
	}
	return w.found
}

// allInner yields the fields of the wrapped line, and reports whether to continue.
func (s *Splitter) allInner(yield func(string, message.Value) bool) bool {
	s.parser.formats.split(&s.wrapped.whole, s.wrapped.text, &s.parser.formats.all)
	return s.allOf(&s.wrapped.whole, yield)
}

// LineInside returns the line that a JSON message wraps, with JSON's escapes; nil if there is none. It is the first member named log,
// Log, message, LogMessage, or body (only as the first member of the message), provided that it is a string in JSON, in a text format,
// or in logfmt: it starts with two pairs, or is one pair.
func LineInside(msg []byte) []byte {
	if len(msg) == 0 || msg[0] != '{' {
		return nil
	}
	// A few fast searches exclude most messages: a wrapped line has an escape, a pair or a bracket.
	if bytes.IndexByte(msg, '\\') < 0 && bytes.IndexByte(msg, '=') < 0 && bytes.IndexByte(msg, ']') < 0 {
		return nil
	}
	if !bytes.Contains(msg, []byte(`og"`)) && !bytes.Contains(msg, []byte(`essage"`)) &&
		!bytes.Contains(msg[:min(len(msg), maxBefore)], []byte(`body"`)) {
		return nil
	}
	members := message.Object(msg)
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
		case "log", "Log", "message", "LogMessage":
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

// isLine reports whether text, which may have JSON's escapes, is a line with fields.
func isLine(text []byte) bool {
	var space [2 * maxBefore]byte
	cut := len(text) > len(space)
	text = text[:min(len(text), len(space))]
	if bytes.IndexByte(text, '\\') >= 0 {
		text = message.Unescape(space[:0], text)
	}
	text = bytes.TrimLeft(text, blanks)
	if len(text) > 0 && text[0] == '{' || isLogfmt(text, cut) {
		return true
	}
	format, _ := recognize(text)
	return format != plain
}

const blanks = " \t\r\n"

// isLogfmt reports whether text begins with two logfmt pairs, or is one. "status=ok so far" is prose, whose status would hide that of
// the message. If text is cut, a second word without an end may be a pair.
func isLogfmt(text []byte, cut bool) bool {
	first := message.PairAt(text, 0)
	if !isPair(&first) {
		return false
	}
	if cut && !first.Quoted && bytes.HasPrefix(first.Value, []byte{'"'}) {
		return true // the end of the string is missing
	}
	rest := bytes.TrimLeft(text[first.End:], blanks)
	if len(rest) == 0 {
		return true
	}
	second := message.PairAt(rest, 0)
	return isPair(&second) || cut && second.Value == nil && second.End == len(rest)
}

func isPair(p *message.Pair) bool { return p.Value != nil && message.IsPairName(p.Name) }
