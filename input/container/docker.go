package container

import (
	"bytes"

	"logstow/message"
)

// docker holds the values of the fields, as they are written between the quotes.
type docker struct {
	log, time []byte
	stream    Stream
}

// decodeDocker decodes {"log":…,"stream":…,"time":…}. It unescapes log in place.
func decodeDocker(line []byte) (Line, bool) {
	d, ok := scanDocker(line)
	if !ok {
		return Line{}, false
	}
	l := Line{Stream: d.stream, Time: d.time, Text: message.UnescapeInPlace(d.log)}
	// Docker splits output at newlines, so a text without a newline is a partial line.
	if n := len(l.Text); n > 0 && l.Text[n-1] == '\n' {
		l.Text = l.Text[:n-1]
	} else {
		l.Partial = true
	}
	return l, true
}

// scanDocker finds the three fields of an object, in any order and among others. All must exist, and nothing may
// follow the object. scanDocker changes nothing.
func scanDocker(line []byte) (docker, bool) {
	var d docker
	if len(line) == 0 || line[0] != '{' {
		return d, false
	}
	rest := skipBlank(line[1:])
	for {
		key, after, ok := scanString(rest)
		if !ok {
			return d, false
		}
		rest = skipBlank(after)
		if len(rest) == 0 || rest[0] != ':' {
			return d, false
		}
		rest = skipBlank(rest[1:])
		value, after, isString := scanString(rest)
		switch {
		case isString:
			switch string(key) {
			case "log":
				d.log = value
			case "stream":
				d.stream = parseStream(value)
			case "time":
				d.time = value
			}
		default:
			if after, ok = skipValue(rest); !ok {
				return d, false
			}
		}
		rest = skipBlank(after)
		if len(rest) == 0 {
			return d, false
		}
		switch rest[0] {
		case ',':
			rest = skipBlank(rest[1:])
		case '}':
			complete := d.log != nil && d.stream != NoStream && isTime(d.time)
			return d, complete && len(skipBlank(rest[1:])) == 0
		default:
			return d, false
		}
	}
}

// scanString reads the string at the beginning of s. It returns the text between its quotes, still escaped, and
// the rest of s.
func scanString(s []byte) (text, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != '"' {
		return nil, nil, false
	}
	// Escapes come in runs, as for the quotes of JSON in JSON: after one, check bytes one by one
	// for a while.
	for at := 1; ; {
		i := bytes.IndexByte(s[at:], '"')
		if i < 0 {
			return nil, nil, false
		}
		at += i
		escaped := false // escaped by an odd number of backslashes before it
		for back := at - 1; s[back] == '\\'; back-- {
			escaped = !escaped
		}
		if !escaped {
			return s[1:at], s[at+1:], true
		}
		at++
		for end := min(at+escapeRun, len(s)); at < end; at++ {
			if s[at] == '"' {
				return s[1:at], s[at+1:], true
			}
			if s[at] == '\\' {
				at++
				end = min(at+escapeRun, len(s))
			}
		}
		at = min(at, len(s))
	}
}

// escapeRun is how many bytes without an escape are checked one by one.
const escapeRun = 16

// skipValue skips a value that is not a string, up to the comma or bracket behind it. Objects and
// arrays are only scanned for their end.
func skipValue(s []byte) (rest []byte, ok bool) {
	depth := 0
	for len(s) > 0 {
		switch s[0] {
		case '"':
			if _, s, ok = scanString(s); !ok {
				return nil, false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return s, true
			}
			depth--
		case ',':
			if depth == 0 {
				return s, true
			}
		}
		s = s[1:]
	}
	return nil, false
}

func skipBlank(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t' || s[0] == '\r') {
		s = s[1:]
	}
	return s
}
