package suggest

import "slices"

// distance returns the number of letters inserted, removed, replaced or swapped with their neighbour that turn a into b,
// changing no letter twice. If b has the same letters as a, three or more, in another order, it is at most 1.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	d := edits(x, y)
	if d <= 1 || len(x) != len(y) || len(x) < minReordered {
		return d
	}
	slices.Sort(x)
	slices.Sort(y)
	if slices.Equal(x, y) {
		return 1
	}
	return d
}

// minReordered is the minimum number of letters for which reordering counts as one edit.
const minReordered = 3

// edits is the distance without reordering.
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
