package syslog

import "bytes"

// maxTag is the maximum length of a program name. RFC 3164 specifies 32.
const maxTag = 128

// parse3164 parses the part after the priority according to RFC 3164, which describes existing practice
// and prescribes no format: TIMESTAMP [HOSTNAME] [TAG[PID]:] text. It also accepts an RFC 3339 time, which
// modern senders write, and the headers of Cisco's devices. Without a time, everything is text, except for a tag with a process
// number.
func parse3164(s []byte, local bool) header {
	if h, ok := parseCisco(s); ok {
		return h
	}
	h := header{bom: -1}
	n := bsdTime(s)
	if n == 0 {
		n = isoTime(s)
	}
	if n == 0 || n < len(s) && s[n] != ' ' {
		h.rest = s
		if app, proc, rest, ok := tag(s); ok && digits(proc) == len(proc) && len(proc) > 0 {
			h.app, h.proc, h.rest = app, proc, rest
		}
		return h
	}
	h.time, s = s[:n], s[min(n+1, len(s)):]
	h.rest = s
	var ok bool
	if h.host, h.app, h.proc, h.rest, ok = forwarded(s); ok {
		return h
	}
	h.rest = s
	if h.app, h.proc, h.rest, ok = tag(s); ok {
		return h
	}
	host, rest := word(s)
	if len(host) == 0 {
		h.rest = s
		return h
	}
	if h.app, h.proc, h.rest, ok = tag(rest); ok {
		h.host = host
		return h
	}
	h.rest = s
	if !local {
		h.host, h.rest = host, rest
	}
	return h
}

// tag parses "app:", "app[anything]:" or "app[123]" and at most one space after it. The message identifier of Cisco,
// "%SYS-5-CONFIG_I:", is no tag.
func tag(s []byte) (app, proc, rest []byte, ok bool) {
	if len(s) > 0 && s[0] == '%' {
		return nil, nil, nil, false
	}
	end := -1
	for i := 0; i < len(s) && i < maxTag; i++ {
		switch c := s[i]; {
		case c <= ' ' || c == 0x7f:
			return nil, nil, nil, false
		case c == '[' && i > 0:
			n := bytes.IndexByte(s[i:min(len(s), i+maxTag)], ']')
			if n < 0 || bytes.IndexByte(s[i:i+n], ' ') >= 0 {
				return nil, nil, nil, false
			}
			app, proc, end = s[:i], s[i+1:i+n], i+n+1
			if end < len(s) && s[end] == ':' {
				end++
			} else if end < len(s) && s[end] != ' ' || digits(proc) != len(proc) {
				return nil, nil, nil, false
			}
		case c == ':' && i > 0 && (i+1 == len(s) || s[i+1] == ' '):
			app, end = s[:i], i+1
		}
		if end >= 0 {
			break
		}
	}
	if end < 0 {
		return nil, nil, nil, false
	}
	rest = s[end:]
	if len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	return app, proc, rest, true
}

// bsdTime returns the length of a time at the start of s, or 0: "Jan _2 15:04:05", also with a fraction after the second, and with a
// year before the month, after the day or at the end, which some devices write.
func bsdTime(s []byte) int {
	if n := yearLen(s); n > 0 && n < len(s) {
		if end := bsdTime(s[n+1:]); end > 0 && s[n] == ' ' && s[n+1]-'A' < 26 {
			return n + 1 + end
		}
		return 0
	}
	if len(s) < len("Jan 2 15:04:05") || s[3] != ' ' || !bytes.Contains(months, s[:3]) {
		return 0
	}
	i := 4
	if s[i] == ' ' {
		i++
	}
	n := digits(s[i:])
	if n == 0 || n > 2 || i+n == len(s) || s[i+n] != ' ' {
		return 0
	}
	i += n + 1
	n = yearLen(s[i:])
	if n > 0 {
		i += n + 1
	}
	clock := matchLen(s[min(i, len(s)):], "00:00:00")
	if clock == 0 {
		return 0
	}
	i += clock
	i += fraction(s[i:])
	if n == 0 && i < len(s) && s[i] == ' ' && yearLen(s[i+1:]) > 0 { // Junos
		i += 1 + yearLen(s[i+1:])
	}
	return i
}

// yearLen returns the length of a year before a space at the start of s, or 0.
func yearLen(s []byte) int {
	if len(s) > 4 && digits(s[:5]) == 4 && s[4] == ' ' && (s[0] == '2' && s[1] == '0' || s[0] == '1' && s[1] == '9') {
		return 4
	}
	return 0
}

var months = []byte("Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec") //nolint:gochecknoglobals // a constant that is bytes

// isoTime returns the length of an RFC 3339 time at the start of s, or 0.
func isoTime(s []byte) int {
	i := matchLen(s, "0000-00-00T00:00:00")
	if i == 0 {
		return 0
	}
	i += fraction(s[i:])
	if i < len(s) && (s[i] == 'Z' || s[i] == 'z') {
		return i + 1
	}
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		if n := matchLen(s[i+1:], "00:00"); n > 0 {
			return i + 1 + n
		}
		return i + 1 + matchLen(s[i+1:], "0000")
	}
	return i
}

// fraction returns the length of a point and digits at the start of s.
func fraction(s []byte) int {
	if len(s) < 2 || s[0] != '.' || !isDigit(s[1]) {
		return 0
	}
	return 1 + digits(s[1:])
}

// matchLen returns the length of a pattern, in which a 0 matches any digit, if s starts with it, otherwise
// 0.
func matchLen(s []byte, pattern string) int {
	if len(s) < len(pattern) {
		return 0
	}
	for i := range len(pattern) {
		if pattern[i] == '0' && !isDigit(s[i]) || pattern[i] != '0' && pattern[i] != s[i] {
			return 0
		}
	}
	return len(pattern)
}
