package otlp

import (
	"logstow/input/httpserver"
	"logstow/record/attributes"
)

// The names of the attributes that are fields of a record, its body, its resource, or its scope. Those of the data model have the names
// that Loki gives them.
const (
	nameTraceID        = "trace_id"
	nameSpanID         = "span_id"
	nameFlags          = "flags"
	nameEvent          = "event_name"
	nameTime           = "timestamp"
	nameObserved       = "observed_timestamp"
	nameRefused        = "refused_time"
	nameDropped        = "dropped_attributes_count"
	nameSeverityNumber = "severity_number"
	nameSeverityText   = "severity_text"
	nameBodyKind       = "body_kind"
	nameBodyMember     = "body_member"

	nameResourceEntities = "resource_entity_refs"
)

// names finds the names under which attributes of records are stored. Most records have the attributes of the one before, in its order.
type names struct {
	reserved []string
	// last are the names of attributes of the records before, by position.
	last []name
}

type name struct{ sent, stored string }

func newNames() names {
	return names{reserved: []string{
		nameTraceID, nameSpanID, nameFlags, nameEvent, nameTime, nameObserved, nameRefused, nameDropped, nameSeverityNumber,
		nameSeverityText, nameBodyKind, nameBodyMember, attributes.ResourceSchema, attributes.ResourceDropped,
		nameResourceEntities, attributes.ScopeName,
		attributes.ScopeVersion, attributes.ScopeSchema, attributes.ScopeDropped,
	}}
}

// stored returns the name for the attribute at a position.
func (n *names) stored(at int, sent []byte, own *httpserver.Attributes) (string, error) {
	if at < len(n.last) && n.last[at].sent == string(sent) {
		return n.last[at].stored, nil
	}
	made, err := own.Name(sent)
	if err != nil {
		return "", err
	}
	found := name{made, attributes.OwnName(made, n.reserved...)}
	const maxCached = 64 // it needs no charge
	switch {
	case len(made) > maxCached:
	case at < len(n.last):
		n.last[at] = found
	case at == len(n.last) && at < attributes.MaxCount:
		n.last = append(n.last, found)
	}
	return found.stored, nil
}
