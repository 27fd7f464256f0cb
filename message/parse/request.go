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
