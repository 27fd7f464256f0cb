package match

import (
	"bytes"
	"encoding/binary"

	"logstow/filter/token"
	"logstow/record"
)

// Literal is a text to search for.
type Literal struct {
	text []byte // in lower case if fold is set
	fold bool   // ignore the case of ASCII letters
	// whole requires that the text occurs as a whole token.
	whole bool
	rare  int // the index in text of the byte that is rarest in logs
}

// NewLiteral makes a Literal; fold ignores the case of ASCII letters, whole matches only whole tokens.
func NewLiteral(text []byte, fold, whole bool) Literal {
	l := Literal{text: bytes.Clone(text), fold: fold, whole: whole}
	if fold {
		for i, b := range l.text {
			l.text[i] = token.Lower(b)
		}
	}
	for i, b := range l.text {
		if rarity(b) > rarity(l.text[l.rare]) {
			l.rare = i
		}
	}
	return l
}

// Occurrence is how a message contains a literal.
type Occurrence uint8

const (
	// Absent is no occurrence.
	Absent Occurrence = iota
	// Inside is an occurrence only as a part of longer tokens, which does not match.
	Inside
	// Present is a match.
	Present
)

// find reports how a message contains the literal. The caller knows that no occurrence starts before from.
func (l *Literal) find(message []byte, from int) Occurrence {
	found := Absent
	for {
		i := l.Index(message[from:])
		if i < 0 {
			return found
		}
		i += from
		if !l.whole || token.Bounded(message, i, i+len(l.text)) {
			return Present
		}
		found, from = Inside, i+1
	}
}

// Index returns the offset of the first occurrence in s, or -1. It ignores whether tokens are whole.
func (l *Literal) Index(s []byte) int {
	if len(l.text) == 0 {
		return 0
	}
	if !l.fold {
		return l.indexExact(s)
	}
	lower := l.text[l.rare]
	upper := lower
	if 'a' <= lower && lower <= 'z' {
		upper -= 'a' - 'A'
	}
	// Search both cases of the rarest byte at once; a cursor that has reached end stays there.
	end := len(s) - (len(l.text) - 1 - l.rare)
	if end <= l.rare {
		return -1
	}
	next := func(from int, b byte) int {
		if i := bytes.IndexByte(s[from:end], b); i >= 0 {
			return from + i
		}
		return end
	}
	nextLower, nextUpper := next(l.rare, lower), end
	if upper != lower {
		nextUpper = next(l.rare, upper)
	}
	for {
		at := min(nextLower, nextUpper)
		if at == end {
			return -1
		}
		if equalFold(s[at-l.rare:][:len(l.text)], l.text) {
			return at - l.rare
		}
		if at == nextLower {
			nextLower = next(at+1, lower)
		} else {
			nextUpper = next(at+1, upper)
		}
	}
}

// indexExact returns the offset of the first occurrence in s of the text, which is not empty, or -1. It searches for the
// rarest byte, because [bytes.Index] searches for the first one, which is slow if that byte is frequent.
func (l *Literal) indexExact(s []byte) int {
	last := len(s) - len(l.text)
	for start, misses := 0, 0; start <= last; start++ {
		i := bytes.IndexByte(s[start+l.rare:last+l.rare+1], l.text[l.rare])
		if i < 0 {
			return -1
		}
		start += i
		if string(s[start:start+len(l.text)]) == string(l.text) {
			return start
		}
		if misses++; misses > 16+start/16 { // it is not rare here
			if i = bytes.Index(s[start:], l.text); i < 0 {
				return -1
			}
			return start + i
		}
	}
	return -1
}

// equalFold reports whether s in lower case is equal to lower, which has the same length.
func equalFold(s, lower []byte) bool {
	for i, b := range s {
		if token.Lower(b) != lower[i] {
			return false
		}
	}
	return true
}

// appendLower appends text with ASCII letters in lower case, eight bytes at a time.
func appendLower(dst, text []byte) []byte {
	const ones = 0x0101010101010101
	for ; len(text) >= 8; text = text[8:] {
		v := binary.LittleEndian.Uint64(text)
		// The high bit of each byte is set if the low seven bits are at least 'A', above 'Z'.
		low := v & (0x7f * ones)
		atLeastA, aboveZ := low+(0x80-'A')*ones, low+(0x7f-'Z')*ones
		upper := atLeastA &^ aboveZ &^ v & (0x80 * ones)
		dst = binary.LittleEndian.AppendUint64(dst, v|upper>>2) // 0x20 is the difference of the cases
	}
	for _, b := range text {
		dst = append(dst, token.Lower(b))
	}
	return dst
}

// anchor returns the literal to search a block for, or nil: the most selective, by length and rarity of its bytes, of those
// that the stored form of every match contains.
func anchor(required []Literal) *Literal {
	var best *Literal
	score := 0
	for i := range required {
		l := NewLiteral(record.Stored(required[i].text), required[i].fold, false)
		sum := 0
		for _, b := range l.text {
			sum += rarity(b)
		}
		if l.fold {
			sum -= sum / 4
		}
		if sum > score {
			best, score = &l, sum
		}
	}
	return best
}

// unescapedPieces returns the parts of a literal that attributes contain as they are: JSON escapes the bytes between them.
func unescapedPieces(l *Literal) (pieces []Literal) {
	escaped := func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }
	for _, piece := range bytes.FieldsFunc(l.text, escaped) {
		pieces = append(pieces, NewLiteral(piece, l.fold, false))
	}
	return pieces
}

// rarity estimates the information in bits of a byte of log text.
func rarity(b byte) int {
	switch {
	case bytes.IndexByte([]byte(" \"0123:,et"), b) >= 0:
		return 4
	case bytes.IndexByte([]byte("456789-./_=anisrolc"), b) >= 0:
		return 5
	case 'a' <= b && b <= 'z':
		return 6
	case 'A' <= b && b <= 'Z':
		return 7
	}
	return 8
}
