package archive

import (
	"bytes"
	"strconv"
	"strings"

	"logstow/input"
	"logstow/layout"
	"logstow/message"
	"logstow/record/attributes"
)

// flowRecord is a record of flow logs: of network security groups (properties.flows), or of virtual networks (flowRecords.flows).
// https://learn.microsoft.com/azure/network-watcher/nsg-flow-logs-overview#log-format,
// https://learn.microsoft.com/azure/network-watcher/vnet-flow-logs-overview#log-format
type flowRecord struct {
	time    int64
	source  string
	mac     []byte
	virtual bool
	events  []input.Event
}

// flowEvents makes a record of each tuple of a record of flow logs.
func flowEvents(line []byte) ([]input.Event, bool) {
	all, ok := membersOf(line)
	if !ok {
		return nil, false
	}
	when, _ := first(all, "time")
	id, _ := first(all, "targetResourceID", "resourceId")
	r := &flowRecord{time: timeOf(when), source: layout.ResourceSource(text(id))}
	r.mac, _ = first(all, "macAddress")
	value, i := first(all, "flowRecords")
	if r.virtual = i >= 0; !r.virtual {
		value, i = first(all, "properties")
	}
	if i < 0 || !bytes.Contains(value, []byte(`"flows"`)) {
		return nil, false
	}
	r.flows(value, nil, 0)
	return r.events, true // without tuples there are no records
}

// maxFlowDepth is the nesting of tuples: flows, or flows and flowGroups.
const maxFlowDepth = 4

// flows adds the tuples in an object. Members are those of the objects around it that the records have, too.
func (r *flowRecord) flows(object []byte, members []member, depth int) {
	if len(object) == 0 || object[0] != '{' || depth > maxFlowDepth {
		return
	}
	var inner [][]byte
	members = members[:len(members):len(members)]
	in := message.Object(object)
	for name, value, ok := in.Next(); ok; name, value, ok = in.Next() {
		switch string(name) {
		case "flows", "flowGroups", "flowTuples":
			inner = append(inner, value)
		case "Version":
		default:
			members = append(members, member{string(name), value})
		}
	}
	for _, list := range inner {
		if len(list) == 0 || list[0] != '[' {
			continue
		}
		elements := message.Array(list)
		for value, ok := elements.Next(); ok; value, ok = elements.Next() {
			if tuple, isText := message.Content(value); isText {
				r.tuple(string(message.Unescape(nil, tuple)), members)
			} else {
				r.flows(value, members, depth+1)
			}
		}
	}
}

// names are those of the fields of a tuple behind its time, in order.
func (r *flowRecord) names() []string {
	if r.virtual {
		return []string{
			"srcIp", "dstIp", "srcPort", "dstPort", "protocol", "direction", "state", "encryption", "packetsSent", "bytesSent",
			"packetsReceived", "bytesReceived",
		}
	}
	return []string{
		"srcIp", "dstIp", "srcPort", "dstPort", "protocol", "direction", "decision", "state", "packetsSent", "bytesSent",
		"packetsReceived", "bytesReceived",
	}
}

// tuple adds the record of a tuple.
func (r *flowRecord) tuple(tuple string, members []member) {
	fields := strings.Split(tuple, ",")
	e := input.Event{Source: r.source, Time: timeOf([]byte(fields[0]))}
	if e.Time == 0 {
		e.Time = r.time
	}
	dst := []byte(`{`)
	add := func(name string, value []byte) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(message.AppendString(dst, name), ':')
		dst = append(dst, value...)
	}
	if len(fields) < 2 || timeOf([]byte(fields[0])) == 0 { // another format
		add("tuple", attributes.AppendText(nil, tuple))
	}
	names := r.names()
	for i, text := range fields[1:] {
		name := "field" + strconv.Itoa(i+2)
		if i < len(names) {
			name = names[i]
		}
		if text != "" {
			add(name, tupleValue(name, text))
		}
	}
	for _, m := range members {
		add(m.name, m.value)
	}
	if len(r.mac) > 0 {
		add("macAddress", r.mac)
	}
	e.Message = append(dst, '}')
	r.events = append(r.events, e)
}

// tupleValue is the JSON of a field of a tuple: a number if it is one, and a name for what is a letter.
func tupleValue(name, text string) []byte {
	switch name {
	case "protocol":
		text = protocolName(text)
	case "direction":
		text = nameOf(text, "I", "inbound", "O", "outbound")
	case "decision":
		text = nameOf(text, "A", "allowed", "D", "denied")
	case "state":
		text = nameOf(text, "B", "begin", "C", "continuing", "E", "end", "D", "denied")
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(n, 10) == text {
		return []byte(text)
	}
	return attributes.AppendText(nil, text)
}

// protocolName is the name of a protocol, by its letter or its number of IANA.
func protocolName(text string) string {
	return nameOf(text, "T", "tcp", "U", "udp", "6", "tcp", "17", "udp", "1", "icmp")
}

// nameOf returns the name that follows a text, or the text.
func nameOf(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == text {
			return pairs[i+1]
		}
	}
	return text
}

// trimmed is a line without blanks around it.
func trimmed(line []byte) []byte { return bytes.TrimSpace(line) }
