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

const (
	// cutMark ends a truncated line.
	cutMark = "…"
	// tabStop is the distance of a terminal's tab stops.
	tabStop = 8
)

// canvas writes text for a terminal: with colours and highlights, control sequences escaped, and lines truncated at the
// terminal's width.
type canvas struct {
	dst   []byte
	limit int  // columns of a line; 0 is no limit
	color bool // enables styles

	column int
	// style is the style of the following text, shown the style that the terminal has.
	style, shown string
	// fits is the end of the output that leaves a column for the mark, fitsStyle the style there.
	fits      int
	fitsStyle string
	full      bool // the line was truncated, and its rest is not written
	missed    bool // something that was found is in that rest

	indent  int    // columns before a line that continues
	onBreak func() // if set, is called once before the next such line
	quoted  bool   // text is in quotes: quotes, backslashes, newlines and TABs are escaped
	scratch []byte
}

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
	c.start(0)
}

// start starts a line.
func (c *canvas) start(indent int) {
	c.column, c.full, c.missed = 0, false, false
	c.fits, c.fitsStyle = len(c.dst), ""
	style := c.style
	c.style = ""
	for range indent {
		c.put(" ", 1)
	}
	c.style = style
}

// end ends the line, without a newline.
func (c *canvas) end() {
	if c.full {
		c.style = grey
		if c.missed {
			c.style = standOut
		}
		c.sync()
		c.dst = append(c.dst, cutMark...)
	}
	c.style = ""
	c.sync()
}

// newline continues on another line, in the same style.
func (c *canvas) newline() {
	if f := c.onBreak; f != nil {
		style, quoted := c.style, c.quoted
		c.onBreak, c.style, c.quoted = nil, "", false
		f()
		c.style, c.quoted = style, quoted
	}
	style := c.style
	c.end()
	c.dst = append(c.dst, '\n')
	c.start(c.indent)
	c.style = style
}

// sync brings the terminal to the style.
func (c *canvas) sync() {
	if c.shown == c.style || !c.color {
		return
	}
	if c.shown != "" {
		c.dst = append(c.dst, plainly...)
	}
	c.dst = append(c.dst, c.style...)
	c.shown = c.style
}

// print writes ASCII text in a style.
func (c *canvas) print(style, text string) {
	c.style = style
	c.ascii([]byte(text))
	c.style = ""
}

// put writes text that takes columns, all of it or none.
func (c *canvas) put(text string, columns int) {
	if c.full || c.limit > 0 && c.column+columns > c.limit {
		c.cut()
		return
	}
	c.sync()
	c.dst = append(c.dst, text...)
	c.column += columns
	c.mayEnd()
}

// mayEnd records that the line may be truncated here.
func (c *canvas) mayEnd() {
	if c.column < c.limit {
		c.fits, c.fitsStyle = len(c.dst), c.shown
	}
}

// cut cuts the line where the mark fits.
func (c *canvas) cut() {
	c.missed = c.missed || c.style == standOut || !c.full && c.shown == standOut && c.fits < len(c.dst)
	if !c.full {
		c.full, c.dst, c.shown = true, c.dst[:c.fits], c.fitsStyle
	}
}

// ascii writes printable ASCII text.
func (c *canvas) ascii(text []byte) {
	room := len(text) // how much of it leaves a column for the mark
	if c.limit > 0 {
		room = min(room, max(0, c.limit-1-c.column))
	}
	fits := c.limit == 0 || c.column+len(text) <= c.limit
	if !fits && !c.full {
		text = text[:room]
	}
	if len(text) > 0 && !c.full {
		c.sync()
		c.dst = append(c.dst, text...)
		c.column += len(text)
		if room > 0 {
			c.fits, c.fitsStyle = len(c.dst)-len(text)+room, c.shown
		}
	}
	if !fits || c.full {
		c.cut()
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
		if c.full { // only another line matters
			c.cut()
			n := bytes.IndexByte(text, '\n')
			if n < 0 || c.quoted {
				return
			}
			text = text[n:]
		}
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
		c.put(`\`+string(r), 2)
	case c.quoted && r == '\n':
		c.put(`\n`, 2)
	case c.quoted && r == '\t':
		c.put(`\t`, 2)
	case r == '\n':
		c.newline()
	case r == '\t':
		c.put("\t", tabStop-c.column%tabStop)
	case r < 0x80 || r == utf8.RuneError && len(text) == 1 || ansi.Steers(r):
		escape := appendVisible(nil, text)
		c.put(string(escape), len(escape))
	default:
		c.put(string(text), runeWidth(r))
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
