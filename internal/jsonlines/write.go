package jsonlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"logstow/internal/ansi"
)

// Write prints values as lines of JSON for people and programs: characters of HTML are not escaped, those of [Escapes] are.
func Write[T any](w io.Writer, values ...T) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, v := range values {
		text.Reset()
		if err := encoder.Encode(v); err != nil {
			return err
		}
		var line []byte
		for _, r := range text.String() {
			if Escapes(r) {
				line = fmt.Appendf(line, `\u%04x`, r)
			} else {
				line = utf8.AppendRune(line, r)
			}
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// Escapes reports whether strings of JSON that is printed escape a rune that JSON does not have to escape: DEL, what steers a terminal,
// line separators, and the replacement character, so that bytes that are not UTF-8 look the same wherever they were replaced.
func Escapes(r rune) bool {
	return r == 0x7f || r == utf8.RuneError || r == 0x2028 || r == 0x2029 || ansi.Steers(r)
}

// AppendString appends a JSON string, as [Write] does: whatever steers a terminal is escaped;
// bytes that are not UTF-8 become the replacement character.
func AppendString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if b := s[i]; b >= 0x20 && b < 0x7f && b != '"' && b != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if r >= 0x80 && !Escapes(r) {
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		if r == '"' || r == '\\' { // as most are
			dst = append(dst, '\\', byte(r))
		} else if at := strings.IndexRune("\n\t\r\b\f", r); at >= 0 {
			dst = append(dst, '\\', "ntrbf"[at])
		} else {
			dst = append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
		i += n
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
