package suggest

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// minPart is the minimum length in bytes for which a name that is part of another counts as near.
const minPart = 3

// maxName is the maximum length in bytes of names that are compared; distances of longer ones are
// slow and mean little.
const maxName = 128

// Names returns the candidates nearest to name, the nearest first, at most most. They have a [distance] of at most a third
// of their letters, rounded, ignoring case, or contain name, or name contains them. Duplicates and name itself are omitted.
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
		if d, ok := nearDistance(lower, strings.ToLower(c)); ok {
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

// nearDistance is the distance of two names, if they are near each other.
func nearDistance(a, b string) (int, bool) {
	letters := max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	d := distance(a, b)
	similar := d < letters && d <= (letters+1)/3
	part := min(len(a), len(b)) >= minPart && (strings.Contains(a, b) || strings.Contains(b, a))
	return d, similar || part
}
