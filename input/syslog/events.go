package syslog

import (
	"net/netip"

	"logstow/input"
	"logstow/record"
	"logstow/record/recognize"
)

const (
	// maxNames bounds how many source and sender strings are cached.
	maxNames = 128
	// maxEvents bounds how many messages are passed on at once.
	maxEvents = 1024
)

// events collects a batch of messages. Not safe for concurrent use.
type events struct {
	opts       *Options
	recognizer *recognize.Recognizer
	// local is set if senders are on a Unix socket.
	local bool
	list  []input.Event
	// size is the length of all messages.
	size int
	// names are known sources, so that each is allocated once; senders likewise.
	names   map[string]string
	senders map[netip.Addr]string
	scratch []byte
}

func newEvents(opts *Options, local bool) *events {
	return &events{
		opts: opts, recognizer: recognize.New(opts.Recognize), local: local,
		names: make(map[string]string), senders: make(map[netip.Addr]string),
	}
}

// fits reports whether a message of n bytes fits into the batch.
func (e *events) fits(n int) bool {
	return len(e.list) == 0 || len(e.list) < maxEvents && e.size+n <= input.MaxReceive
}

// add appends a message as received, whose bytes must stay until reset; sender is its host if
// known.
func (e *events) add(line []byte, sender string, read int64) {
	event := e.event(line, sender, read)
	e.size += len(event.Message)
	e.list = append(e.list, event)
}

// reset discards all messages.
func (e *events) reset() {
	clear(e.list)
	e.list, e.size = e.list[:0], 0
}

// event makes an event of a message: time, level and source are those of its header, and the
// message is the rest. Anything that cannot be parsed, or represented in these, stays in the
// message.
func (e *events) event(line []byte, sender string, read int64) input.Event {
	h := parseHeader(line, e.local)
	event := input.Event{Level: record.LevelFromSyslog(h.severity), Message: h.rest}
	if len(h.host)+len(h.app)+len(h.proc) > record.MaxSource-2 {
		// Truncated in the source, complete in the message.
		event.Message, h.bom = line, -1
	}
	event.Source = e.source(&h, sender)
	if h.time != nil {
		if stamp := e.recognizer.Stamp(h.time, read, read); stamp.Found && stamp.Rejected == recognize.Accepted {
			event.Time = stamp.Time
		} else {
			event.Message, h.bom = line, -1
		}
	}
	switch {
	case e.opts.Raw || len(event.Message) == 0:
		event.Message = line
	case h.bom >= 0:
		// The mark is removed; the text before it moves up.
		copy(event.Message[len(bom):], event.Message[:h.bom])
		event.Message = event.Message[len(bom):]
	}
	return event
}

// source is HOST/APP/PROCID, without unknown parts.
func (e *events) source(h *header, sender string) string {
	s := e.scratch[:0]
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
	e.scratch = s
	if name, ok := e.names[string(s)]; ok {
		return name
	}
	if len(e.names) >= maxNames {
		clear(e.names)
	}
	name := string(s)
	e.names[name] = name
	return name
}

// sender is an address as a host name.
func (e *events) sender(a netip.Addr) string {
	if name, ok := e.senders[a]; ok {
		return name
	}
	if len(e.senders) >= maxNames {
		clear(e.senders)
	}
	name := host(a)
	e.senders[a] = name
	return name
}

// host is an address, empty for this machine.
func host(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.Unmap().WithZone("").String()
}
