// Package nearest finds the names that a mistyped one was probably meant to be.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// minPart is the length in bytes from which on a name that is part of another counts as near.
const minPart = 3

// maxName is the length in bytes of the longest name that is compared; distances
// of longer ones take long and mean little.
const maxName = 128

// Names are the candidates nearest to name, the nearest first, no more than most: those that
// differ by at most a third of their letters, rounded (inserted, missing, replaced or
// exchanged with the next one; case does not count), and those of which name is a
// part, or that are part of it. Each is returned once; name itself is none.
func Names(name string, candidates []string, most int) []string {
	type near struct {
		name             string
		distance, length int // length is the difference in length
	}
	var found []near
	lower := strings.ToLower(name)
	for _, c := range candidates {
		if c == name || len(c) > maxName || len(name) > maxName {
			continue
		}
		if d, ok := distance(lower, strings.ToLower(c)); ok {
			found = append(found, near{c, d, max(len(c)-len(name), len(name)-len(c))})
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.length, b.length), strings.Compare(a.name, b.name))
	})
	var names []string
	for _, f := range found {
		if len(names) == most {
			break
		}
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	return names
}

// distance is how far two names are apart, if they are near each other.
func distance(a, b string) (int, bool) {
	x, y := []rune(a), []rune(b)
	most := (max(len(x), len(y)) + 1) / 3
	d := edits(x, y)
	if d < max(len(x), len(y)) && d <= most {
		return d, true
	}
	if min(len(a), len(b)) >= minPart && (strings.Contains(a, b) || strings.Contains(b, a)) {
		return d, true
	}
	return 0, false
}

// edits is the number of letters inserted, removed, replaced or exchanged with their
// neighbour that make a into b, where no letter is changed twice.
func edits(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
