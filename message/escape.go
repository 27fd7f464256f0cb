package message

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Unescape appends s, the inside of a JSON string, unescaped as by [UnescapeInPlace].
func Unescape(dst, s []byte) []byte {
	n := len(dst)
	dst = append(dst, s...)
	return dst[:n+len(UnescapeInPlace(dst[n:]))]
}

// escapeRun is how many bytes without an escape are checked one by one.
const escapeRun = 16

// UnescapeInPlace unescapes s, the inside of a JSON string, in place, which never makes it longer,
// and returns the result. Unknown escapes, and halves of surrogate pairs, are left unchanged: no
// byte is invented or lost.
func UnescapeInPlace(s []byte) []byte {
	from := bytes.IndexByte(s, '\\')
	if from < 0 {
		return s
	}
	for to := from; ; {
		for end := min(from+escapeRun, len(s)); from < end; { // escapes come in runs
			if s[from] != '\\' {
				s[to] = s[from]
				from, to = from+1, to+1
				continue
			}
			if from+1 < len(s) && (s[from+1] == '"' || s[from+1] == '\\') { // as most are
				s[to] = s[from+1]
				from, to = from+2, to+1
				end = min(from+escapeRun, len(s))
				continue
			}
			width, n := unescapeOne(s[from:], s[to:])
			from, to = from+width, to+n
			end = min(from+escapeRun, len(s))
		}
		next := bytes.IndexByte(s[from:], '\\')
		if next < 0 {
			return s[:to+copy(s[to:], s[from:])]
		}
		copy(s[to:], s[from:from+next])
		from, to = from+next, to+next
	}
}

// unescapeOne writes to dst the character of the escape that s begins with. It returns the lengths
// of both.
func unescapeOne(s, dst []byte) (width, n int) {
	if len(s) < 2 {
		return 1, copy(dst, s[:1])
	}
	var c byte
	switch s[1] {
	case '"', '\\', '/':
		c = s[1]
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'u':
		r, width := codePoint(s)
		if width == 0 {
			return 2, copy(dst, s[:2])
		}
		return width, utf8.EncodeRune(dst, r)
	default:
		return 2, copy(dst, s[:2])
	}
	dst[0] = c
	return 2, 1
}

// codePoint reads \uXXXX, or two of them that are a surrogate pair; width 0 is neither.
func codePoint(s []byte) (r rune, width int) {
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, ok := hex4(s[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// hex4 reads \uXXXX.
func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range s[2:6] {
		digit := hexDigit(c)
		if digit > 15 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}
