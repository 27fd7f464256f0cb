package gelf

import (
	"bytes"
	"cmp"
	"slices"

	"logstow/internal/memo"
	"logstow/message"
	"logstow/record/attributes"
)

// maxMembers is the maximum number of members of a document that is taken apart.
const maxMembers = 4 * attributes.MaxCount

// The names of members that become the message or the time.
const (
	fullMessage  = "full_message"
	shortMessage = "short_message"
	timestamp    = "timestamp"
)

// document is a document that is taken apart. It is reused for several ones.
type document struct {
	members []member
	// host, time and level are encoded values of members; they are nil if the members are missing.
	host, time, level []byte
	// facilities, services and messages are by preference.
	facilities [3][]byte
	services   [3][]byte
	messages   [2][]byte
	// complete is set if the document is a whole object, of not more than maxMembers members.
	complete bool

	names   memo.Map[string, string]
	own     []attributes.Member
	scratch []byte
}

// member is a member of a document, still encoded.
type member struct {
	// name has no underscore at its beginning if it is that of an additional field.
	name       string
	additional bool
	value      []byte
}

// scan reads the members of a document. If several members have the same name, the first one is used.
func (d *document) scan(text []byte) {
	members, lenient := message.Object(text), false
	for {
		name, value, ok := members.NextStrict()
		if !ok {
			if name, value, ok = members.Next(); !ok {
				break
			}
			lenient = true
		}
		if to := d.known(name); to != nil && *to == nil {
			*to = value
		}
		if len(d.members) <= maxMembers {
			d.members = append(d.members, d.member(name, value))
		}
	}
	end, ok := members.End()
	d.complete = ok && !lenient && len(d.members) <= maxMembers && len(message.TrimBlank(text[end:])) == 0
}

// release forgets the document, and keeps only as much memory as is usual: each connection has a document.
func (d *document) release() {
	const usual = 16 << 10
	clear(d.members)
	clear(d.own)
	kept := document{members: d.members[:0], names: d.names, own: d.own[:0]}
	if cap(d.scratch) <= usual {
		kept.scratch = d.scratch[:0]
	}
	*d = kept
}

// known returns where the value of a member with a meaning belongs; nil for others.
func (d *document) known(name []byte) *[]byte {
	switch string(name) {
	case "host":
		return &d.host
	case timestamp:
		return &d.time
	case "level":
		return &d.level
	case "facility":
		return &d.facilities[0]
	case "_facility":
		return &d.facilities[1]
	case "_container_name":
		return &d.facilities[2]
	case "_service_name":
		return &d.services[0]
	case "_service":
		return &d.services[1]
	case "_app":
		return &d.services[2]
	case fullMessage:
		return &d.messages[0]
	case shortMessage:
		return &d.messages[1]
	}
	return nil
}

func (d *document) member(name, value []byte) member {
	if bytes.IndexByte(name, '\\') >= 0 {
		name = message.Unescape(nil, name)
	}
	bare, additional := bytes.CutPrefix(name, []byte("_"))
	if len(bare) == 0 {
		bare, additional = name, false
	}
	const maxKnown = 64
	if len(bare) > maxKnown {
		return member{string(bare), additional, value}
	}
	return member{memo.Text(&d.names, bare, memo.Same), additional, value}
}

// parts returns the message of a complete document, and its other members as attributes, without the timestamp unless it is to be
// kept. It is not ok if the document has no message, if anything would be lost, or if the attributes have more than most bytes. If it
// is ok, it may have changed the bytes of the document.
func (d *document) parts(keepTime bool, most int) (text, encoded []byte, ok bool) {
	used := slices.IndexFunc(d.messages[:], isText)
	if !d.complete || used < 0 {
		return nil, nil, false
	}
	slices.SortStableFunc(d.members, func(a, b member) int {
		if c := cmp.Compare(a.name, b.name); c != 0 || a.additional == b.additional {
			return c
		}
		if a.additional {
			return 1
		}
		return -1
	})
	before := member{additional: true}
	for _, m := range d.members {
		again := before.name == m.name && !before.additional // the format has a member of this name itself
		before = m
		if !m.additional && !again && (m.name == [...]string{fullMessage, shortMessage}[used] || m.name == timestamp && !keepTime) {
			continue
		}
		name := m.name
		if m.additional && again {
			name = "_" + name
		}
		at, dropped := len(d.scratch), 0
		if d.scratch, dropped = attributes.AppendJSON(d.scratch, m.value); dropped > 0 {
			return nil, nil, false
		}
		d.own = append(d.own, attributes.Member{Name: attributes.OwnName(name), Value: d.scratch[at:len(d.scratch):len(d.scratch)]})
	}
	set := attributes.Set{Own: d.own}
	encoded, cut := set.Append(nil)
	if cut > 0 || len(encoded) > most {
		return nil, nil, false
	}
	text, _ = message.Content(d.messages[used])
	return message.UnescapeInPlace(text), encoded, true
}

// first is the first value that is a text and not empty.
func first(values [][]byte) []byte {
	if i := slices.IndexFunc(values, isText); i >= 0 {
		return values[i]
	}
	return nil
}

// isText reports whether a value is a text and not empty.
func isText(value []byte) bool { return len(value) > len(`""`) && value[0] == '"' }
