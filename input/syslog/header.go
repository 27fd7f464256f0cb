package syslog

import "bytes"

// header is the parsed header of a syslog message. All parts point into the line; a missing part is
// nil.
type header struct {
	// severity is from 0 (emergency) to 7 (debug), or -1 if the line has no priority.
	severity int
	// time as written.
	time            []byte
	host, app, proc []byte
	// rest is the message after the header; in RFC 5424 it starts with the message id or the
	// structured data if they are not nil.
	rest []byte
	// id is the message id of RFC 5424, data are the structured data, and text follows them without a mark; they are nil unless rest begins
	// with id or data.
	id, data, text []byte
	// bom is the offset in rest of a UTF-8 byte order mark before the text, or -1.
	bom int
}

// maxVersion is the maximum number of digits of a version in RFC 5424.
const maxVersion = 3

// parseHeader parses a line of RFC 5424, or of RFC 3164 as senders write it in practice. Any other line is text
// only. local is set if it was received on a Unix socket, where applications write no host.
func parseHeader(line []byte, local bool) header {
	severity, rest, ok := priority(line)
	if !ok {
		return header{severity: -1, rest: line, bom: -1}
	}
	h, ok := parse5424(rest)
	if !ok {
		h = parse3164(rest, local)
	}
	h.severity = severity
	return h
}

// priority parses <0> to <191>.
func priority(line []byte) (severity int, rest []byte, ok bool) {
	if len(line) == 0 || line[0] != '<' {
		return 0, nil, false
	}
	value, i := 0, 1
	for ; i < len(line) && i <= 3 && isDigit(line[i]); i++ {
		value = value*10 + int(line[i]-'0')
	}
	if i == 1 || i == len(line) || line[i] != '>' || value > 191 {
		return 0, nil, false
	}
	return value & 7, line[i+1:], true
}

// parse5424 parses the part after the priority: VERSION TIMESTAMP HOSTNAME
// APP-NAME PROCID MSGID STRUCTURED-DATA [MSG].
func parse5424(s []byte) (header, bool) {
	h := header{bom: -1}
	i := digits(s)
	if i == 0 || i > maxVersion || s[0] == '0' || i == len(s) || s[i] != ' ' {
		return h, false
	}
	s = s[i+1:]
	if h.time, s = word(s); !isNil(h.time) && isoTime(h.time) != len(h.time) {
		return h, false
	}
	for _, part := range []*[]byte{&h.host, &h.app, &h.proc} {
		*part, s = word(s)
	}
	for _, part := range []*[]byte{&h.time, &h.host, &h.app, &h.proc} {
		if isNil(*part) {
			*part = nil
		}
	}
	id, data := word(s)
	text, ok := afterData(data)
	if !ok { // malformed: the rest is text
		h.rest = s
		return h, true
	}
	elements := data[:len(data)-len(text)]
	switch {
	case !isNil(id):
		h.rest = s
	case !isTransportData(elements):
		h.rest = data
	default:
		h.rest = text
	}
	if len(text) > 0 {
		text = text[1:] // the space
	}
	if len(h.rest) > 0 && isNil(id) && h.rest[0] == ' ' {
		h.rest = h.rest[1:]
	}
	if bytes.HasPrefix(text, bom) {
		h.bom = len(h.rest) - len(text)
	}
	if len(h.rest) > len(text) {
		h.id, h.data, h.text = id, elements, bytes.TrimPrefix(text, bom)
	}
	return h, true
}

var bom = []byte("\ufeff") //nolint:gochecknoglobals // a constant that is bytes

// afterData returns the part after the structured data: nothing, or a space and the text. ok is false if the
// structured data is malformed.
func afterData(s []byte) (text []byte, ok bool) {
	i := 0
	switch {
	case len(s) > 0 && s[0] == '-':
		i = 1
	default:
		for i < len(s) && s[i] == '[' {
			n := element(s[i:])
			if n == 0 {
				return nil, false
			}
			i += n
		}
	}
	if i == 0 || i < len(s) && s[i] != ' ' {
		return nil, false
	}
	return s[i:], true
}

// isTransportData reports whether structured data is nil or only describes the transport, in
// elements that RFC 5424 registers for that: the quality of the sender's clock and the number of
// the message, which logger and syslog-ng prepend to every message.
func isTransportData(data []byte) bool {
	if isNil(data) {
		return true
	}
	for len(data) > 0 {
		if !bytes.HasPrefix(data, []byte("[timeQuality ")) && !bytes.HasPrefix(data, []byte("[meta ")) {
			return false
		}
		data = data[element(data):]
	}
	return true
}

// element returns the length of the structured data element at the start of s, or 0 if it has no end. In
// quotes, a backslash escapes the next byte.
func element(s []byte) int {
	quoted := false
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case quoted && s[i] == '\\':
			i++
		case !quoted && s[i] == ']':
			return i + 1
		}
	}
	return 0
}

// word cuts off the text before the first space.
func word(s []byte) (w, rest []byte) {
	if i := bytes.IndexByte(s, ' '); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, nil
}

// isNil reports whether a part of an RFC 5424 header is nil.
func isNil(part []byte) bool { return len(part) == 0 || len(part) == 1 && part[0] == '-' }

// digits returns the number of digits at the start of s.
func digits(s []byte) int {
	for i, c := range s {
		if !isDigit(c) {
			return i
		}
	}
	return len(s)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
