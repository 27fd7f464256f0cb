package patterns

import (
	"bytes"
	"strings"
)

// Matches reports whether a template matches a message: its [Text] is that of the template, with
// any text for wildcards. Blanks in a row are one space.
func Matches(template string, message []byte) bool {
	text := string(bytes.Join(bytes.FieldsFunc(Text(message), isBlank), []byte(" ")))
	parts := strings.Split(template, Wildcard)
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return text == template
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

func isBlank(r rune) bool { return r < 0x80 && strings.IndexByte(blanks, byte(r)) >= 0 }
