package syslog

import (
	"logstow/input"
	"logstow/internal/memo"
	"logstow/record"
	"logstow/record/recognize"
)

// parser converts messages to events. It is not safe for concurrent use.
type parser struct {
	raw        bool
	recognizer *recognize.Recognizer
	// local is set if senders are on a Unix socket.
	local   bool
	sources memo.Map[string, string]
	scratch []byte
}

func newParser(raw bool, opts recognize.Options, local bool) *parser {
	return &parser{raw: raw, recognizer: recognize.New(opts), local: local}
}

// Parse converts a message to an event. Time, level and source are taken from the header, and the message is
// the rest. Any part that cannot be parsed or represented in these remains in the message.
func (p *parser) Parse(line []byte, sender string, read int64, most int) (service string, event input.Event) {
	h := parseHeader(line, p.local)
	event = input.Event{Level: record.LevelFromSyslog(h.severity), Message: h.rest}
	if len(h.host)+len(h.app)+len(h.proc) > record.MaxSource-2 {
		// The source is truncated, so keep the header in the message.
		event.Message, h.bom = line, -1
	}
	event.Source = p.source(&h, sender)
	if h.time != nil {
		if stamp := p.recognizer.Stamp(h.time, read, read); stamp.Found && stamp.Rejected == recognize.Accepted {
			event.Time = stamp.Time
		} else {
			event.Message, h.bom = line, -1
		}
	}
	if !p.raw && len(h.text) > 0 && len(event.Message) == len(h.rest) {
		if encoded, ok := appendAttributes(nil, h.id, h.data); ok && len(encoded) <= most {
			event.Attributes, event.Message = encoded, h.text
			return "", event
		}
	}
	switch {
	case p.raw, len(event.Message) == 0, h.bom == 0 && len(event.Message) == len(bom):
		// Without a text, the header is the message.
		event.Message = line
	case h.bom >= 0:
		// The mark is removed; the text before it moves up.
		copy(event.Message[len(bom):], event.Message[:h.bom])
		event.Message = event.Message[len(bom):]
	}
	return "", event
}

// source returns HOST/APP/PROCID, without unknown parts.
func (p *parser) source(h *header, sender string) string {
	s := p.scratch[:0]
	if len(h.host) > 0 {
		s = append(s, h.host...)
	} else {
		s = append(s, sender...)
	}
	for _, part := range [][]byte{h.app, h.proc} {
		if len(part) == 0 {
			continue
		}
		if len(s) > 0 {
			s = append(s, '/')
		}
		s = append(s, part...)
	}
	p.scratch = s
	return memo.Text(&p.sources, s, memo.Same)
}
