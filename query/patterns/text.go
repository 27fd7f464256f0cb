package patterns

import (
	"bytes"

	"logstow/internal/jsontext"
)

// blanks are the bytes that separate words.
const blanks = " \t\n\v\f\r"

// texts finds the texts of messages. It is for one goroutine.
type texts struct{ space []byte }

// Text is the part of a message whose pattern counts: the first line, without blanks at its ends,
// of the first string that is a member msg, message, log, event, text, body, short_message or
// MESSAGE of the JSON object that the message is or ends with, or of the logfmt pair msg or message;
// msg, message, log and MESSAGE go before the others. If there is none, it is the first line of the
// message itself. It may be a view into the message.
func Text(message []byte) []byte {
	var t texts
	return t.text(message)
}

// text is as Text. The result is valid until the next call.
func (t *texts) text(message []byte) []byte {
	line := firstLine(message)
	if object := objectOf(bytes.Trim(message, blanks), line); object != nil {
		if text := t.member(object); len(text) > 0 {
			return text
		}
	} else if text := t.pair(line); len(text) > 0 {
		return text
	}
	return line
}

// firstLine is the first line of b that is not blank, without blanks at its ends.
func firstLine(b []byte) []byte {
	b = bytes.TrimLeft(b, blanks)
	if end := bytes.IndexByte(b, '\n'); end >= 0 {
		b = b[:end]
	}
	return bytes.TrimRight(b, blanks)
}

// maxObjects is at how many places of a line the start of an object is looked for.
const maxObjects = 8

// objectOf is the JSON object that a message, whose first line is given, starts with, or that its
// first line ends with; nil if there is none.
func objectOf(message, line []byte) []byte {
	if len(line) == 0 {
		return nil
	}
	if line[0] == '{' {
		return message
	}
	if line[len(line)-1] != '}' {
		return nil
	}
	start := 0
	for range maxObjects {
		next := bytes.Index(line[start:], []byte(`{"`))
		if next < 0 {
			return nil
		}
		start += next
		object := jsontext.Object(line[start:])
		if _, _, ok := object.Next(); ok {
			return line[start:]
		}
		start++
	}
	return nil
}

// member is the text of the message member of an object.
func (t *texts) member(object []byte) []byte {
	var second []byte
	for members := jsontext.Object(object); ; {
		name, value, ok := members.Next()
		if !ok {
			return t.unquote(second)
		}
		if value[0] != '"' {
			continue
		}
		switch string(name) {
		case "msg", "message", "log", "MESSAGE":
			if text := t.unquote(value); len(text) > 0 {
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
func (t *texts) unquote(value []byte) []byte {
	if len(value) < 2 {
		return nil
	}
	text := value[1 : len(value)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		t.space = jsontext.Unescape(t.space[:0], text)
		text = t.space
	}
	return firstLine(text)
}

// pair is the value of the logfmt pair msg or message.
func (t *texts) pair(line []byte) []byte {
	for _, key := range []string{"msg=", "message="} {
		for at := 0; ; {
			next := bytes.Index(line[at:], []byte(key))
			if next < 0 {
				break
			}
			start := at + next
			at = start + len(key)
			if start > 0 && line[start-1] != ' ' && line[start-1] != '\t' {
				continue
			}
			value := line[at:]
			if len(value) > 0 && value[0] == '"' {
				if end := jsontext.StringEnd(value, 1); end > 0 {
					return t.unquote(value[:end+1])
				}
			}
			if end := bytes.IndexAny(value, " \t"); end >= 0 {
				value = value[:end]
			}
			return value
		}
	}
	return nil
}
