package patterns

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// absorb merges drafts, which have the same number of words, into more general ones: those with the same words and more
// variable ones. It prefers the most general.
func absorb(drafts []*draft) {
	drafts = slices.DeleteFunc(drafts, func(d *draft) bool { return d.into != nil })
	// The sets of variable words, those with many words first.
	var wilds []uint64
	known := map[wilder]*draft{}
	for _, d := range drafts {
		if d.wild == 0 {
			continue
		}
		if !slices.Contains(wilds, d.wild) {
			wilds = append(wilds, d.wild)
		}
		known[d.without(d.wild)] = d
	}
	slices.SortFunc(wilds, func(a, b uint64) int {
		return cmp.Or(bits.OnesCount64(b)-bits.OnesCount64(a), cmp.Compare(a, b))
	})
	// What absorbs another is absorbed later.
	slices.SortStableFunc(drafts, func(a, b *draft) int { return bits.OnesCount64(a.wild) - bits.OnesCount64(b.wild) })
	for _, d := range drafts {
		for _, wild := range wilds {
			if bits.OnesCount64(wild) <= bits.OnesCount64(d.wild) {
				break
			}
			if to := known[d.without(wild)]; to != nil && to.covers(d) {
				to.tally.merge(d.tally)
				d.into = to
				break
			}
		}
	}
}

// wilder identifies drafts that are equal except for words at some positions.
type wilder struct{ wild, others uint64 }

// without identifies a draft but for its words at the positions wild.
func (d *draft) without(wild uint64) wilder {
	others := d.sum
	for rest := wild; rest != 0; rest &= rest - 1 {
		others -= d.hashes[bits.TrailingZeros64(rest)]
	}
	return wilder{wild, others}
}

// covers reports whether a draft has a wildcard, or the same word, at each word of another.
func (d *draft) covers(o *draft) bool {
	for rest := d.wild; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		prefix, suffix, _ := strings.Cut(d.words[i], Wildcard)
		if word := o.words[i]; len(word) < len(prefix)+len(suffix) || !strings.HasPrefix(word, prefix) || !strings.HasSuffix(word, suffix) {
			return false
		}
	}
	return true
}
