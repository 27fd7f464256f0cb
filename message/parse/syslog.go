package parse

import (
	"bytes"

	"logstow/record"
)

// syslogHeader has the places of the words of a header of syslog. That of a missing word is empty.
type syslogHeader struct {
	host, app, pid, msgID span
	// rest is where structured data or the message start.
	rest int
}

// isSyslog reports whether a message begins with a header of syslog.
func isSyslog(b []byte) bool {
	var h syslogHeader
	return h.read(b)
}

// SyslogText returns the offset of the text behind the header of syslog with which a message begins, as [Parser] reads it; 0 if there
// is none.
func SyslogText(message []byte) int {
	var h syslogHeader
	if len(message) == 0 || !h.read(message) {
		return 0
	}
	return h.rest
}

// read reads the header of RFC 5424, or of RFC 3164 in one of the forms that daemons write to files, with a priority or not:
//
//	<34>1 2026-11-20T16:04:05.003Z host app 1234 ID47 [id a="1"] text
//	Nov 20 16:04:05 host app[1234]: text
//	Nov 20 16:04:05 app: text
//	Nov 20 16:04:05 2026  host app[1234]: text                          (Junos)
//	Nov 20 16:04:05 Message forwarded from host: app[1234]: text        (AIX)
//	2026-11-20T16:04:05.123456+01:00 host app[1234]: text
//
// It is not ok for other messages.
func (h *syslogHeader) read(b []byte) bool {
	i := 0
	if b[0] == '<' {
		if i = priorityEnd(b); i == 0 {
			return false
		}
	}
	if i+2 < len(b) && b[i] == '1' && b[i+1] == ' ' {
		return h.rfc5424(b, i+2)
	}
	const stamp = len("Nov 20 16:04:05 ")
	if len(b) < i+stamp {
		return false
	}
	switch t := b[i:]; {
	case t[0]-'A' < 26 && shaped(t, "___ _# __:__:_# "):
		i = withoutYear(b, i+stamp)
		return h.forwarded(b, i) || h.tagged(b, i, false)
	case shaped(t, "#___-__-__T__:"):
		return h.tagged(b, wordEnd(b, i)+1, true)
	}
	return false
}

// withoutYear returns the offset after a year at b[i], or i.
func withoutYear(b []byte, i int) int {
	end := wordEnd(b, i)
	if end-i != len("2026") || !isNumeric(b[i:end]) {
		return i
	}
	for end < len(b) && b[end] == ' ' {
		end++
	}
	return end
}

// forwarded reads what AIX writes at b[i], behind the host of a relay or not: Message forwarded from host: app[1234]: text.
func (h *syslogHeader) forwarded(b []byte, i int) bool {
	const words = "Message forwarded from "
	for _, start := range [...]int{i, wordEnd(b, i) + 1} {
		if start >= len(b) || !bytes.HasPrefix(b[start:], []byte(words)) {
			continue
		}
		start += len(words)
		end := wordEnd(b, start)
		if end-start < 2 || b[end-1] != ':' {
			return false
		}
		h.host = span{start: start, end: end - 1}
		h.rest = min(end+1, len(b))
		h.tag(b, h.rest) // there may be none
		return true
	}
	return false
}

// priorityEnd returns the offset after the priority that b starts with; 0 if there is none.
func priorityEnd(b []byte) int {
	end := bytes.IndexByte(b[:min(len(b), len("<191>"))], '>')
	if end < 2 || !isNumeric(b[1:end]) {
		return 0
	}
	return end + 1
}

// rfc5424 reads the words after the version, from b[i] on.
func (h *syslogHeader) rfc5424(b []byte, i int) bool {
	var time span
	for _, word := range [...]*span{&time, &h.host, &h.app, &h.pid, &h.msgID} {
		if i >= len(b) {
			return false
		}
		end := wordEnd(b, i)
		*word = span{start: i, end: end}
		i = end + 1
	}
	t := b[time.start:time.end]
	h.rest = i
	return i < len(b) && (b[i] == '-' || b[i] == '[') && (string(t) == "-" || len(t) > 10 && t[4] == '-' && t[10] == 'T')
}

// tagged reads an optional host and the tag from b[i] on: app: or app[pid]:. If strict is set, both are required, and the tag has
// a number or is that of the kernel: programs write other words behind a time in ISO 8601.
func (h *syslogHeader) tagged(b []byte, i int, strict bool) bool {
	if !strict && h.tag(b, i) {
		return true
	}
	if i >= len(b) {
		return false
	}
	end := wordEnd(b, i)
	host := b[i:end]
	if len(host) == 0 || host[len(host)-1] == ':' || !h.tag(b, end+1) {
		return false
	}
	h.host = span{start: i, end: end}
	isKernel := string(b[h.app.start:h.app.end]) == "kernel"
	return !strict || (h.pid.end > h.pid.start || isKernel) && record.LevelFromAlias(host) == record.None
}

// tag reads the tag at b[i].
func (h *syslogHeader) tag(b []byte, i int) bool {
	if i >= len(b) {
		return false
	}
	end := wordEnd(b, i)
	word := b[i:end]
	n := len(word) - 1
	if n < 1 || word[n] != ':' {
		return false
	}
	app, pid := span{start: i, end: i + n}, span{}
	open := bytes.IndexByte(word, '[')
	if open > 0 && word[n-1] == ']' {
		app.end, pid = i+open, span{start: i + open + 1, end: i + n - 1}
	}
	if open == 0 || bytes.ContainsAny(b[app.start:app.end], "[]():=\"{}") {
		return false
	}
	h.app, h.pid, h.rest = app, pid, min(end+1, len(b))
	return true
}

// header adds the fields of the header, if there is one, and returns the offset after it.
func (l *line) header() int {
	var h syslogHeader
	if len(l.text) == 0 || !h.read(l.text) {
		return 0
	}
	for _, word := range [...]struct {
		name id
		at   span
	}{{idHost, h.host}, {idApp, h.app}, {idPID, h.pid}, {idMsgID, h.msgID}} {
		l.add(word.name, word.at.start, word.at.end, word.name != idPID)
	}
	return h.rest
}

// syslog adds the fields of a header; structured data and the message after it may contain further ones.
func (l *line) syslog() {
	start := l.header()
	if l.rest = nil; start < len(l.text) {
		l.rest = l.text[start:]
	}
}
