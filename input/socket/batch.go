package socket

import (
	"iter"
	"net/netip"

	"logstow/input"
	"logstow/input/listen"
	"logstow/record/attributes"
)

const (
	// maxEvents is the maximum number of messages in a batch.
	maxEvents = 1024
	// freeAttributes is the size up to which the attributes of a batch do not count against the budget, reserveStep of what at least a
	// reservation is.
	freeAttributes, reserveStep = 16 << 10, 64 << 10
	// expansion is the approximate maximum of bytes of attributes per byte of a message that is longer than extra.
	expansion, extra = 8, 128
)

// batch collects messages. It is not safe for concurrent use.
type batch struct {
	parser Parser
	// budget is that for attributes, nil if there are none; charged is what is reserved from it, attributes what they take.
	budget              *listen.Budget
	charged, attributes int
	// len is the number of messages, size the length of all of them and of their attributes.
	len, size int
	// groups holds the messages by service; last is the index of the group of the last message.
	groups []group
	last   int
}

// group is messages of a service.
type group struct {
	service string
	events  []input.Event
}

// newBatch returns a batch of messages of a socket that is local or not.
func (s *Server) newBatch(local bool) *batch {
	b := &batch{parser: s.protocol.Parser(&s.opts, local)}
	if s.protocol.Attributes {
		b.budget = s.budget
	}
	return b
}

// fits reports whether a message of n bytes fits into the batch.
func (b *batch) fits(n int) bool {
	return b.len == 0 || b.len < maxEvents && b.size+n <= input.MaxReceive && b.room(n) >= need(n)
}

// need is the maximum size of the attributes of a message of n bytes.
func need(n int) int { return min(expansion*(n+extra), attributes.MaxSize) }

// room makes room for the attributes of a message of n bytes, and returns how large they may be: that is less than need if the budget has
// no memory.
func (b *batch) room(n int) int {
	if b.budget == nil {
		return attributes.MaxSize
	}
	missing := need(n) - (freeAttributes + b.charged - b.attributes)
	if more := max(missing, reserveStep); missing > 0 && b.budget.Take(int64(more)) {
		b.charged += more
	}
	return min(freeAttributes+b.charged-b.attributes, attributes.MaxSize)
}

// add parses and appends a message as received, whose bytes must not change until reset. sender is the
// address of its host, or "". read is when it was read, in Unix nanoseconds.
func (b *batch) add(message []byte, sender string, read int64) {
	service, event := b.parser.Parse(message, sender, read, b.room(len(message)))
	b.len++
	b.attributes += cap(event.Attributes)
	b.size += len(event.Message) + len(event.Attributes)
	g := b.group(service)
	g.events = append(g.events, event)
}

// group returns the group of a service.
func (b *batch) group(service string) *group {
	if b.last < len(b.groups) && b.groups[b.last].service == service {
		return &b.groups[b.last]
	}
	for b.last = range b.groups {
		if b.groups[b.last].service == service {
			return &b.groups[b.last]
		}
	}
	b.last = len(b.groups)
	b.groups = append(b.groups, group{service: service})
	return &b.groups[b.last]
}

// all yields the services with their messages.
func (b *batch) all() iter.Seq2[string, []input.Event] {
	return func(yield func(string, []input.Event) bool) {
		for i := range b.groups {
			if g := &b.groups[i]; len(g.events) > 0 && !yield(g.service, g.events) {
				return
			}
		}
	}
}

// reset discards all messages.
func (b *batch) reset() {
	if b.charged > 0 {
		b.budget.Give(int64(b.charged))
	}
	b.len, b.size, b.charged, b.attributes = 0, 0, 0, 0
	for i := range b.groups {
		g := &b.groups[i]
		clear(g.events)
		g.events = g.events[:0]
	}
}

// host returns an address as text, or "" for a sender on a Unix socket.
func host(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.Unmap().WithZone("").String()
}
