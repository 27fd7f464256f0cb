package output

import (
	"strings"
	"time"
	"unicode/utf8"

	"logstow/internal/ansi"
	"logstow/query"
)

const (
	// indentText and indentField are the columns before the lines that continue a message, and a field.
	indentText  = 4
	indentField = 8
	// sourceShare is the part of a line's width that the source may take, of minSource columns at least.
	sourceShare = 5
	minSource   = 12
)

// pretty appends a record for people: time, level, service, source and message. The JSON or logfmt in a message is printed
// as its text followed by its fields. Continuation lines are indented.
func (o *Writer) pretty(dst []byte, m *query.Match) []byte {
	c := &o.canvas
	c.reset(dst)
	o.prettyHead(c, m)
	o.parts.split(o, m)
	c.indent, c.onBreak = indentText, func() { o.parts.fields(c) }
	o.parts.texts(c)
	if c.onBreak != nil {
		c.onBreak = nil
		o.parts.fields(c)
	}
	o.parts.blocks(c)
	c.end()
	c.dst = append(c.dst, '\n')
	if o.opts.Width > 0 {
		at := len(dst)
		o.fitted = c.fit(o.fitted[:0], at, o.opts.Width)
		return append(dst, o.fitted...)
	}
	return c.dst
}

// prettyHead writes the columns before the message.
func (o *Writer) prettyHead(c *canvas, m *query.Match) {
	at := time.Unix(0, m.Time).In(o.opts.Location)
	if !o.day[0].IsZero() && (at.Before(o.day[0]) || !at.Before(o.day[1])) {
		o.opts.Dates = true
	}
	layout := "15:04:05.000"
	if o.opts.Dates {
		layout = "2006-01-02 15:04:05.000"
	}
	o.scratch = at.AppendFormat(o.scratch[:0], layout)
	c.style = grey
	c.ascii(o.scratch)
	c.print("", " ")
	level := m.Level()
	name := level.String()
	c.print(levelColor(level), name)
	c.print("", "      "[min(len(name), 5):])
	service := m.Segment.Name.Service
	if o.opts.Color {
		if o.services[service] == "" {
			o.services[service] = serviceColor(service, o.taken)
		}
		c.style = o.services[service]
	}
	c.plain([]byte(service))
	c.style = grey
	if source := string(m.Source()); source != "-" {
		c.put(" ")
		c.plain([]byte(o.shortSource(source)))
	}
	if o.late {
		c.print(grey, " (late)")
	}
	if m.Context {
		c.print(grey, "-")
	} else {
		c.print(grey, ":")
	}
	c.print("", " ")
}

// shortSource is a source without its start if it takes too much of a line: without whole directories if
// possible.
func (o *Writer) shortSource(source string) string {
	room := max(minSource, o.opts.Width/sourceShare)
	if o.opts.Width == 0 || len(source) <= room {
		return source
	}
	start := len(source)
	slash := start
	for columns := 1; start > 0; { // the mark takes one
		r, n := utf8.DecodeLastRuneInString(source[:start])
		if columns += runeColumns(r); columns > room {
			break
		}
		if start -= n; r == '/' {
			slash = start
		}
	}
	if start == 0 {
		return source
	}
	if slash < len(source)-1 {
		start = slash
	}
	return cutMark + source[start:]
}

// runeColumns returns the number of terminal columns of a rune.
func runeColumns(r rune) int {
	if r < 0x7f && r >= 0x20 {
		return 1
	}
	if r == utf8.RuneError || r < 0xa0 || ansi.Steers(r) {
		return len(`\u0000`)
	}
	return runeWidth(r)
}

// nameNeedsQuotes reports whether the name of a field is ambiguous without quotes.
func nameNeedsQuotes(name []byte) bool {
	return needsQuotes(name) || strings.Contains(string(name), "=")
}

// needsQuotes reports whether a value is ambiguous without quotes.
func needsQuotes(value []byte) bool {
	for _, b := range value {
		if b <= ' ' || b == '"' || b == 0x7f {
			return true
		}
	}
	return len(value) == 0
}
