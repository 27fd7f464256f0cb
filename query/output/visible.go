package output

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// plain reports whether text is printable ASCII, TABs and newlines.
func plain(text []byte) bool {
	for _, b := range text {
		if (b < 0x20 || b > 0x7e) && b != '\t' && b != '\n' {
			return false
		}
	}
	return true
}

// Visible is one line of text for people, with what a terminal would execute written as escapes.
func Visible(line string) string {
	if s := []byte(line); !plain(s) || bytes.ContainsRune(s, '\n') {
		return string(bytes.ReplaceAll(appendVisible(nil, s), []byte("\n"), []byte("; ")))
	}
	return line
}

// appendVisible appends text with what a terminal would execute, and bytes that
// are not UTF-8, written as escapes. TABs and newlines stay.
func appendVisible(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1, r < 0x20 && r != '\t' && r != '\n', r == 0x7f:
			if text[0] == '\r' {
				dst = append(dst, `\r`...)
			} else {
				dst = fmt.Appendf(dst, `\x%02x`, text[0])
			}
		case control(r):
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
}

// control reports whether a rune outside ASCII steers a terminal: the C1
// controls, and the marks that turn the direction of text.
func control(r rune) bool {
	return 0x80 <= r && r <= 0x9f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}
