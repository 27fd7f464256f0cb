package filter

import (
	"math/bits"

	"logstow/filter/token"
)

// scanWords is how many words of a mask a scan takes at a time.
const scanWords = 64

// A scan finds the runs of a text that are long enough, word by word of its mask.
type scan struct {
	at    int  // where in the text the next word begins
	start int  // where the last run begins
	open  bool // the last run goes on
	edges edges
}

// next sets keys to those of the runs that end in the next words of the mask, at most scanWords, without those cached
// in recent, and returns their number. A run that ends before byte 8 of the text is left out. Nothing is called in the
// loops, so that their variables stay in registers.
func (s *scan) next(keys []Key, recent *[recentKeys]Key, text []byte, m mask) int {
	var words [scanWords]uint64
	s.edges.next(&words, m)
	found, at, start, open := 0, s.at, s.start, s.open
	for _, edges := range words[:len(m)] {
		for ; edges != 0; edges &= edges - 1 {
			end := at + bits.TrailingZeros64(edges)
			if open = !open; open {
				start = end - (token.MinIndexed - 1)
				continue
			}
			if end < 8 {
				continue
			}
			h := uint64(end - start)
			for ; end-start > 16; start += 16 {
				h = add(h, load(text, start), load(text, start+8))
			}
			a, b := lastPair(text, start, end)
			k := finish(add(h, a, b))
			if slot := &recent[k%recentKeys]; *slot != k {
				*slot = k
				keys[found] = k
				found++
			}
		}
		at += wordBytes
	}
	s.at, s.start, s.open = at, start, open
	return found
}

// edges has, of the last word of a mask, the bytes of runs, and those that are the second, fourth and sixth of one or
// behind.
type edges struct {
	ones, pairs, sixes uint64
}

// next finds where in the words of m runs have token.MinIndexed bytes, six, and where those that have end: each word of
// out has bits for both, in turns.
func (e *edges) next(out *[scanWords]uint64, m mask) {
	before := *e
	for i, ones := range m {
		pairs := ones & (ones<<1 | before.ones>>63)
		fours := pairs & (pairs<<2 | before.pairs>>62)
		sixes := fours & (pairs<<4 | before.pairs>>60)
		out[i%scanWords] = sixes ^ (sixes<<1 | before.sixes>>63)
		before = edges{ones, pairs, sixes}
	}
	*e = before
}
