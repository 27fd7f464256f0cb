package token

import (
	"bytes"
	"iter"
)

// MinIndexed is the minimum length in bytes of an indexed run.
const MinIndexed = 6

// Indexed yields the tokens of text that the token filter contains, like [All]: runs of at least
// [MinIndexed] bytes, and addresses. A UUID is represented by its first and last run.
func Indexed(text []byte) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for start, end := range All(text) {
			run := RunEnd(text, start) == end
			if run && end-start < MinIndexed || !run && Address(text[start:]) == 0 {
				continue
			}
			if !yield(start, end) {
				return
			}
		}
	}
}

// Required yields the indexed tokens that every text matching pattern contains. For a pattern that is matched as a whole
// (see [Whole]) these are all; otherwise those at neither end of the pattern, because a token at an end may be part of a
// longer one in the text.
func Required(pattern []byte, whole bool) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for start, end := range Indexed(pattern) {
			if (whole || start > 0 && end < len(pattern)) && !yield(start, end) {
				return
			}
		}
	}
}

// maxColor is the length limit of the numbers of a colour's sequence.
const maxColor = 32

// ColorEnd returns the position behind the sequence of a terminal's colour whose last number, or letter, is at a position in
// text: ESC [ numbers m, where ESC may be \u001b. It returns 0 if there is none.
func ColorEnd(text []byte, at int) int {
	end := at
	for end < len(text) && isDigit(text[end]) {
		end++
	}
	if end == len(text) || text[end] != 'm' {
		return 0
	}
	start := at
	for start > 0 && at-start < maxColor && (isDigit(text[start-1]) || text[start-1] == ';') {
		start--
	}
	const escape, escaped = 0x1b, `\u001b`
	switch before := start - len("["); {
	case before < 1 || text[before] != '[':
	case text[before-1] == escape, before >= len(escaped) && string(text[before-len(escaped):before]) == escaped:
		return end + 1
	}
	return 0
}

// EscapeEnds yields the positions in text at which a backslash escape, or the sequence of a colour, may end and a run begin; from
// is the position after the backslash or ESC.
func EscapeEnds(text []byte, from int) iter.Seq[int] {
	return func(yield func(at int) bool) {
		color := from
		if backslash := from > 0 && text[from-1] == '\\'; backslash && bytes.HasPrefix(text[from:], []byte("u001b")) {
			color += len("u001b")
		} else if backslash {
			color = len(text)
		}
		if color < len(text) && text[color] == '[' {
			at := color + 1
			for at < len(text) && at-color < maxColor && (isDigit(text[at]) || text[at] == ';') {
				at++
			}
			if at+1 < len(text) && text[at] == 'm' && IsByte(text[at+1]) && !yield(at+1) {
				return
			}
		}
		if from >= len(text) || !isLetter(text[from]) || from > 0 && text[from-1] != '\\' {
			return
		}
		if at := from + 1; at < len(text) && IsByte(text[at]) && !yield(at) {
			return
		}
		if at := from + 5; at < len(text) && IsByte(text[at]) && text[from] == 'u' && allHex(text[from+1:at]) {
			yield(at)
		}
	}
}

// EscapesByte reports whether text has, at the position after a backslash, a \u escape of an ASCII byte that belongs to
// runs. Unescaping it gives a run that does not occur in text.
func EscapesByte(text []byte, from int) bool {
	const length = len("u0000")
	if len(text)-from < length || text[from] != 'u' || text[from+1] != '0' || text[from+2] != '0' || !allHex(text[from+3:from+length]) {
		return false
	}
	b := hexDigit(text[from+3])<<4 | hexDigit(text[from+4])
	return b < 0x80 && IsByte(b)
}

// hexDigit returns the value of a hexadecimal digit.
func hexDigit(b byte) byte {
	if isDigit(b) {
		return b - '0'
	}
	return Lower(b) - 'a' + 10
}

// RunEnd returns the end of the run at a position in text.
func RunEnd(text []byte, at int) int { return at + runLength(text[at:]) }
