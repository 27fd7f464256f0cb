package suggest

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// minPart is the length in bytes from which on a name that is part of another counts as near.
const minPart = 3

// maxName is the length in bytes of the longest name that is compared; distances
// of longer ones take long and mean little.
const maxName = 128

// Names are the candidates nearest to name, the nearest first, no more than most: those at
// a [distance] of at most a third of their letters, rounded, where case does not
// count, and those of which name is a part, or that are part of it. Each is returned
// once; name itself is none.
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

// nearDistance is how far two names are apart, if they are near each other.
func nearDistance(a, b string) (int, bool) {
	letters := max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	d := distance(a, b)
	similar := d < letters && d <= (letters+1)/3
	part := min(len(a), len(b)) >= minPart && (strings.Contains(a, b) || strings.Contains(b, a))
	return d, similar || part
}
