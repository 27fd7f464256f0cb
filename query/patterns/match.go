package patterns

import (
	"bytes"
	"strings"
)

// Matcher matches messages with a template. Not safe for concurrent use.
type Matcher struct {
	// parts are the constant parts, in order, with a [Wildcard] between them.
	parts [][]byte
	texts texts
	text  []byte
}

// NewMatcher makes a Matcher of a template. It collapses blanks and ignores those at the ends.
func NewMatcher(template string) *Matcher {
	template = strings.Join(strings.FieldsFunc(template, isBlank), " ")
	return &Matcher{parts: bytes.Split([]byte(template), []byte(Wildcard))}
}

// Matches reports whether the [Text] of a message is the template with any text for wildcards. Sequences of blanks count as
// one space.
func (m *Matcher) Matches(message []byte) bool {
	m.text = appendSpaced(m.text[:0], m.texts.text(message))
	return m.matches(m.text)
}

// matches is Matches for a text with one space for blanks in a row.
func (m *Matcher) matches(text []byte) bool {
	last := len(m.parts) - 1
	if last == 0 {
		return bytes.Equal(text, m.parts[0])
	}
	if len(text) < len(m.parts[0])+len(m.parts[last]) || !bytes.HasPrefix(text, m.parts[0]) || !bytes.HasSuffix(text, m.parts[last]) {
		return false
	}
	text = text[len(m.parts[0]) : len(text)-len(m.parts[last])]
	for _, part := range m.parts[1:last] {
		i := bytes.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

// Words are texts without blanks that every message contains which the template matches: as they are,
// or with characters written as \u escapes.
func (m *Matcher) Words() []string {
	var words []string
	for _, part := range m.parts {
		words = append(words, strings.FieldsFunc(string(part), func(r rune) bool {
			return isBlank(r) || strings.ContainsRune(`"\/`, r) // JSON may escape these otherwise
		})...)
	}
	return words
}

// appendSpaced appends text with one space for blanks in a row.
func appendSpaced(dst, text []byte) []byte {
	for len(text) > 0 {
		end := bytes.IndexAny(text, blanks)
		if end < 0 {
			return append(dst, text...)
		}
		dst = append(append(dst, text[:end]...), ' ')
		text = bytes.TrimLeft(text[end:], blanks)
	}
	return dst
}

func isBlank(r rune) bool { return r < 0x80 && strings.IndexByte(blanks, byte(r)) >= 0 }
