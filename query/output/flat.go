package output

import (
	"strings"

	"logstow/field"
	"logstow/internal/jsonlines"
	"logstow/message"
	"logstow/query"
)

// flatNames are the names of a record's fields in the format flat.
type flatNames struct {
	seen map[string]bool // as JSON strings
	name []byte          // scratch
}

// isKey reports whether the format itself has a key with this name.
func isKey(name string) bool {
	return field.IsFixed(name) || name == "message_base64" || name == contextMark || name == lateMark
}

// appendFlatObject appends a record as a JSON object with the fields of its message.
func (o *Writer) appendFlatObject(dst []byte, m *query.Match) []byte {
	dst = o.appendMarks(o.appendFixed(dst, m), m)
	o.splitFields(m)
	f := &o.flat
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	clear(f.seen)
	// If the members of an object follow it, they are printed instead of the object.
	var object message.Value
	var objectName string
	for name, v := range o.splitter.All() {
		if object.Kind != message.Missing && !strings.HasPrefix(name, objectName+".") {
			dst = o.appendMember(dst, objectName, object)
		}
		object = message.Value{}
		if v.IsObject() && !isEmpty(v.Text) {
			object, objectName = v, name
			continue
		}
		dst = o.appendMember(dst, name, v)
	}
	if object.Kind != message.Missing {
		dst = o.appendMember(dst, objectName, object)
	}
	return append(dst, "}\n"...)
}

// appendMember appends a field of the message unless there was one of its name.
func (o *Writer) appendMember(dst []byte, name string, v message.Value) []byte {
	if isKey(name) {
		name = "message." + name
	}
	f := &o.flat
	f.name = jsonlines.AppendString(f.name[:0], []byte(name))
	if f.seen[string(f.name)] {
		return dst
	}
	f.seen[string(f.name)] = true
	dst = append(append(append(dst, ','), f.name...), ':')
	return o.appendValue(dst, v)
}
