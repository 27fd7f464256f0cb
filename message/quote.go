package message

import "unicode/utf8"

// controls are the escapes of the control characters, six bytes each.
const controls = `\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\t    \n    \u000b\u000c\r    \u000e\u000f` +
	`\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f`

// Escape returns how many bytes at the start of s need no escape in a JSON string, and the escape of what follows them, which is size
// bytes long. A byte that is not UTF-8 becomes U+FFFD. Without an escape all of s is plain.
func Escape[T string | []byte](s T) (plain int, escape string, size int) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			var head [utf8.UTFMax]byte
			r, n := utf8.DecodeRune(head[:copy(head[:], s[i:])])
			if r == utf8.RuneError && n == 1 {
				return i, "\ufffd", 1
			}
			i += n - 1
		case c == '"':
			return i, `\"`, 1
		case c == '\\':
			return i, `\\`, 1
		case c == '\t' || c == '\n' || c == '\r':
			return i, controls[6*int(c) : 6*int(c)+2], 1
		case c < ' ':
			return i, controls[6*int(c) : 6*int(c)+6], 1
		}
	}
	return len(s), "", 0
}

// AppendString appends s as a JSON string.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		plain, escape, size := Escape(s)
		dst = append(append(dst, s[:plain]...), escape...)
		s = s[plain+size:]
	}
	return append(dst, '"')
}
