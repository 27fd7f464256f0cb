package output

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

const (
	// cutMark is in the place of what was cut.
	cutMark = "…"
	// minCut is the number of columns of a value that are left at least.
	minCut = 16
	// tabStop is the distance of a terminal's tab stops.
	tabStop = 8
)

// fit appends the lines of dst[at:], each with at most limit columns. In a line that is longer the longest values are cut in their
// middle, as far as that is necessary, and then a text that is longer than the rest of the line, of which it keeps three quarters. What
// does not fit then is cut at the end of the line.
func (c *canvas) fit(dst []byte, at, limit int) []byte {
	spans := c.spans
	for line := range bytes.Lines(c.dst[at:]) {
		end := at + len(line)
		n := slices.IndexFunc(spans, func(s span) bool { return s.from >= end })
		if n < 0 {
			n = len(spans)
		}
		line = line[:len(line)-1]
		if all := columnsOf(line); all > limit {
			line = c.shorten(line, at, spans[:n], all, limit)
		}
		dst = append(append(dst, line...), '\n')
		spans, at = spans[n:], end
	}
	return dst
}

// shorten returns a line that begins at an offset of dst and takes all columns, too many for the limit.
func (c *canvas) shorten(line []byte, at int, spans []span, all, limit int) []byte {
	widths := make([]int, len(spans))
	room, leastText := limit, 0
	column, from := 0, 0
	for i, s := range spans {
		before := columnsFrom(column, line[from:s.from-at])
		column, from = columnsFrom(before, line[s.from-at:s.to-at]), s.to-at
		widths[i] = column - before
		if s.kind != textSpan {
			continue
		}
		if room == limit {
			room = limit - before
			leastText = max(1, room-room/4)
		}
		if widths[i] <= room {
			leastText = max(leastText, widths[i])
		}
	}
	most := capOf(spans, widths, valueSpan, all-limit, minCut)
	for i, s := range spans {
		if s.kind == valueSpan {
			all -= max(0, widths[i]-most)
		}
	}
	mostText := capOf(spans, widths, textSpan, all-limit, leastText)
	cut := make([]byte, 0, len(line))
	from = 0
	for i, s := range spans {
		keep := most
		if s.kind == textSpan {
			keep = mostText
		}
		if widths[i] > keep {
			cut = append(cut, line[from:s.from-at]...)
			cut = c.cutMiddle(cut, line[s.from-at:s.to-at], styleAt(line[:s.from-at], ""), keep)
			from = s.to - at
		}
	}
	cut = append(cut, line[from:]...)
	if columnsOf(cut) <= limit {
		return cut
	}
	return c.cut(nil, cut, "", limit-1, 0)
}

// capOf returns the greatest number of columns of a span of a kind, least at least, with which the spans together have so many columns
// less.
func capOf(spans []span, widths []int, kind spanKind, less, least int) int {
	most := least
	for i, s := range spans {
		if s.kind == kind {
			most = max(most, widths[i])
		}
	}
	for ; most > least; most-- {
		saved := 0
		for i, s := range spans {
			if s.kind == kind {
				saved += max(0, widths[i]-most)
			}
		}
		if saved >= less {
			break
		}
	}
	return most
}

// cutMiddle appends a text with so many columns, without parts of its middle, but with the first place in it that stands out if that
// fits.
func (c *canvas) cutMiddle(dst, text []byte, style string, keep int) []byte {
	first, last := keep/2, keep-keep/2-1
	at := bytes.Index(text, []byte(standOut))
	if at < 0 {
		return c.cut(dst, text, style, first, last)
	}
	end := len(text)
	if n := bytes.IndexByte(text[at+1:], '\x1b'); n >= 0 {
		end = at + 1 + n
	}
	place := columnsOf(text[at:end])
	seen := columnsOf(text[:end]) <= first || columnsOf(text[at:]) <= last
	if seen || place > keep/2 {
		return c.cut(dst, text, style, first, last)
	}
	for more := (keep/2 - place) / 2; end < len(text); { // what is around it
		n, width := characterAt(text[end:], 0)
		if more -= width; more < 0 {
			break
		}
		end += n
	}
	first = keep / 4
	dst = c.cut(dst, text[:end], style, first, keep/2)
	return c.cut(dst, text[end:], styleAt(text[:end], style), 0, keep-first-keep/2-2)
}

// cut appends the first and the last columns of a text, with the mark between them, which stands out if something does that is left
// out. style is the style in which the text begins.
func (c *canvas) cut(dst, text []byte, style string, first, last int) []byte {
	all := columnsOf(text)
	if all <= first+last+1 {
		return append(dst, text...)
	}
	column, end, start := 0, 0, len(text)
	left, mark, full := style, grey, false
	for i := 0; i < len(text); {
		n, width := characterAt(text[i:], column)
		if text[i] == '\x1b' {
			style = styleOf(text[i : i+n])
			i += n
			continue
		}
		if full = full || column+width > first; !full {
			end, left = i+n, style
		} else {
			if width > 0 && all-column <= last {
				start = i
				break
			}
			if style == standOut {
				mark = standOut
			}
		}
		column += width
		i += n
	}
	kept, marked := bytes.CutSuffix(text[:end], []byte(cutMark)) // one mark is enough
	if marked && left == standOut {
		mark = standOut
	}
	dst = append(dst, kept...)
	dst = c.appendStyle(dst, left, mark)
	dst = append(dst, cutMark...)
	dst = c.appendStyle(dst, mark, style)
	return append(dst, text[start:]...)
}

// columnsOf returns the number of columns of a line, or of the start of one.
func columnsOf(line []byte) int { return columnsFrom(0, line) }

// columnsFrom returns the column in which a text ends that begins in a column.
func columnsFrom(column int, text []byte) int {
	for len(text) > 0 {
		if b := text[0]; b >= ' ' && b < utf8.RuneSelf {
			text, column = text[1:], column+1
			continue
		}
		n, width := characterAt(text, column)
		text, column = text[n:], column+width
	}
	return column
}

// characterAt returns the length and the columns of the character that text begins with, in a column of the line.
func characterAt(text []byte, column int) (n, width int) {
	switch b := text[0]; {
	case b == '\x1b': // a style
		return bytes.IndexByte(text, 'm') + 1, 0
	case b == '\t':
		return 1, tabStop - column%tabStop
	case b < utf8.RuneSelf:
		return 1, 1
	}
	r, n := utf8.DecodeRune(text)
	return n, runeWidth(r)
}

// styleAt is the style at the end of a text that begins in a style.
func styleAt(start []byte, style string) string {
	i := bytes.LastIndexByte(start, '\x1b')
	if i < 0 {
		return style
	}
	return styleOf(start[i : i+bytes.IndexByte(start[i:], 'm')+1])
}

// styleOf is the style that an escape sequence sets.
func styleOf(sequence []byte) string {
	if string(sequence) == plainly {
		return ""
	}
	return string(sequence)
}
