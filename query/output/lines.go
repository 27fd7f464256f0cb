package output

import (
	"bytes"

	"logstow/query"
	"logstow/record"
)

func (o *Writer) raw(dst []byte, m *query.Match) []byte {
	if o.opts.Highlight != nil && !m.Context {
		return append(o.highlightedMessage(dst, m, "\n"), '\n')
	}
	at := len(dst)
	dst = record.AppendMessage(dst, m.Message())
	return append(o.shown(dst, at), '\n')
}

func (o *Writer) text(dst []byte, m *query.Match) []byte {
	dst = append(dst, o.time(m)...)
	at := len(dst)
	c := m.Columns()
	dst = append(append(dst, '\t'), c.Level.String()...)
	dst = append(append(dst, '\t'), c.Source...)
	dst = append(dst, '\t')
	highlight := o.opts.Highlight != nil && !m.Context
	if highlight {
		dst = o.highlightedMessage(o.shown(dst, at), m, "\n\t")
	} else {
		dst = o.shown(append(dst, c.Raw...), at)
	}
	if len(c.Attributes) > 0 {
		if dst = append(dst, '\t'); highlight {
			dst = o.highlighted(dst, appendAttributes(nil, m), "")
		} else {
			dst = appendAttributes(dst, m)
		}
	}
	return append(dst, '\n')
}

// shown makes dst[at:] visible for a terminal.
func (o *Writer) shown(dst []byte, at int) []byte {
	if !o.opts.Terminal || plain(dst[at:]) {
		return dst
	}
	message := append([]byte(nil), dst[at:]...)
	return appendVisible(dst[:at], message)
}

// highlightedMessage is highlighted for a record's message.
func (o *Writer) highlightedMessage(dst []byte, m *query.Match, newline string) []byte {
	o.message.Decode(m.Message())
	return o.highlighted(dst, o.message, newline)
}

// highlighted appends text for a terminal, with matches highlighted and newlines replaced by newline.
func (o *Writer) highlighted(dst, text []byte, newline string) []byte {
	o.places = o.opts.Highlight(o.places[:0], text)
	piece := func(from, to int) {
		for i, line := range bytes.Split(text[from:to], []byte("\n")) {
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
	piece(at, len(text))
	return dst
}
