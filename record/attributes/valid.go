package attributes

import (
	"bytes"
	"unicode/utf8"

	"logstow/exact"
	"logstow/message"
)

// Valid reports whether text is the canonical form of at least one attribute, of at most [MaxSize] bytes.
func Valid(text []byte) bool {
	if len(text) < len(`{"":0}`) || len(text) > MaxSize || text[0] != '{' {
		return false
	}
	end := object(text, 0, 0)
	return end == len(text) && utf8.Valid(text)
}

// object returns the end of the object at text[at], or -1.
func object(text []byte, at, depth int) int {
	if depth > MaxDepth+1 {
		return -1
	}
	at++
	if at < len(text) && text[at] == '}' {
		return at + 1
	}
	var last []byte
	for first := true; ; first = false {
		name := at
		if at = quoted(text, at); at < 0 || at >= len(text) || text[at] != ':' {
			return -1
		}
		content := text[name+1 : at-1]
		if !first && !less(last, content) {
			return -1
		}
		last = content
		if at = value(text, at+1, depth+1); at < 0 || at >= len(text) {
			return -1
		}
		if at++; text[at-1] != ',' {
			break
		}
	}
	if text[at-1] != '}' {
		return -1
	}
	return at
}

// less compares names as they are without escapes.
func less(a, b []byte) bool {
	if bytes.IndexByte(a, '\\') >= 0 || bytes.IndexByte(b, '\\') >= 0 {
		a, b = message.Unescape(nil, a), message.Unescape(nil, b)
	}
	return bytes.Compare(a, b) < 0
}

// value returns the end of the value at text[at], or -1.
func value(text []byte, at, depth int) int {
	if at >= len(text) {
		return -1
	}
	switch text[at] {
	case '"':
		return quoted(text, at)
	case '{':
		return object(text, at, depth)
	case '[':
		return array(text, at, depth)
	}
	end := at
	for end < len(text) && text[end] != ',' && text[end] != '}' && text[end] != ']' {
		end++
	}
	switch word := text[at:end]; {
	case string(word) == "true", string(word) == "false", string(word) == "null":
		return end
	case exact.IsNumber(word) && !leadingZero(bytes.TrimPrefix(word, []byte("-"))):
		return end
	}
	return -1
}

func leadingZero(digits []byte) bool {
	return len(digits) > 1 && digits[0] == '0' && digits[1]-'0' < 10
}

// array returns the end of the array at text[at], or -1.
func array(text []byte, at, depth int) int {
	if depth > MaxDepth+1 {
		return -1
	}
	if at++; at < len(text) && text[at] == ']' {
		return at + 1
	}
	for {
		if at = value(text, at, depth+1); at < 0 || at >= len(text) {
			return -1
		}
		if at++; text[at-1] != ',' {
			break
		}
	}
	if text[at-1] != ']' {
		return -1
	}
	return at
}

// quoted returns the end of the string at text[at], or -1 if it is not written as [AppendText] writes it.
func quoted(text []byte, at int) int {
	if at >= len(text) || text[at] != '"' {
		return -1
	}
	for at++; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			return at + 1
		case c < ' ', c == 0x7f:
			return -1
		case c != '\\':
			continue
		}
		n := escape(text[at:])
		if n == 0 {
			return -1
		}
		at += n - 1
	}
	return -1
}

// escape returns the length of the escape that s begins with, 0 if it is not one that [AppendText] writes.
func escape(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', 'n', 't', 'r':
		return 2
	case 'u':
		if len(s) < 6 {
			return 0
		}
		if c := message.Unescape(nil, s[:6]); len(c) == 1 && bytes.Equal(appendString(nil, c)[1:7], s[:6]) {
			return 6
		}
	}
	return 0
}
