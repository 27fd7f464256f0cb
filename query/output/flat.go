package output

import (
	"iter"
	"strings"

	"logstow/field"
	"logstow/internal/jsonlines"
	"logstow/message"
	"logstow/query"
	"logstow/record/attributes"
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

// appendFlatObject appends a record as a JSON object with its attributes and the fields of its message. Of equal names the attribute counts,
// as in queries.
func (o *Writer) appendFlatObject(dst []byte, m *query.Match) []byte {
	dst = o.appendMarks(o.appendFixed(dst, m), m)
	f := &o.flat
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	clear(f.seen)
	if text := m.Attributes(); attributes.Valid(text) {
		dst = o.appendMembers(dst, attributes.All(text), attributes.Prefix)
	} else {
		dst = appendAttributesMember(dst, m)
		f.seen[`"`+attributesName+`"`] = len(text) > 0
	}
	o.splitter = o.splitters.Of(o.opts.Parser(m.Segment))
	o.splitter.Split(nil, o.message)
	return append(o.appendMembers(dst, o.splitter.All(), "message."), "}\n"...)
}

// appendMembers appends fields; prefix precedes names of keys of the format itself.
func (o *Writer) appendMembers(dst []byte, fields iter.Seq2[string, message.Value], prefix string) []byte {
	// If the members of an object follow it, they are printed instead of the object.
	var object message.Value
	var objectName string
	for name, v := range fields {
		if object.Kind != message.Missing && !strings.HasPrefix(name, objectName+".") {
			dst = o.appendMember(dst, prefix, objectName, object)
		}
		object = message.Value{}
		if v.IsObject() && !isEmpty(v.Text) {
			object, objectName = v, name
			continue
		}
		dst = o.appendMember(dst, prefix, name, v)
	}
	if object.Kind != message.Missing {
		dst = o.appendMember(dst, prefix, objectName, object)
	}
	return dst
}

// appendMember appends a field unless there was one of its name.
func (o *Writer) appendMember(dst []byte, prefix, name string, v message.Value) []byte {
	if isKey(name) {
		name = prefix + name
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
