package output

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"logstow/internal/ansi"
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

// Visible returns a line of text for people, with control sequences of terminals escaped.
func Visible(line string) string {
	if s := []byte(line); !plain(s) || bytes.ContainsRune(s, '\n') {
		return string(bytes.ReplaceAll(appendVisible(nil, s), []byte("\n"), []byte("; ")))
	}
	return line
}

// VisibleWriter writes text without colours to a terminal, with control sequences escaped. Each write to the terminal ends
// with a complete character. Not safe for concurrent use.
type VisibleWriter struct {
	to   io.Writer
	rest []byte // the start of a character
	out  []byte // scratch
}

// NewVisibleWriter makes a VisibleWriter to a terminal.
func NewVisibleWriter(to io.Writer) *VisibleWriter { return &VisibleWriter{to: to} }

// Write writes text, which may end inside a character.
func (v *VisibleWriter) Write(p []byte) (int, error) {
	text := append(v.rest, p...)
	end := len(text)
	for i := 1; i < min(len(text)+1, utf8.UTFMax); i++ {
		if at := len(text) - i; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	v.out = appendVisible(v.out[:0], text[:end])
	v.rest = append(v.rest[:0], text[end:]...)
	_, err := v.to.Write(v.out)
	return len(p), err
}

// appendVisible appends text in which control sequences and bytes that are not UTF-8 are escaped. TABs and newlines are
// kept.
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
		case ansi.Steers(r):
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
}
