package syntax

import (
	"regexp"
	"strings"
)

const foldPrefix = "(?i)"

// Fold returns a regular expression that finds a text in any case.
func Fold(text string) string { return foldPrefix + regexp.QuoteMeta(text) }

// Folded returns the text that a line filter of one regular expression, as [Fold] makes it, finds in any case.
func (f *LineFilter) Folded() (string, bool) {
	if (f.Op != LineRegexp && f.Op != LineNotRegexp) || len(f.Texts) != 1 {
		return "", false
	}
	quoted, ok := strings.CutPrefix(f.Texts[0].Text, foldPrefix)
	if !ok {
		return "", false
	}
	var text strings.Builder
	for i := 0; i < len(quoted); i++ {
		if quoted[i] == '\\' && i+1 < len(quoted) {
			i++
		}
		text.WriteByte(quoted[i])
	}
	return text.String(), regexp.QuoteMeta(text.String()) == quoted
}
