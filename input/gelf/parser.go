package gelf

import (
	"bytes"

	"logstow/exact"
	"logstow/input"
	"logstow/input/socket"
	"logstow/internal/memo"
	"logstow/message"
	"logstow/record"
	"logstow/record/recognize"
)

// parser converts documents to events. It is not safe for concurrent use.
type parser struct {
	services *input.Services
	// guard checks times.
	guard    *recognize.Recognizer
	document document
	sources  memo.Map[string, string]
	scratch  []byte
	// admitted caches the services for the names in documents, as they are escaped there.
	admitted memo.Map[string, string]
}

// Parse implements [socket.Parser].
func (p *parser) Parse(msg []byte, sender string, read int64, most int) (service string, e input.Event) {
	msg = socket.TrimEnd(msg)
	e = input.Event{Source: sender, Message: msg}
	text := bytes.TrimLeft(msg, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		return "", e
	}
	d := &p.document
	defer d.release()
	d.scan(text)
	e.Time, _ = parseSeconds(message.Unquoted(d.time)) // some senders write numbers as texts
	switch level := message.Unquoted(d.level); {
	case len(level) == 1 && level[0] >= '0' && level[0] <= '7':
		e.Level = record.LevelFromSyslog(int(level[0] - '0'))
	default:
		e.Fallback = record.LevelFromAlias(level)
	}
	e.Source = p.source(d, sender)
	service = p.service(first(d.services[:]))
	_, reason := p.guard.CheckTime(e.Time, read)
	if text, encoded, ok := d.parts(e.Time == 0 || reason != recognize.Accepted, most); ok {
		e.Message, e.Attributes = text, encoded
	}
	return service, e
}

// source returns HOST/FACILITY, without unknown parts.
func (p *parser) source(d *document, sender string) string {
	s := p.scratch[:0]
	if s = appendText(s, d.host); len(s) == 0 {
		s = append(s, sender...)
	}
	if facility := first(d.facilities[:]); facility != nil {
		if len(s) > 0 {
			s = append(s, '/')
		}
		s = appendText(s, facility)
	}
	p.scratch = s
	return memo.Text(&p.sources, s[:min(len(s), record.MaxSource)], memo.Same)
}

// service is the service for its raw name in a document, "" for the configured one.
func (p *parser) service(name []byte) string {
	if name == nil {
		return ""
	}
	return memo.Text(&p.admitted, name, func(string) string { return p.services.Admit(string(appendText(nil, name))) })
}

// appendText appends a raw value without its escapes, if it is a text. Only the beginning of a long one
// is: no name is longer.
func appendText(dst, value []byte) []byte {
	const most = 4 * record.MaxSource
	if len(value) < 2 || value[0] != '"' {
		return dst
	}
	return message.Unescape(dst, value[1:min(len(value)-1, most)])
}

// parseSeconds parses a decimal number of seconds since 1970 as nanoseconds. Fractions of nanoseconds are cut
// off. ok is false for other texts, negative numbers and numbers that exceed 64 bits.
func parseSeconds(text []byte) (nanoseconds int64, ok bool) {
	const nanos = 9
	n, ok := exact.Parse(text)
	if !ok || text[0] == '-' {
		return 0, false
	}
	return n.Scaled(nanos)
}
