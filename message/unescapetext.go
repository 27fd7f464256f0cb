package message

import "bytes"

// UnescapeText appends text without escapes to b: after a backslash those of nginx and Apache (\" \\ \n \t \xHH), after a # those of HAProxy
// (#HH). Escapes of bytes that [IsPlain] accepts are kept, so that these bytes occur in the value only if they occur in the message.
func UnescapeText(b, text []byte, escape byte) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != escape {
			b = append(b, c)
			continue
		}
		rest := text[i+1:]
		if escape == '#' {
			if n, ok := hexByte(rest); ok && !IsPlain(n) {
				c = n
				i += 2
			}
			b = append(b, c)
			continue
		}
		if len(rest) > 0 {
			if rest[0] == 'x' {
				if n, ok := hexByte(rest[1:]); ok && !IsPlain(n) {
					c = n
					i += 3
				}
			} else if plain := escaped(rest[0]); plain != 0 {
				c = plain
				i++
			}
		}
		b = append(b, c)
	}
	return b
}

// IsPlain reports whether no program escapes c: it is printable ASCII other than quotes, backslash, slash, and the separators of headers
// in HAProxy's logs.
func IsPlain(c byte) bool {
	return c >= ' ' && c < 0x7f && bytes.IndexByte([]byte(`"'\\/#{|}`), c) < 0
}

// escaped returns the byte that c stands for after a backslash; 0 if that is no escape.
func escaped(c byte) byte {
	switch c {
	case '"', '\\', '/', '\'':
		return c
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'v':
		return '\v'
	}
	return 0
}

// hexByte parses the two hexadecimal digits that b begins with.
func hexByte(b []byte) (byte, bool) {
	if len(b) < 2 {
		return 0, false
	}
	high, low := hexDigit(b[0]), hexDigit(b[1])
	return high<<4 | low, high < 16 && low < 16
}

// hexDigit returns the value of a hexadecimal digit, 16 for other bytes.
func hexDigit(c byte) byte {
	switch {
	case c-'0' <= 9:
		return c - '0'
	case c|0x20-'a' < 6:
		return c | 0x20 - 'a' + 10
	}
	return 16
}
