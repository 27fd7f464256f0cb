// Package suggest finds the names that a user who mistyped one probably meant.
package suggest

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the candidate that a word most likely means: the only one that begins with it, otherwise the one with the
// least [distance], at most about a third of the word's letters. It is "" if none is near. It ignores case.
func Nearest(word string, candidates []string) string {
	word = strings.ToLower(word)
	prefixed, count := "", 0
	best, least := "", (utf8.RuneCountInString(word)+2)/3+1
	for _, c := range candidates {
		lower := strings.ToLower(c)
		if len(word) > 1 && strings.HasPrefix(lower, word) {
			prefixed = c
			count++
		}
		if d := distance(word, lower); d < least {
			best, least = c, d
		}
	}
	if count == 1 && least > 0 {
		return prefixed
	}
	return best
}

// DidYouMean is the hint for a mistyped name: "did you mean NAME?", "" if none is near.
func DidYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}
