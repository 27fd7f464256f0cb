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

// shaped reports whether b begins with a shape, in which # stands for a digit and _ for any byte. It reads no more bytes of b than needed.
func shaped(b []byte, shape string) bool {
	if len(b) < len(shape) {
		return false
	}
	for i := range len(shape) {
		switch c := shape[i]; {
		case c == '_':
		case c == '#':
			if !isDigit(b[i]) {
				return false
			}
		case b[i] != c:
			return false
		}
	}
	return true
}

// recognize returns the format of a message, and for access and haproxy the offset of the time, otherwise 0.
func recognize(b []byte) (format, int) {
	if len(b) == 0 || b[0] == '{' {
		return plain, 0
	}
	format, at := recognizeColumns(b)
	if format == plain && isSyslog(b) {
		return syslog, 0
	}
	return format, at
}

// recognizeColumns is recognize for all formats but syslog's, whose header may precede them.
func recognizeColumns(b []byte) (format, int) {
	if len(b) < shortestTime {
		return plain, 0
	}
	switch c := b[0]; c {
	case 'I', 'W', 'E', 'F':
		if isKlog(b) {
			return klog, 0
		}
	case '[':
		switch {
		case isEnvoy(b):
			return envoyOrIstio(b), 0
		case isApacheError(b):
			return apacheError, 0
		case bytes.HasPrefix(b, []byte(ginPrefix)):
			return gin, 0
		}
	case '1', '2':
		switch {
		case b[4] == '/' && isNginxError(b):
			return nginxError, 0
		case b[4] == '-' && isELB(b):
			return elb, 0
		case b[19] == ' ' && isAppService(b):
			return appService, 0
		case b[10] == '.' && isDigit(b[2]) && isDigit(b[3]) && isSquid(b): // no address
			return squid, 0
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
			break
		}
		at += n
		if t := b[at:]; (at == 0 || b[at-1] == ' ') && shaped(t, "_#_/___/____________#") && (t[12] == ':' || t[12] == ' ') {
			switch {
			case isAccess(t):
				return access, at
			case isS3(t):
				return s3, 0
			case isHAProxy(t) && at > 0:
				return haproxy, at
			}
		}
		at++
	}
	if b[1] == '.' || b[2] == '.' || b[3] == '.' { // an address
		if start := fpmTime(b); start > 0 {
			return fpm, start
		}
	}
	return plain, 0
}

// fpmTime returns the offset of the time in a line of PHP-FPM's access log, 192.0.2.7 - user 20/Nov/2026:15:04:05 +0000 "GET /", 0 if
// it is none.
func fpmTime(b []byte) int {
	if !isDigit(b[0]) {
		return 0
	}
	const before = " - "
	i := wordEnd(b, 0)
	if !bytes.HasPrefix(b[i:], []byte(before)) {
		return 0
	}
	i = wordEnd(b, i+len(before)) + 1
	if i > len(b) || !shaped(b[i:], `__/___/____:______________ "`) {
		return 0
	}
	return i
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
	if !shaped(b, "_#___-__-__T__:") {
		return false
	}
	const longest = len("[2026-11-20T15:04:05.123456789Z]")
	end := bytes.IndexByte(b[:min(len(b), longest)], ']')
	if end < 0 || len(b) > end+1 && b[end+1] != ' ' || len(b) > end+2 && b[end+2] != '"' {
		return false
	}
	return len(b) <= end+3 || b[end+3] == '-' || b[end+3]-'A' < 26
}

// envoyOrIstio tells the formats apart: three words and text in quotes after the status are Istio's.
func envoyOrIstio(b []byte) format {
	const request = `" `
	i := bytes.IndexByte(b, '"')
	if i < 0 {
		return envoy
	}
	end := bytes.Index(b[i+1:], []byte(request))
	if end < 0 {
		return envoy
	}
	i += 1 + end + len(request)
	for range 4 { // the status, the flags and two details
		i = wordEnd(b, min(i, len(b))) + 1
	}
	if i < len(b) && b[i] == '"' {
		return istio
	}
	return envoy
}

// isS3 reports whether t, at a time, continues as an S3 access log does: an address, two words, and an operation such as
// REST.GET.OBJECT.
func isS3(t []byte) bool {
	i := accessTime
	if len(t) <= i || t[i-1] != ']' || t[i] != ' ' {
		return false
	}
	for range 3 {
		i = wordEnd(t, min(i+1, len(t)))
	}
	operation := t[min(i+1, len(t)):wordEnd(t, min(i+1, len(t)))]
	for _, prefix := range [...]string{"REST.", "SOAP.", "WEBSITE.", "BATCH.", "S3."} {
		if bytes.HasPrefix(operation, []byte(prefix)) {
			return true
		}
	}
	return false
}

// isSquid reports whether b begins as "1795190645.123    180 192.0.2.7 TCP_MISS/200".
func isSquid(b []byte) bool {
	const seconds = len("1795190645")
	if b[seconds+4] != ' ' {
		return false
	}
	i := seconds + 5
	for i < len(b) && b[i] == ' ' {
		i++
	}
	elapsed := wordEnd(b, i)
	address := wordEnd(b, min(elapsed+1, len(b)))
	result := b[min(address+1, len(b)):wordEnd(b, min(address+1, len(b)))]
	slash := bytes.IndexByte(result, '/')
	return elapsed > i && isNumeric(b[i:elapsed]) && slash > 0 && result[0]-'A' < 26 && isNumeric(result[slash+1:])
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
	if !shaped(t, "#___-__-__T__:") {
		return false
	}
	const app = "app/"
	end := wordEnd(t, 0)
	rest := t[min(end+1, len(t)):]
	return len(rest) == 0 || bytes.HasPrefix(rest, []byte(app)[:min(len(app), len(rest))])
}

// isELB reports whether b begins as "2026-11-20T15:04:05.123456Z shop-lb 192.0.2.7:2817 10.0.0.1:80 0.000073": name, client, backend or
// "-", and three durations or -1.
func isELB(b []byte) bool {
	if !shaped(b, "____-__-__T__:__:__.######Z ") {
		return false
	}
	var column [6][]byte
	i := wordEnd(b, 0)
	for k := range column {
		end := wordEnd(b, min(i+1, len(b)))
		column[k], i = b[min(i+1, len(b)):end], end
	}
	for _, duration := range column[3:] {
		if len(duration) < 2 || duration[0] != '-' && (!isDigit(duration[0]) || duration[1] != '.') {
			return false
		}
	}
	colon := bytes.LastIndexByte(column[1], ':')
	return colon > 0 && isAddress(column[1][:colon]) && (string(column[2]) == "-" || bytes.IndexByte(column[2], ':') > 0)
}

// klogTime is the length of klog's severity, month, day and time: I1120 15:04:05.123456.
const klogTime = len("I1120 15:04:05.123456")

// isKlog reports whether b begins with a header of klog.
func isKlog(b []byte) bool { return shaped(b, "_#### ##:##:##.#____# ") }

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
