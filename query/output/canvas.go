package output

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"logstow/internal/ansi"
	"logstow/message"
)

// canvas writes text for a terminal: with colours and highlights, and control sequences escaped. It records which parts of a line may
// be cut.
type canvas struct {
	dst   []byte
	color bool // enables styles

	// style is the style of the following text, shown the style that the terminal has.
	style, shown string
	// spans are the parts of lines that may be cut, in order; open is the one that is being written, if it has a kind.
	spans []span
	open  span

	indent  int    // columns before a line that continues
	onBreak func() // if set, is called once before the next such line
	quoted  bool   // text is in quotes: quotes, backslashes, newlines and TABs are escaped
	scratch []byte
}

// span is a part of a line that may be cut: dst[from:to].
type span struct {
	kind     spanKind
	from, to int
}

// spanKind is what a span has.
type spanKind uint8

const (
	noSpan    spanKind = iota
	valueSpan          // the value of a field
	textSpan           // the text of a message, or a line of a value of several lines
)

// source is a text, and the places in it that stand out.
type source struct {
	text   []byte
	places [][2]int
}

// offset returns the offset of a part of the text. The part must be a slice of the text.
func (s *source) offset(part []byte) int { return cap(s.text) - cap(part) }

// found reports whether a range overlaps one of the places. next is the index of the first place that ends after start.
func (s *source) found(start, end int) (next int, ok bool) {
	next, _ = slices.BinarySearchFunc(s.places, start, func(place [2]int, start int) int {
		if place[1] > start {
			return 1
		}
		return -1
	})
	return next, next < len(s.places) && s.places[next][0] < end
}

// reset starts a line at the end of dst.
func (c *canvas) reset(dst []byte) {
	c.dst, c.style, c.shown, c.onBreak, c.quoted = dst, "", "", nil, false
	c.spans, c.open = c.spans[:0], span{}
}

// begin begins a part of the line that may be cut, and finish ends it.
func (c *canvas) begin(kind spanKind) { c.open = span{kind: kind, from: len(c.dst)} }

func (c *canvas) finish() {
	if c.open.to = len(c.dst); c.open.kind != noSpan && c.open.from < c.open.to {
		c.spans = append(c.spans, c.open)
	}
	c.open = span{}
}

// end ends the line, without a newline.
func (c *canvas) end() {
	c.style = ""
	c.sync()
}

// newline continues on another line, in the same style.
func (c *canvas) newline() {
	kind := c.open.kind
	c.finish()
	style := c.style
	if f := c.onBreak; f != nil {
		quoted := c.quoted
		c.onBreak, c.style, c.quoted = nil, "", false
		f()
		c.quoted = quoted
	}
	c.end()
	c.dst = append(c.dst, '\n')
	for range c.indent {
		c.dst = append(c.dst, ' ')
	}
	c.style = style
	c.begin(kind)
}

// sync brings the terminal to the style.
func (c *canvas) sync() {
	c.dst = c.appendStyle(c.dst, c.shown, c.style)
	c.shown = c.style
}

// appendStyle appends what changes the terminal's style.
func (c *canvas) appendStyle(dst []byte, from, to string) []byte {
	if from == to || !c.color {
		return dst
	}
	if from != "" {
		dst = append(dst, plainly...)
	}
	return append(dst, to...)
}

// print writes ASCII text in a style.
func (c *canvas) print(style, text string) {
	c.style = style
	c.ascii([]byte(text))
	c.style = ""
}

// put writes text that needs no escapes.
func (c *canvas) put(text string) {
	c.sync()
	c.dst = append(c.dst, text...)
}

// ascii writes printable ASCII text.
func (c *canvas) ascii(text []byte) {
	if len(text) > 0 {
		c.sync()
		c.dst = append(c.dst, text...)
	}
}

// text writes a part of a source verbatim.
func (c *canvas) text(s *source, part []byte) {
	at := s.offset(part)
	next, ok := s.found(at, at+len(part))
	for ; ok && next < len(s.places) && s.places[next][0] < at+len(part); next++ {
		start, end := max(s.places[next][0]-at, 0), min(s.places[next][1]-at, len(part))
		c.plain(part[:start])
		c.found(part[start:end])
		part = part[end:]
		at += end
	}
	c.plain(part)
}

// found writes text that stands out.
func (c *canvas) found(text []byte) {
	style := c.style
	c.style = standOut
	c.plain(text)
	c.style = style
}

// unescaped writes a part of a source that is the content of a string in JSON.
func (c *canvas) unescaped(s *source, part []byte) {
	for len(part) > 0 {
		n := bytes.IndexByte(part, '\\')
		if n < 0 {
			break
		}
		c.text(s, part[:n])
		part = part[n:]
		if !c.quoted && bytes.HasPrefix(part, []byte(`\r\n`)) {
			part = part[len(`\r`):]
		}
		n = escapeLen(part)
		c.scratch = message.Unescape(c.scratch[:0], part[:n])
		at := s.offset(part)
		if _, ok := s.found(at, at+n); ok {
			c.found(c.scratch)
		} else {
			c.plain(c.scratch)
		}
		part = part[n:]
	}
	c.text(s, part)
}

// escapeLen is the length of the escape that b starts with, of two surrogates together.
func escapeLen(b []byte) int {
	const short, long = len(`\n`), len(`\u0000`)
	if len(b) < long || b[1] != 'u' {
		return min(short, len(b))
	}
	if len(b) >= 2*long && b[2]|0x20 == 'd' && b[long] == '\\' && b[long+1] == 'u' {
		return 2 * long
	}
	return long
}

// plain writes text with control sequences escaped. CRLF is a newline.
func (c *canvas) plain(text []byte) {
	for len(text) > 0 {
		if n := c.printable(text); n > 0 {
			c.ascii(text[:n])
			text = text[n:]
			continue
		}
		if !c.quoted && bytes.HasPrefix(text, []byte("\r\n")) {
			text = text[1:]
		}
		r, n := utf8.DecodeRune(text)
		c.rune(r, text[:n])
		text = text[n:]
	}
}

// printable is the length of the printable ASCII that text starts with and that needs no escape.
func (c *canvas) printable(text []byte) int {
	for i, b := range text {
		if b < 0x20 || b > 0x7e || c.quoted && (b == '"' || b == '\\') {
			return i
		}
	}
	return len(text)
}

// rune writes a rune that is not printable ASCII, or has to be escaped.
func (c *canvas) rune(r rune, text []byte) {
	switch {
	case c.quoted && (r == '"' || r == '\\'):
		c.put(`\` + string(r))
	case c.quoted && r == '\n':
		c.put(`\n`)
	case c.quoted && r == '\t':
		c.put(`\t`)
	case r == '\n':
		c.newline()
	case r == '\t':
		c.put("\t")
	case r < 0x80 || r == utf8.RuneError && len(text) == 1 || ansi.Steers(r):
		c.put(string(appendVisible(nil, text)))
	default:
		c.put(string(text))
	}
}

// runeWidth returns the number of terminal columns of a rune outside ASCII. It may be too large for sequences that
// terminals join, such as a family of emoji.
func runeWidth(r rune) int {
	const emojiStyle = 0xfe0f // makes the character before it wide
	switch kind := width.LookupRune(r).Kind(); {
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	case r != emojiStyle && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	return 1
}

// Columns returns the number of terminal columns of a line that [Visible] made. East Asian characters take two.
func Columns(line string) (n int) {
	for _, r := range line {
		n += runeColumns(r)
	}
	return n
}
