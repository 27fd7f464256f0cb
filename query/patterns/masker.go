package patterns

import (
	"bytes"
	"unicode/utf8"
)

// Wildcard is the variable part of a template. It matches any text, including the empty text and spaces.
const Wildcard = "<_>"

const (
	// maxText is how many bytes of a text count.
	maxText = 1 << 10
	// maxWords is how many words of a text count.
	maxWords = 64
	// maxWord is the length in bytes of the longest constant word.
	maxWord = 64
)

// class is the set of tokens that a byte may belong to.
type class uint8

const (
	punctuation class = iota
	blank
	letter
	digit
	control
	connector // joins numbers: times, addresses, versions
)

// masker turns texts into shapes. Not safe for concurrent use.
type masker struct {
	classes [256]class
	// path and value are set for the bytes that are part of a path, and of the value of a pair.
	path, value [256]bool

	text  []byte
	out   []byte
	word  int // where the last word of out starts
	prev  int // start of the previous word, -1 if there is none
	words int
	// unclosed are the quotes that are known not to be closed in the rest of the text.
	unclosed [256]bool
}

func newMasker() *masker {
	m := &masker{out: make([]byte, 0, 2*maxText)}
	for c := range m.classes {
		b := byte(c)
		switch {
		case b == ' ' || '\t' <= b && b <= '\r':
			m.classes[c] = blank
		case b < ' ' || b == 0x7f:
			m.classes[c] = control
		case isDigit(b):
			m.classes[c] = digit
		case isLetter(b) || b >= utf8.RuneSelf:
			m.classes[c] = letter
		case bytes.IndexByte([]byte(".:-_,/+"), b) >= 0:
			m.classes[c] = connector
		}
		known := m.classes[c] == digit || m.classes[c] == letter
		m.path[c] = known || bytes.IndexByte([]byte("._~%+=&?#@!*$-/"), b) >= 0
		m.value[c] = m.classes[c] != blank && m.classes[c] != control && bytes.IndexByte([]byte(",;)]}{[(\"'<>|&"), b) < 0
	}
	return m
}

// wild writes a wildcard. Those of numbers that connectors join become one.
func (m *masker) wild() {
	n := len(m.out)
	before := n
	for before > m.word && n-before < 2 && m.classes[m.out[before-1]] == connector {
		before--
	}
	switch {
	case m.endsWild(n):
	case before < n && m.endsWild(before):
		m.out = m.out[:before]
	default:
		m.out = append(m.out, Wildcard...)
	}
}

// endsWild reports whether the first n bytes of the shape end with a wildcard of the last word.
func (m *masker) endsWild(n int) bool {
	return n >= m.word+len(Wildcard) && string(m.out[n-len(Wildcard):n]) == Wildcard
}

func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isLetter(c byte) bool    { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool     { return isDigit(c) || isLetter(c) }
func isHexLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'f' }
