package output

import (
	"bytes"
	"fmt"
	"time"

	"logstow/query"
	"logstow/record"
)

const (
	standOut = "\x1b[1;31m" // what a pattern found, as grep shows it
	plainly  = "\x1b[0m"
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
	at := len(dst)
	if o.opts.Highlight != nil && !m.Context {
		dst = o.shown(append(dst, m.Line[:len(m.Line)-len(m.Message())]...), at)
		return append(o.highlighted(dst, m, "\n\t"), '\n')
	}
	dst = append(dst, m.Line...)
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

// highlighted appends a record's message with what was found standing out, and
// newline in the place of its newlines. It is for a terminal.
func (o *Writer) highlighted(dst []byte, m *query.Match, newline string) []byte {
	o.message = record.AppendMessage(o.message[:0], m.Message())
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

func (o *Writer) pretty(dst []byte, m *query.Match) []byte {
	at := time.Unix(0, m.Time).In(o.opts.Location)
	if !o.day[0].IsZero() && (at.Before(o.day[0]) || !at.Before(o.day[1])) {
		o.opts.Dates = true
	}
	layout := "15:04:05.000"
	if o.opts.Dates {
		layout = "2006-01-02 15:04:05.000"
	}
	dst = at.AppendFormat(dst, layout)
	dst = append(dst, ' ')
	level := m.Level()
	if o.opts.Color {
		dst = append(dst, color(level)...)
	}
	dst = fmt.Appendf(dst, "%-5s", level)
	if o.opts.Color {
		dst = append(dst, plainly...)
	}
	dst = append(dst, ' ')
	dst = append(dst, m.Segment.Name.Service...)
	if source := m.Source(); string(source) != "-" {
		dst = append(dst, ' ')
		dst = appendVisible(dst, source)
	}
	if o.late {
		dst = append(dst, " (late)"...)
	}
	if m.Context {
		dst = append(dst, "- "...)
	} else {
		dst = append(dst, ": "...)
	}
	// The TAB that follows a newline as stored indents what continues.
	if o.opts.Highlight != nil && !m.Context {
		return append(o.highlighted(dst, m, "\n\t"), '\n')
	}
	return append(appendVisible(dst, m.Message()), '\n')
}

// color is the escape sequence for a level.
func color(l record.Level) string {
	switch l {
	case record.Fatal:
		return "\x1b[1;35m"
	case record.Error:
		return "\x1b[31m"
	case record.Warn:
		return "\x1b[33m"
	case record.Info:
		return "\x1b[32m"
	}
	return "\x1b[2m"
}
