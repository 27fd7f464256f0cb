package parse

import "bytes"

// isNginxError reports whether b begins as "2026/11/20 16:04:05 [error] 1234#5678: ".
func isNginxError(b []byte) bool {
	if !shaped(b, "_______/__ __:_____ [") {
		return false
	}
	closing := bytes.IndexByte(b, ']')
	if closing < 0 || closing+2 >= len(b) || b[closing+1] != ' ' {
		return false
	}
	process := b[closing+2 : wordEnd(b, closing+2)]
	hash := bytes.IndexByte(process, '#')
	return hash > 0 && isNumeric(process[:hash]) && process[len(process)-1] == ':'
}

// nginxError adds the fields of nginx's error log: those of the head, the message, and the list behind it, as in
// `…, client: 192.0.2.7, server: example.org, request: "GET / HTTP/1.1", host: "example.org"`.
func (l *line) nginxError() {
	b := l.text
	const time = len("2026/11/20 16:04:05")
	l.add(idTime, 0, time, false)
	i := time + 2
	closing := i + bytes.IndexByte(b[i:], ']')
	l.add(idSeverity, i, closing, false)
	process := closing + 2
	end := wordEnd(b, process)
	hash := process + bytes.IndexByte(b[process:end], '#')
	l.add(idPID, process, hash, false)
	l.add(idTID, hash+1, end-1, false)
	i = min(end+1, len(b))
	if i < len(b) && b[i] == '*' {
		end = wordEnd(b, i)
		l.add(idConnection, i+1, end, false)
		i = min(end+1, len(b))
	}
	const client = ", client: "
	list := bytes.LastIndex(b[i:], []byte(client))
	if list < 0 {
		l.messageAt(i, len(b))
		return
	}
	l.messageAt(i, i+list)
	for i += list + len(", "); i < len(b); {
		colon := bytes.Index(b[i:], []byte(": "))
		if colon < 0 {
			return
		}
		name := string(b[i : i+colon])
		i += colon + len(": ")
		quoted := i < len(b) && b[i] == '"'
		end, next := l.listed(i, quoted)
		if quoted {
			i++
		}
		if end >= 0 || name == "request" {
			l.nginxField(name, i, end, quoted)
		}
		i = next
	}
}

// listed returns the end of the value at text[i] in a list with commas, and the start of the next element. The end is negative if the
// value is incomplete.
func (l *line) listed(i int, quoted bool) (end, next int) {
	b := l.text
	if quoted {
		n := bytes.Index(b[i+1:], []byte(`", `))
		switch {
		case n >= 0:
			end = i + 1 + n
			return end, end + len(`", `)
		case b[len(b)-1] == '"' && len(b) > i+1 && !l.cut:
			return len(b) - 1, len(b)
		}
		return -1, len(b)
	}
	if n := bytes.Index(b[i:], []byte(", ")); n >= 0 {
		return i + n, i + n + len(", ")
	}
	if l.cut {
		return -1, len(b)
	}
	return len(b), len(b)
}

func (l *line) nginxField(name string, start, end int, quoted bool) {
	switch name {
	case "client":
		l.add(idIP, start, end, quoted)
	case "server":
		l.add(idServer, start, end, quoted)
	case "request":
		l.request(start, end)
	case "upstream":
		l.add(idUpstream, start, end, quoted)
	case "host":
		l.add(idHost, start, end, quoted)
	case "referrer":
		l.add(idReferer, start, end, quoted)
	}
}

// isApacheError reports whether b begins as "[Fri Nov 20 16:04:05.123456 2026] [".
func isApacheError(b []byte) bool {
	if !shaped(b, "____ ___ _# __:__:") {
		return false
	}
	closing := bytes.IndexByte(b[:min(len(b), 40)], ']')
	return closing > 0 && closing+2 < len(b) && b[closing+1] == ' ' && b[closing+2] == '['
}

