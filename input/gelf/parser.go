package gelf

import (
	"bytes"

	"logstow/exact"
	"logstow/input"
	"logstow/input/socket"
	"logstow/message"
	"logstow/record"
)

// maxServiceNames bounds how many names of services are cached.
const maxServiceNames = 128

// parser converts documents to events. It is not safe for concurrent use.
type parser struct {
	services *input.Services
	sources  socket.Names
	scratch  []byte
	// admitted caches the services for the names in documents, as they are escaped there.
	admitted map[string]string
}

// document holds the encoded values of a document's members; they are nil if the members are missing.
type document struct {
	host, time, level []byte
	// facilities and services are by preference.
	facilities [3][]byte
	services   [3][]byte
}

// Parse implements [socket.Parser].
func (p *parser) Parse(msg []byte, sender string, _ int64) (service string, e input.Event) {
	msg = trimEnd(msg)
	e = input.Event{Source: sender, Message: msg}
	text := bytes.TrimLeft(msg, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		return "", e
	}
	d := scan(text)
	e.Time, _ = parseSeconds(message.Unquoted(d.time)) // some senders write numbers as texts
	if level := message.Unquoted(d.level); len(level) == 1 && level[0] >= '0' && level[0] <= '7' {
		e.Level = record.LevelFromSyslog(int(level[0] - '0'))
	}
	e.Source = p.source(&d, sender)
	return p.service(first(d.services[:])), e
}

// scan reads the members of a document. If several members have the same name, the first one is used.
func scan(text []byte) (d document) {
	members := message.Object(text)
	for {
		name, value, ok := members.Next()
		if !ok {
			return d
		}
		var to *[]byte
		switch string(name) {
		case "host":
			to = &d.host
		case "timestamp":
			to = &d.time
		case "level":
			to = &d.level
		case "facility":
			to = &d.facilities[0]
		case "_facility":
			to = &d.facilities[1]
		case "_container_name":
			to = &d.facilities[2]
		case "_service_name":
			to = &d.services[0]
		case "_service":
			to = &d.services[1]
		case "_app":
			to = &d.services[2]
		default:
			continue
		}
		if *to == nil {
			*to = value
		}
	}
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
	return p.sources.Get(s[:min(len(s), record.MaxSource)])
}

// service is the service for its raw name in a document, "" for the configured one.
func (p *parser) service(name []byte) string {
	if name == nil {
		return ""
	}
	if service, ok := p.admitted[string(name)]; ok {
		return service
	}
	if p.admitted == nil {
		p.admitted = make(map[string]string)
	}
	if len(p.admitted) >= maxServiceNames {
		clear(p.admitted)
	}
	service := p.services.Admit(string(appendText(nil, name)))
	p.admitted[string(name)] = service
	return service
}

// first is the first value that is a text and not empty.
func first(values [][]byte) []byte {
	for _, v := range values {
		if len(v) > 2 && v[0] == '"' {
			return v
		}
	}
	return nil
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

// trimEnd removes the one newline or NUL that some senders append to a document.
func trimEnd(text []byte) []byte {
	if n := len(text); n > 0 && (text[n-1] == '\n' || text[n-1] == 0) {
		return text[:n-1]
	}
	return text
}
