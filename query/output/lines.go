package output

import (
	"bytes"

	"logstow/query"
	"logstow/record"
)

func (o *Writer) raw(dst []byte, m *query.Match) []byte {
	if o.opts.Highlight != nil && !m.Context {
		return append(o.highlighted(dst, m, "\n"), '\n')
	}
	at := len(dst)
	dst = record.AppendMessage(dst, m.Message())
	return append(o.shown(dst, at), '\n')
}

func (o *Writer) text(dst []byte, m *query.Match) []byte {
	dst = append(dst, o.time(m)...)
	at := len(dst)
	if o.opts.Highlight != nil && !m.Context {
		dst = o.shown(append(dst, m.Line[record.TimeLen:len(m.Line)-len(m.Message())]...), at)
		return append(o.highlighted(dst, m, "\n\t"), '\n')
	}
	dst = append(dst, m.Line[record.TimeLen:]...)
	return append(o.shown(dst, at), '\n')
}

// shown makes dst[at:] visible for a terminal.
func (o *Writer) shown(dst []byte, at int) []byte {
	if !o.opts.Terminal || plain(dst[at:]) {
		return dst
	}
	message := append([]byte(nil), dst[at:]...)
	return appendVisible(dst[:at], message)
}

// highlighted appends a record's message for a terminal, with matches highlighted and newlines replaced by newline.
func (o *Writer) highlighted(dst []byte, m *query.Match, newline string) []byte {
	o.message.Decode(m.Message())
	o.places = o.opts.Highlight(o.places[:0], o.message)
	piece := func(from, to int) {
		for i, line := range bytes.Split(o.message[from:to], []byte("\n")) {
			if i > 0 {
				dst = append(dst, newline...)
			}
			dst = appendVisible(dst, line)
		}
	}
	at := 0
	for _, place := range o.places {
		piece(at, place[0])
		dst = append(dst, standOut...)
		piece(place[0], place[1])
		dst = append(dst, plainly...)
		at = place[1]
	}
	piece(at, len(o.message))
	return dst
}
