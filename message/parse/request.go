package parse

import "bytes"

// request adds the parts of the request line text[start:end], METHOD TARGET PROTOCOL. If it is malformed, for example binary, it is the
// field "request". If the line was truncated inside the request, end is negative, and only complete parts are added.
func (l *line) request(start, end int) {
	b, closed := l.text, end >= 0
	if !closed {
		end = len(b)
	}
	method := methodEnd(b[start:end])
	if method == 0 {
		if closed && len(bytes.Trim(b[start:end], "- ")) > 0 {
			l.add(idRequest, start, end, true)
		}
		return
	}
	l.add(idMethod, start, start+method, true)
	start += method + 1

	rest, targetEnd := b[start:end], end
	const missing, version = " -", " HTTP/"
	if n := bytes.LastIndex(rest, []byte(version)); n >= 0 && bytes.IndexByte(rest[n+1:], ' ') < 0 {
		targetEnd = start + n
	} else if closed && bytes.HasSuffix(rest, []byte(missing)) {
		targetEnd = end - len(missing)
	}
	l.target(start, targetEnd, closed || targetEnd < end)
	if closed {
		l.add(idProtocol, targetEnd+1, end, true)
	}
}

// target adds the parts of a request's target: the host of http://HOST/path, the path, and the query without the question mark. Unless
// the target is complete, its last part is omitted.
func (l *line) target(start, end int, complete bool) {
	b := l.text[:end]
	scheme := start
	for scheme < end && b[scheme]|0x20-'a' < 26 {
		scheme++
	}
	const separator = "://"
	if scheme > start && bytes.HasPrefix(b[scheme:], []byte(separator)) {
		host := scheme + len(separator)
		start = host
		for start < end && b[start] != '/' && b[start] != '?' {
			start++
		}
		if complete || start < end {
			l.add(idHost, host, start, true)
		}
	}
	query := bytes.IndexByte(b[start:], '?')
	switch {
	case query >= 0:
		l.add(idPath, start, start+query, true)
		if complete {
			l.add(idQuery, start+query+1, end, true)
		}
	case complete:
		l.add(idPath, start, end, true)
	}
}

// methodEnd returns the length of the method that a request line begins with, 0 if there is none.
func methodEnd(b []byte) int {
	for i, c := range b {
		switch {
		case c-'A' < 26, i > 0 && (c == '-' || c == '_'):
		case c == ' ' && i > 0:
			return i
		default:
			return 0
		}
	}
	return 0
}

// unescape appends text without escapes to b: after a backslash those of nginx and Apache (\" \\ \n \t \xHH), after a # those of HAProxy
// (#HH). Escapes of bytes that [isPlain] accepts are kept, so that these bytes occur in the value only if they occur in the message.
func unescape(b, text []byte, escape byte) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != escape {
			b = append(b, c)
			continue
		}
		rest := text[i+1:]
		if escape == '#' {
			if n, ok := hexByte(rest); ok && !isPlain(n) {
				c = n
				i += 2
			}
			b = append(b, c)
			continue
		}
		if len(rest) > 0 {
			if rest[0] == 'x' {
				if n, ok := hexByte(rest[1:]); ok && !isPlain(n) {
					c = n
					i += 3
				}
			} else if plain := escaped(rest[0]); plain != 0 {
				c = plain
				i++
			}
		}
		b = append(b, c)
	}
	return b
}

// isPlain reports whether no program escapes c: it is printable ASCII other than quotes, backslash, slash, and the separators of headers
// in HAProxy's logs.
func isPlain(c byte) bool {
	return c >= ' ' && c < 0x7f && bytes.IndexByte([]byte(`"'\\/#{|}`), c) < 0
}

// escaped returns the byte that c stands for after a backslash; 0 if that is no escape.
func escaped(c byte) byte {
	switch c {
	case '"', '\\', '/', '\'':
		return c
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'v':
		return '\v'
	}
	return 0
}

// hexByte parses the two hexadecimal digits that b begins with.
func hexByte(b []byte) (byte, bool) {
	if len(b) < 2 {
		return 0, false
	}
	high, low := hexDigit(b[0]), hexDigit(b[1])
	return high<<4 | low, high < 16 && low < 16
}

func hexDigit(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case c|0x20-'a' < 6:
		return c | 0x20 - 'a' + 10
	}
	return 16
}
