package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// requoted is a text with strings in single quotes as JSON, as function apps write their properties; not ok unless the result is JSON. A
// quote in such a string ends it only where the string can end.
// https://learn.microsoft.com/azure/azure-monitor/reference/tables/functionapplogs
func requoted(text []byte) (made []byte, ok bool) {
	if !bytes.Contains(text, []byte("{'")) {
		return nil, false
	}
	made = make([]byte, 0, len(text))
	var open byte // the quote of the string that is open, 0 outside of strings
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case open == 0:
			if c == '"' || c == '\'' {
				open, c = c, '"'
			}
			made = append(made, c)
		case c == '\\' && i+1 < len(text):
			if i++; text[i] != '\'' {
				made = append(made, c)
			}
			made = append(made, text[i])
		case c == open && (c == '"' || endsString(text[i+1:])):
			open, made = 0, append(made, '"')
		case c == '"':
			made = append(made, '\\', c)
		case c < ' ':
			made = fmt.Appendf(made, `\u%04x`, c)
		default:
			made = append(made, c)
		}
	}
	return made, json.Valid(made)
}

// endsString reports whether a string in single quotes can end before a text.
func endsString(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if len(rest) == 0 || rest[0] != ',' {
		return len(rest) > 0 && (rest[0] == ':' || rest[0] == '}' || rest[0] == ']')
	}
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	return len(rest) > 0 && rest[0] == '\''
}
