package output

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"logstow/internal/jsonlines"
	"logstow/query"
	"logstow/record"
)

func (o *Writer) json(dst []byte, m *query.Match) []byte {
	return append(o.appendMarks(appendAttributesMember(o.appendFixed(dst, m), m), m), "}\n"...)
}

// indented appends what write appends, a line with an object, over several lines.
func (o *Writer) indented(write func([]byte, *query.Match) []byte) func([]byte, *query.Match) []byte {
	return func(dst []byte, m *query.Match) []byte {
		at := len(dst)
		dst = write(dst, m)
		o.formatted.Reset()
		if json.Indent(&o.formatted, dst[at:], "", "  ") != nil {
			return dst // it is printed all the same
		}
		return append(dst[:at], o.formatted.Bytes()...)
	}
}

// appendFixed appends an object with the fixed fields, without its closing brace.
func (o *Writer) appendFixed(dst []byte, m *query.Match) []byte {
	dst = append(dst, `{"time":"`...)
	dst = append(dst, o.time(m)...)
	dst = append(dst, `","level":"`...)
	dst = append(dst, m.Level().String()...)
	dst = append(dst, `","service":`...)
	dst = jsonlines.AppendString(dst, []byte(m.Segment.Name.Service))
	dst = append(dst, `,"source":`...)
	dst = jsonlines.AppendString(dst, m.Source())
	dst = append(dst, `,"instance":`...)
	dst = jsonlines.AppendString(dst, []byte(m.Instance))
	dst = append(dst, `,"message":`...)
	o.message = record.AppendMessage(o.message[:0], m.Message())
	dst = jsonlines.AppendString(dst, o.message)
	if !utf8.Valid(o.message) {
		dst = append(dst, `,"message_base64":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, o.message)
		dst = append(dst, '"')
	}
	return dst
}

// appendMarks appends the members of an object that only some records have.
func (o *Writer) appendMarks(dst []byte, m *query.Match) []byte {
	if m.Context {
		dst = append(dst, `,"context":true`...)
	}
	if o.late {
		dst = append(dst, `,"late":true`...)
	}
	return dst
}
