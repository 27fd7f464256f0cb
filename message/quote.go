package message

import (
	"math"
	"strconv"
	"unicode/utf8"
)

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

// AppendFloat appends a number of 32 or 64 bits as JavaScript and encoding/json write it: in the shortest form that parses to the same
// number. For one that JSON cannot represent it appends a string: "NaN", "Infinity" or "-Infinity".
func AppendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	least := 1e-6
	if bits == 32 {
		least = float64(float32(least))
	}
	if magnitude := math.Abs(v); magnitude == 0 || least <= magnitude && magnitude < 1e21 {
		return strconv.AppendFloat(dst, v, 'f', -1, bits)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
	if n := len(dst); string(dst[n-4:n-1]) == "e-0" {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}
