package tail

import (
	"iter"
	"path/filepath"
	"strings"
)

// compressedSuffix is the suffix of compressed files.
const compressedSuffix = ".gz"

// origins yields the names that a file may have had before it was rotated to name, by
// the conventions of log rotation: NAME.1, NAME-20261120, NAME.old, BASE-DATE.EXT, each
// also compressed. certain reports that the suffix is a number, a date or a common word;
// otherwise only the content can prove the rotation.
func origins(name string) iter.Seq2[string, bool] {
	return func(yield func(origin string, certain bool) bool) {
		plainName := strings.TrimSuffix(name, compressedSuffix)
		if plainName != name && !yield(plainName, true) {
			return
		}
		ext := filepath.Ext(plainName)
		stem := len(plainName) - len(ext)
		for i := 1; i < len(plainName)-1; i++ {
			if !strings.ContainsRune(".-_~", rune(plainName[i])) {
				continue
			}
			added := plainName[i+1:]
			if !yield(plainName[:i], isNumberOrDate(added, 1) || isWord(added)) {
				return
			}
			if ext != "" && i < stem-1 && !yield(plainName[:i]+ext, isNumberOrDate(plainName[i+1:stem], 8)) {
				return
			}
		}
	}
}

// isRotation reports whether name may be the rotated name of a file that was called before.
func isRotation(name, before string) bool {
	for origin := range origins(name) {
		if origin == before {
			return true
		}
	}
	return false
}

// isNumberOrDate reports whether s is a number or date with at least the given number of digits.
func isNumberOrDate(s string, digits int) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9':
			digits--
		case !strings.ContainsRune(".-_:+TZ", rune(c)):
			return false
		}
	}
	return digits <= 0
}

// isWord reports whether s is a common suffix of rotated files.
func isWord(s string) bool {
	switch s {
	case "old", "bak", "prev", "previous":
		return true
	}
	return false
}
