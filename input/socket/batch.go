package socket

import (
	"iter"
	"net/netip"

	"logstow/input"
)

const (
	// maxNames is the maximum number of strings in the caches of [Names] and hosts.
	maxNames = 128
	// maxEvents is the maximum number of messages in a batch.
	maxEvents = 1024
)

// batch collects messages. It is not safe for concurrent use.
type batch struct {
	parser Parser
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

func newBatch(p Parser) *batch { return &batch{parser: p} }

// fits reports whether a message of n bytes fits into the batch.
func (b *batch) fits(n int) bool {
	return b.len == 0 || b.len < maxEvents && b.size+n <= input.MaxReceive
}

// add parses and appends a message as received, whose bytes must not change until reset. sender is the
// address of its host, or "". read is when it was read, in Unix nanoseconds.
func (b *batch) add(message []byte, sender string, read int64) {
	service, event := b.parser.Parse(message, sender, read)
	b.len++
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
	b.len, b.size = 0, 0
	for i := range b.groups {
		g := &b.groups[i]
		clear(g.events)
		g.events = g.events[:0]
	}
}

// Names caches strings, so that each is allocated once. The zero value is ready to use. It is not safe
// for concurrent use.
type Names struct{ known map[string]string }

// Get returns text as a string.
func (n *Names) Get(text []byte) string {
	if name, ok := n.known[string(text)]; ok {
		return name
	}
	if n.known == nil {
		n.known = make(map[string]string)
	}
	if len(n.known) >= maxNames {
		clear(n.known)
	}
	name := string(text)
	n.known[name] = name
	return name
}

// hosts caches the names of senders.
type hosts map[netip.Addr]string

// name returns an address as text, see host.
func (h hosts) name(a netip.Addr) string {
	if name, ok := h[a]; ok {
		return name
	}
	if len(h) >= maxNames {
		clear(h)
	}
	name := host(a)
	h[a] = name
	return name
}

// host returns an address as text, or "" for a sender on a Unix socket.
func host(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.Unmap().WithZone("").String()
}