// apacheError adds the fields of Apache's error log: those in brackets, a code such as AH00128, the message, and the referer.
func (l *line) apacheError() {
	b := l.text
	i := bytes.IndexByte(b, ']')
	l.add(idTime, 1, i, false)
	for i += 2; i < len(b) && b[i] == '['; i = min(i+1, len(b)) {
		n := bytes.Index(b[i:], []byte("] "))
		if n < 0 {
			break
		}
		l.apacheGroup(i+1, i+n)
		i += n + 1
	}
	const code = len("AH00128: ")
	if len(b) > i+code && b[i] == 'A' && b[i+1] == 'H' && b[i+code-2] == ':' && isNumeric(b[i+2:i+code-2]) {
		l.add(idCode, i, i+code-2, false)
		i += code
	}
	const referer = ", referer: "
	n := bytes.LastIndex(b[i:], []byte(referer))
	if n < 0 || l.cut {
		l.messageAt(i, len(b))
		return
	}
	l.messageAt(i, i+n)
	l.add(idReferer, i+n+len(referer), len(b), true)
}

// apacheGroup adds the fields of text[start:end], which was in brackets: core:error, error, pid 12:tid 34, client 192.0.2.7:80.
func (l *line) apacheGroup(start, end int) {
	group := l.text[start:end]
	word, value, more := bytes.Cut(group, []byte(" "))
	at := end - len(value)
	switch {
	case more && (string(word) == "client" || string(word) == "remote"):
		if isAddress(value) && bytes.Count(value, []byte(":")) != 1 {
			l.add(idIP, at, end, false)
			return
		}
		l.address([]id{idIP, idClientPort}, at, end, true)
	case more && string(word) == "pid":
		pid, thread, both := bytes.Cut(value, []byte(":tid "))
		l.add(idPID, at, at+len(pid), false)
		if both {
			l.add(idTID, end-len(thread), end, false)
		}
	case !more && l.at[idSeverity] == 0:
		colon := bytes.IndexByte(group, ':')
		if colon > 0 {
			l.add(idModule, start, start+colon, false)
		}
		l.add(idSeverity, start+colon+1, end, false)
	}
}

// isAppService reports whether b begins as "2026-11-20T16:04:05  PID[1234] Error ".
func isAppService(b []byte) bool {
	const before = "__________T________  PID["
	return shaped(b, before) && bytes.IndexByte(b, ']') >= len(before)
}

// appService adds the fields of App Service's application log.
func (l *line) appService() {
	b := l.text
	const time, pid = len("2026-11-20T16:04:05"), len("2026-11-20T16:04:05  PID[")
	l.add(idTime, 0, time, false)
	closing := bytes.IndexByte(b, ']')
	l.add(idPID, pid, closing, false)
	i := min(closing+2, len(b))
	end := wordEnd(b, i)
	l.add(idSeverity, i, end, false)
	for end < len(b) && b[end] == ' ' {
		end++
	}
	l.messageAt(end, len(b))
}

// messageAt makes text[start:end] the message, which may contain further fields.
func (l *line) messageAt(start, end int) {
	if start < end {
		l.rest = l.text[start:end]
		l.set(idMessage, start, end, true)
	}
}

const ginPrefix = "[GIN] "

// gin adds the fields of `[GIN] 2026/11/20 - 15:04:05 | 200 |     1.2ms |       192.0.2.7 | GET      "/path"`.
func (l *line) gin() {
	b := l.text
	names := [...]id{idTime, idStatus, idDuration, idIP}
	i := len(ginPrefix)
	for _, name := range names {
		n := bytes.IndexByte(b[i:], '|')
		if n < 0 {
			return
		}
		column := bytes.TrimSpace(b[i : i+n])
		start := i + bytes.Index(b[i:], column)
		l.add(name, start, start+len(column), name == idTime)
		i += n + 1
	}
	rest := bytes.TrimSpace(b[i:])
	method := methodEnd(rest)
	path := bytes.IndexByte(b[i:], '"')
	if method == 0 || path < 0 {
		return
	}
	start := i + bytes.Index(b[i:], rest)
	l.add(idMethod, start, start+method, true)
	path += i + 1
	end := closingQuote(b, path, 0)
	l.target(path, max(end, path), end >= 0)
}
