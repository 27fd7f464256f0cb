package filter

import (
	"math/bits"

	"logstow/filter/token"
)

// scanWords is the number of words of a mask that a scan processes at a time.
const scanWords = 64

// A scan finds the runs of at least token.MinIndexed bytes in a text, word by word of its mask.
type scan struct {
	at    int  // offset in the text of the next word
	start int  // offset of the last run
	open  bool // the last run continues in the next word
	edges edges
}

// next stores the keys of the runs that end in the next words m of the mask, at most scanWords, without those cached in
// recent, and returns their number. keys must be long enough. A run that ends before byte 8 of the text is omitted. The
// loop calls nothing that is not inlined, so that its variables stay in registers.
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

// edges is the state of edge detection after a word of a mask: the bytes that belong to a run (ones), and those preceded
// by at least one (pairs) or five (sixes) bytes of the same run.
type edges struct {
	ones, pairs, sixes uint64
}

// next finds the edges of the runs of at least token.MinIndexed (six) bytes in the words of m. In out, each such run has
// two bits: one at its sixth byte and one at its end.
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
