// Package ansi removes the escape sequences with which programs colour what they print on a terminal (ECMA-48, section 5.4), and
// recognizes other characters that steer a terminal.
package ansi

import "bytes"

// Escape begins every sequence.
const Escape = 0x1b

// Steers reports whether a rune outside of ASCII steers a terminal: the C1 controls, and the marks that turn the direction of text.
func Steers(r rune) bool {
	return 0x80 <= r && r <= 0x9f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// Strip appends text without its escape sequences to dst.
func Strip(dst, text []byte) []byte {
	for {
		next := bytes.IndexByte(text, Escape)
		if next < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:next]...)
		text = text[next+sequence(text[next:]):]
	}
}

// sequence is the length of the escape sequence that b starts with: ESC [ parameters letter, ESC ] text BEL, or ESC and one byte.
func sequence(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if c := b[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return i
			}
		}
		return len(b)
	case ']':
		if end := bytes.IndexByte(b, 0x07); end >= 0 {
			return end + 1
		}
	}
	if b[1] >= 0x80 {
		return 1
	}
	return 2
}
