package record

import "unicode/utf8"

// MaxSource is the length limit of a source in bytes.
const MaxSource = 255

// emptySource stands for a source without a name.
const emptySource = "-"

// CleanSource makes a valid source from any string: it truncates to [MaxSource] bytes at
// a rune's boundary, replaces control bytes (TAB, newline, NUL, DEL and the like) by '_',
// and returns "-" for "". A valid source is returned unchanged.
func CleanSource(s string) string {
	if isCleanSource(s) {
		return s
	}
	if s == "" {
		return emptySource
	}
	if len(s) > MaxSource {
		cut := MaxSource
		for cut > MaxSource-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
			cut--
		}
		if !utf8.RuneStart(s[cut]) {
			cut = MaxSource // not UTF-8: there is no boundary
		}
		s = s[:cut]
	}
	clean := []byte(s)
	for i, c := range clean {
		if isControl(c) {
			clean[i] = '_'
		}
	}
	return string(clean)
}

func isCleanSource[T string | []byte](s T) bool {
	for i := range len(s) {
		if isControl(s[i]) {
			return false
		}
	}
	return len(s) > 0 && len(s) <= MaxSource
}

func isControl(c byte) bool { return c < 0x20 || c == 0x7f }
