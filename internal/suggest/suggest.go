// Package suggest finds the name that somebody who mistyped one meant.
package suggest

import (
	"slices"
	"strings"

	"github.com/xrash/smetrics"
)

// Nearest is the candidate that a word most likely stands for: the only one that
// begins with it, else the one with the fewest letters to add, drop or change, at most
// about a third of the word's; letters that changed places count as one. It is "" where none is near. Case does not matter.
func Nearest(word string, candidates []string) string {
	word = strings.ToLower(word)
	prefixed, count := "", 0
	best, least := "", (len(word)+2)/3+1
	for _, c := range candidates {
		lower := strings.ToLower(c)
		if len(word) > 1 && strings.HasPrefix(lower, word) {
			prefixed = c
			count++
		}
		n := smetrics.WagnerFischer(word, lower, 1, 1, 1)
		if n > 1 && len(word) > 2 && sorted(word) == sorted(lower) { // letters changed places
			n = 1
		}
		if n < least {
			best, least = c, n
		}
	}
	if count == 1 && least > 0 {
		return prefixed
	}
	return best
}

// sorted are the bytes of a word in order.
func sorted(word string) string {
	b := []byte(word)
	slices.Sort(b)
	return string(b)
}

// DidYouMean is the hint for a mistyped name: "did you mean NAME?", "" where none is near.
func DidYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}
