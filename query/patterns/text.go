package patterns

import (
	"bytes"

	"logstow/internal/ansi"
	"logstow/message"
)

// blanks are the bytes that separate words.
const blanks = " \t\n\v\f\r"

// texts finds the texts of messages. Not safe for concurrent use.
type texts struct {
	// spaces are memory for texts without escapes: of a message, and of the line that it wraps.
	spaces [2][]byte
	// plain is memory for messages without colours.
	plain []byte
}

// Text returns the text of a message whose pattern is counted: a first line without colours, and without blanks at its ends. It is
// that of the first string among the members msg, message, log, event, text, body, short_message and MESSAGE of the JSON object that
// the message is or ends with, where msg, message, log and MESSAGE precede the others; or of the logfmt pair msg or message; or of the
// message itself. If the member is a wrapped line, a JSON object or one that starts with a logfmt pair, it is the text of that line.
// The result may refer to the message.
func Text(message []byte) []byte {
	var t texts
	return t.text(message)
}

// text is as Text. The result is valid until the next call.
func (t *texts) text(message []byte) []byte {
	if bytes.IndexByte(message, ansi.Escape) >= 0 {
		t.plain = ansi.Strip(t.plain[:0], message)
		message = t.plain
	}
	text, isMember := textOf(message, &t.spaces[0])
	if isMember && (text[0] == '{' || startsWithPair(text)) {
		text, _ = textOf(text, &t.spaces[1])
	}
	if bytes.IndexByte(text, ansi.Escape) >= 0 { // they were escaped in JSON
		t.plain = ansi.Strip(t.plain[:0], bytes.Clone(text))
		text = t.plain
	}
	return text
}

// textOf returns the text of a line that wraps no other. isMember is set if it is a member of a JSON object.
func textOf(message []byte, space *[]byte) (text []byte, isMember bool) {
	line := firstLine(message)
	if object := objectOf(bytes.Trim(message, blanks), line); object != nil {
		if text := member(object, space); len(text) > 0 {
			return text, true
		}
	} else if text := pair(line, space); len(text) > 0 {
		return text, false
	}
	return line, false
}

// startsWithPair reports whether a line starts with a logfmt pair.
func startsWithPair(line []byte) bool {
	pair := message.PairAt(line, 0)
	return pair.Value != nil && message.IsPairName(pair.Name)
}

// firstLine is the first line of b that is not blank, without blanks at its ends.
func firstLine(b []byte) []byte {
	b = bytes.TrimLeft(b, blanks)
	if end := bytes.IndexByte(b, '\n'); end >= 0 {
		b = b[:end]
	}
	return bytes.TrimRight(b, blanks)
}

// objectOf returns the JSON object that a message starts with, or that its first line, line, ends with; nil if there is
// none.
func objectOf(msg, line []byte) []byte {
	if len(line) > 0 && line[0] == '{' {
		return msg
	}
	_, object, _ := message.SplitJSON(line)
	return object
}

// member is the text of the message member of an object.
func member(object []byte, space *[]byte) []byte {
	var second []byte
	for members := message.Object(object); ; {
		name, value, ok := members.Next()
		if !ok {
			return unquote(second, space)
		}
		if value[0] != '"' {
			continue
		}
		switch string(name) {
		case "msg", "message", "log", "MESSAGE":
			if text := unquote(value, space); len(text) > 0 {
				return text
			}
		case "event", "text", "body", "short_message":
			if second == nil {
				second = value
			}
		}
	}
}

// unquote is the first line of a JSON string.
func unquote(value []byte, space *[]byte) []byte {
	text, _ := message.Content(value)
	return unescaped(text, space)
}

// unescaped is the first line of the content of a string.
func unescaped(text []byte, space *[]byte) []byte {
	if bytes.IndexByte(text, '\\') >= 0 {
		*space = message.Unescape((*space)[:0], text)
		text = *space
	}
	return firstLine(text)
}

// pair is the first line of the value of the logfmt pair msg, or else message.
func pair(line []byte, space *[]byte) []byte {
	var second message.Pairs
	found := false
	pairs := message.PairsIn(line)
	for pairs.Next() {
		switch string(pairs.Name()) {
		case "msg":
			return pairText(&pairs, space)
		case "message":
			if !found {
				second, found = pairs, true
			}
		}
	}
	if !found {
		return nil
	}
	return pairText(&second, space)
}

// pairText is the first line of the value of a pair.
func pairText(p *message.Pairs, space *[]byte) []byte {
	text, quoted := p.Value()
	if quoted {
		return unescaped(text, space)
	}
	return text
}
