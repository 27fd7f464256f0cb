package parse

import "bytes"

// Bounds of the search for the time of an access log, to limit its cost for other lines.
const (
	maxBefore   = 256 // bytes before the time
	maxBrackets = 6   // opening brackets before and at the time
)

// Offsets in [20/Nov/2026:15:04:05 +0000] and [20/Nov/2026:15:04:05.123].
const (
	secondsEnd   = len("[20/Nov/2026:15:04:05")
	accessTime   = len("[20/Nov/2026:15:04:05 +0000]")
	haproxyTime  = len("[20/Nov/2026:15:04:05.123]")
	shortestTime = haproxyTime
)

// recognize returns the format of a message, and for access and haproxy the offset of the time, otherwise 0.
func recognize(b []byte) (format, int) {
	if len(b) < shortestTime || b[0] == '{' {
		return plain, 0
	}
	switch b[0] {
	case 'I', 'W', 'E', 'F':
		if isKlog(b) {
			return klog, 0
		}
	case '[':
		if isEnvoy(b) {
			return envoy, 0
		}
	case 'h', 'g', 'w':
		if isALB(b) {
			return alb, 0
		}
	}
	at := 0
	for range maxBrackets {
		n := bytes.IndexByte(b[at:min(len(b), maxBefore)], '[')
		if n < 0 || len(b) < at+n+shortestTime {
			return plain, 0
		}
		at += n
		if t := b[at:]; (at == 0 || b[at-1] == ' ') && t[3] == '/' && t[7] == '/' && t[12] == ':' && isDigit(t[1]) && isDigit(t[secondsEnd-1]) {
			switch {
			case isAccess(t):
				return access, at
			case isHAProxy(t) && at > 0:
				return haproxy, at
			}
		}
		at++
	}
	return plain, 0
}

// isAccess reports whether t, at a time, continues as an access log does.
func isAccess(t []byte) bool {
	end := secondsEnd
	if t[end] == ' ' { // the zone may be missing
		end = accessTime - 1
	}
	return len(t) > end && t[end] == ']' && (len(t) <= end+2 || t[end+1] == ' ' && t[end+2] == '"')
}

// isHAProxy reports whether t, at a time, continues as a log of HAProxy: with a fraction, and "frontend backend/server" after the
// time.
func isHAProxy(t []byte) bool {
	if t[secondsEnd] != '.' || t[haproxyTime-1] != ']' || len(t) > haproxyTime && t[haproxyTime] != ' ' {
		return false
	}
	frontend := wordEnd(t, min(haproxyTime+1, len(t)))
	backend := wordEnd(t, min(frontend+1, len(t)))
	return backend == len(t) || bytes.IndexByte(t[frontend:backend], '/') > 0
}

// isEnvoy reports whether b begins as [2026-11-20T15:04:05.123Z] "GET or with a "- for TCP.
func isEnvoy(b []byte) bool {
	if b[5] != '-' || b[8] != '-' || b[11] != 'T' || b[14] != ':' || !isDigit(b[1]) {
		return false
	}
	const longest = len("[2026-11-20T15:04:05.123456789Z]")
	end := bytes.IndexByte(b[:min(len(b), longest)], ']')
	if end < 0 || len(b) > end+1 && b[end+1] != ' ' || len(b) > end+2 && b[end+2] != '"' {
		return false
	}
	return len(b) <= end+3 || b[end+3] == '-' || b[end+3]-'A' < 26
}

// isALB reports whether b begins as "https 2026-11-20T15:04:05.123456Z app/".
func isALB(b []byte) bool {
	kind := wordEnd(b[:len("https ")], 0)
	switch string(b[:kind]) {
	case "http", "https", "h2", "grpcs", "ws", "wss":
	default:
		return false
	}
	t := b[kind+1:]
	if t[4] != '-' || t[7] != '-' || t[10] != 'T' || t[13] != ':' || !isDigit(t[0]) {
		return false
	}
	const app = "app/"
	end := wordEnd(t, 0)
	rest := t[min(end+1, len(t)):]
	return len(rest) == 0 || bytes.HasPrefix(rest, []byte(app)[:min(len(app), len(rest))])
}

// klogTime is the length of klog's severity, month, day and time: I1120 15:04:05.123456.
const klogTime = len("I1120 15:04:05.123456")

// isKlog reports whether b begins with a header of klog.
func isKlog(b []byte) bool {
	if b[5] != ' ' || b[8] != ':' || b[11] != ':' || b[14] != '.' || b[klogTime] != ' ' {
		return false
	}
	for _, i := range [...]int{1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 15, klogTime - 1} {
		if !isDigit(b[i]) {
			return false
		}
	}
	return true
}

// firstLine returns the first line of a message without the mark of truncation, and whether it was truncated.
func firstLine(message []byte) (text []byte, cut bool) {
	if n := bytes.IndexByte(message, '\n'); n >= 0 {
		message = message[:n]
	}
	return withoutMark(bytes.TrimSuffix(message, []byte{'\r'}))
}

// withoutMark removes the mark of a record that the shipper has truncated: …[logstow: cut 9 bytes].
func withoutMark(text []byte) (_ []byte, cut bool) {
	if n := len(text); n > 0 && text[n-1] == ']' {
		if at := bytes.LastIndex(text, []byte(" …[logstow: ")); at >= 0 {
			return text[:at], true
		}
	}
	return text, false
}
