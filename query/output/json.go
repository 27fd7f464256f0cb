package output

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"logstow/internal/jsonlines"
	"logstow/query"
	"logstow/record"
)

func (o *Writer) json(dst []byte, m *query.Match) []byte {
	return append(o.appendMarks(o.appendFixed(dst, m), m), "}\n"...)
}

// appendFixed appends an object with the fixed fields, without its closing brace.
func (o *Writer) appendFixed(dst []byte, m *query.Match) []byte {
	dst = append(dst, `{"time":"`...)
	dst = append(dst, o.time(m)...)
	dst = append(dst, `","level":"`...)
	dst = append(dst, m.Level().String()...)
	dst = append(dst, `","service":`...)
	dst = AppendString(dst, []byte(m.Segment.Name.Service))
	dst = append(dst, `,"source":`...)
	dst = AppendString(dst, m.Source())
	dst = append(dst, `,"instance":`...)
	dst = AppendString(dst, []byte(m.Instance))
	dst = append(dst, `,"message":`...)
	o.message = record.AppendMessage(o.message[:0], m.Message())
	dst = AppendString(dst, o.message)
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

// AppendString appends a JSON string, as [jsonlines.Write] does: whatever steers a terminal is escaped;
// bytes that are not UTF-8 become the replacement character.
func AppendString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if b := s[i]; b >= 0x20 && b < 0x7f && b != '"' && b != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if r >= 0x80 && !jsonlines.Escapes(r) {
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		if r == '"' || r == '\\' { // as most are
			dst = append(dst, '\\', byte(r))
		} else if at := strings.IndexRune("\n\t\r\b\f", r); at >= 0 {
			dst = append(dst, '\\', "ntrbf"[at])
		} else {
			dst = append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
		i += n
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
