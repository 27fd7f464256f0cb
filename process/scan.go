package process

import "bytes"

// unit returns the character at m[i] and the number of its bytes: one, or more if it is escaped in a JSON
// string, or in a string inside another. Escaped white space of any kind is returned as a blank, bytes
// beyond ASCII unchanged. Consecutive backslashes are one unit: the JSON remains valid only if all or none
// of them are replaced.
func unit(m []byte, i int) (c byte, width int) {
	if m[i] != '\\' {
		return m[i], 1
	}
	k := i + 1
	for k < len(m) && m[k] == '\\' {
		k++
	}
	if k == len(m) {
		return '\\', k - i
	}
	switch m[k] {
	case '"', '\'', '/':
		return m[k], k + 1 - i
	case 'n', 'r', 't', 'b', 'f':
		return ' ', k + 1 - i
	case 'u':
		if k+4 < len(m) && isHex(m[k+1]) && isHex(m[k+2]) && isHex(m[k+3]) && isHex(m[k+4]) {
			if m[k+1] != '0' || m[k+2] != '0' {
				return pastASCII, k + 5 - i
			}
			return hexDigit(m[k+3])<<4 | hexDigit(m[k+4]), k + 5 - i
		}
	}
	return '\\', k - i
}

// pastASCII stands for any character outside of ASCII.
const pastASCII = 0xff

// webUnit is unit, but also decodes percent-encoding: %2B.
func webUnit(m []byte, i int) (c byte, width int) {
	if m[i] == '%' && i+2 < len(m) && isHex(m[i+1]) && isHex(m[i+2]) {
		return hexDigit(m[i+1])<<4 | hexDigit(m[i+2]), 3
	}
	return unit(m, i)
}

// run returns the end of the allowed characters from m[i] on, and their number. at is unit or webUnit.
func run(m []byte, i int, allowed func(byte) bool, at func([]byte, int) (byte, int)) (end, n int) {
	for i < len(m) {
		c, width := at(m, i)
		if !allowed(c) {
			break
		}
		i += width
		n++
	}
	return i, n
}

// keyed finds the first value, from m[from] on, of a name that ends with one of keys, which are in lower
// case. value returns the start and end of the value at m[i].
func keyed(m []byte, from int, keys []string, value func(m []byte, i int) (start, end int)) (start, end int) {
	for i := from; i < len(m); {
		switch m[i] {
		case '=', '%', '\\':
		default:
			i++
			continue
		}
		c, width := webUnit(m, i)
		if c == '=' && endsWith(m[:i], keys) {
			if start, end = value(m, i+width); end > start && !bytes.HasPrefix(m[start:], []byte(marked)) {
				return start, end
			}
		}
		i += width
	}
	return 0, 0
}

// marked is the prefix of all replacements.
const marked = "[redacted"

// endsWith reports whether b ends with one of keys and blanks, in any case.
func endsWith(b []byte, keys []string) bool {
	b = bytes.TrimRight(b[max(0, len(b)-maxKey):], " ")
	for _, key := range keys {
		k, i := len(key), len(b)
		for k > 0 && i > 0 && lower(b[i-1]) == key[k-1] {
			k, i = k-1, i-1
		}
		if k == 0 {
			return true
		}
	}
	return false
}

// maxKey is the length of a key and the blanks after it.
const maxKey = 40

// inString reports whether a part of a JSON object ends inside a string; inside reports whether it begins in one.
func inString(text []byte, inside bool) bool {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			inside = !inside
		case text[i] == '\\' && inside:
			i++
		}
	}
	return inside
}

// leavesString reports whether text that begins in a JSON string has its end.
func leavesString(text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func isLetter(c byte) bool { return c|0x20-'a' < 26 }

func isWord(c byte) bool { return isDigit(c) || isLetter(c) || c == '_' }

func isHex(c byte) bool { return isDigit(c) || c|0x20-'a' < 6 }

// hexDigit is the value of a hexadecimal digit.
func hexDigit(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func lower(c byte) byte {
	if c-'A' < 26 {
		return c | 0x20
	}
	return c
}
