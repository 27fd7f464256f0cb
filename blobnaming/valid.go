package blobnaming

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The maximum lengths in bytes.
const (
	MaxService  = 63
	MaxInstance = 128
	MaxClass    = 24
	MaxParse    = 1024
)

// The maximum sizes of a segment: the text of a block and of all blocks in bytes, and the number of blocks.
const (
	MaxBlockRaw = 17 << 20
	MaxBlocks   = 4096
	MaxRawBytes = MaxBlocks * MaxBlockRaw
)

// ValidService reports whether s is a service name:
// [a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?
func ValidService(s string) bool {
	if s == "" || len(s) > MaxService || !lowerOrDigit(s[0]) || !lowerOrDigit(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !lowerOrDigit(s[i]) && !punctuation(s[i]) {
			return false
		}
	}
	return true
}

// ValidInstance reports whether s is an instance name: [A-Za-z0-9._-]{1,128}
func ValidInstance(s string) bool {
	if s == "" || len(s) > MaxInstance {
		return false
	}
	for i := range len(s) {
		if !instanceByte(s[i]) {
			return false
		}
	}
	return true
}

// CleanInstance makes an instance name of any text, such as a host name: it replaces
// invalid bytes by '_', truncates to [MaxInstance] bytes, and returns "_" for an empty
// text. A valid name is returned unchanged.
func CleanInstance(s string) string {
	if ValidInstance(s) {
		return s
	}
	if s == "" {
		return "_"
	}
	b := []byte(s[:min(len(s), MaxInstance)])
	for i, c := range b {
		if !instanceByte(c) {
			b[i] = '_'
		}
	}
	return string(b)
}

// CleanService makes a service name of any text: it converts to lower case, replaces invalid characters by '-', truncates to
// [MaxService] characters, and removes '.', '_' and '-' at both ends. The result is "" if nothing is left.
func CleanService(s string) string {
	const punctuation = "._-"
	s = strings.TrimLeft(strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r < utf8.RuneSelf && lowerOrDigit(byte(r)), strings.ContainsRune(punctuation, r):
			return r
		}
		return '-'
	}, s), punctuation)
	return strings.TrimRight(s[:min(len(s), MaxService)], punctuation)
}

// ValidClass reports whether s is a retention class: [a-z0-9]{0,24}, where the
// empty text is the default class.
func ValidClass(s string) bool {
	if len(s) > MaxClass {
		return false
	}
	for i := range len(s) {
		if !lowerOrDigit(s[i]) {
			return false
		}
	}
	return true
}

// ValidParse reports whether s may be the parser of a segment: one line of at most [MaxParse] bytes without
// control characters except tabs; the empty text is the default. Package message/parse defines the parsers.
func ValidParse(s string) bool {
	return len(s) <= MaxParse && utf8.ValidString(s) &&
		strings.IndexFunc(s, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) < 0
}

func lowerOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
}

func punctuation(c byte) bool {
	return c == '.' || c == '_' || c == '-'
}

func instanceByte(c byte) bool {
	return lowerOrDigit(c) || 'A' <= c && c <= 'Z' || punctuation(c)
}
