package filter

import (
	"bytes"
	"iter"
	"math/bits"
	"slices"

	"logstow/filter/token"
	"logstow/internal/ansi"
)

const (
	// recentKeys is the size of a Collector's cache of recent keys: a word that every line repeats then costs one
	// comparison.
	recentKeys = 1 << 12
	// MaxKeys is the maximum number of distinct keys in a Set; a block with more is always searched.
	MaxKeys = 1 << 16
)

// A Set is the set of indexed tokens of one block.
type Set struct {
	keys []Key // ascending, distinct
	// anyToken is set if the block may contain any token.
	anyToken bool
}

// Len is the number of keys in the set.
func (s Set) Len() int { return len(s.keys) }

// A Collector collects the indexed tokens of blocks; the zero value is ready to use. It holds 16
// KiB, an eighth of the largest text and up to 1 MiB for keys. Not safe for concurrent use.
type Collector struct {
	mask   mask
	recent [recentKeys]Key
	keys   []Key
	spare  []Key
	// limit is the length of keys at which duplicates are removed.
	limit    int
	anyToken bool
}

// Collect returns the indexed tokens of the messages in text, which may be stored or raw. hidden yields start and end of
// the parts of text that are not messages.
func (c *Collector) Collect(text []byte, hidden iter.Seq2[int, int]) Set {
	c.mask = appendMask(c.mask[:0], text)
	for start, end := range hidden {
		c.mask.clear(start, end)
	}
	c.runs(text)
	c.addresses(text)
	c.escapes(text, '\\')
	c.escapes(text, ansi.Escape)
	return c.take()
}

// runs collects the runs of at least token.MinIndexed bytes.
func (c *Collector) runs(text []byte) {
	if at := bits.TrailingZeros64(c.mask[0]); at < wordBytes {
		c.run(text, at) // scan.next omits a run that ends before byte 8
	}
	// most is the maximum number of runs that can end in scanWords words.
	const most = (scanWords*wordBytes + token.MinIndexed) / (token.MinIndexed + 1)
	var s scan
	for m := c.mask; len(m) > 0; m = m[min(scanWords, len(m)):] {
		c.keys = slices.Grow(c.keys, most)
		n := s.next(c.keys[len(c.keys):cap(c.keys)], &c.recent, text, m[:min(scanWords, len(m))])
		if c.keys = c.keys[:len(c.keys)+n]; len(c.keys) >= c.limit {
			c.compact()
		}
	}
}

// addresses collects the addresses, except those after an escape. An address starts with four runs of one to three bytes,
// joined by single bytes: the three joints and the end of the fourth run are two to four bytes apart.
func (c *Collector) addresses(text []byte) {
	ends := runEnds(0, c.mask[0])
	for i, cur := range c.mask[:len(c.mask)-1] {
		next := c.mask[i+1]
		nextEnds := runEnds(cur, next) // a superset of the joints in the next word
		joints := ends & (cur>>1 | next<<(wordBytes-1))
		s := joints & near(ends, nextEnds) // candidates for the joint of the third and the fourth run
		s = joints & near(s, nextEnds)     // of the second and the third
		s = joints & near(s, nextEnds)     // of the first and the second
		for ; s != 0; s &= s - 1 {
			if at := i*wordBytes + bits.TrailingZeros64(s); text[at] == '.' || text[at] == ':' {
				c.joined(text, at)
			}
		}
		ends = nextEnds
	}
}

// escapes collects the tokens that remain after removing an escape, which begins with a byte, from the start of a run. If an escape
// stands for a byte of a run, the block may contain any token, because fields are compared unescaped.
func (c *Collector) escapes(text []byte, begin byte) {
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], begin)
		if i < 0 {
			return
		}
		from += i + 1
		c.anyToken = c.anyToken || begin == '\\' && token.EscapesByte(text, from) && c.mask.has(from)
		for at := range token.EscapeEnds(text, from) {
			if !c.mask.has(at) {
				continue
			}
			c.run(text, at)
			c.address(text, at)
		}
	}
}

// run collects the run from a position to its end, if it has at least token.MinIndexed bytes.
func (c *Collector) run(text []byte, at int) {
	if end := c.mask.runEnd(at); end-at >= token.MinIndexed {
		c.put(keyAt(text, at, end))
	}
}

// joined collects the address whose first two runs are joined at a position, if there is one.
func (c *Collector) joined(text []byte, at int) {
	const colons = len(":00:00") // from the first to the third colon, which times do not have
	if text[at] == ':' && (at+colons >= len(text) || text[at+colons] != ':') {
		return
	}
	start := at
	for start > 0 && at-start <= 3 && c.mask.has(start-1) {
		start--
	}
	c.address(text, start)
}

// address collects the address that starts at a position, if there is one.
func (c *Collector) address(text []byte, at int) {
	if n := token.Address(text[at:]); n > 0 {
		c.put(keyAt(text, at, at+n))
	}
}

// put adds a key, unless it is cached.
func (c *Collector) put(k Key) {
	slot := &c.recent[k%recentKeys]
	if *slot == k {
		return
	}
	*slot = k
	if len(c.keys) >= c.limit {
		c.compact()
	}
	c.keys = append(c.keys, k)
}

// compact sorts the keys and removes repeated ones.
func (c *Collector) compact() {
	c.keys, c.spare = sortKeys(c.keys, c.spare)
	c.keys = slices.Compact(c.keys)
	if len(c.keys) > MaxKeys {
		c.keys, c.anyToken = c.keys[:0], true
	}
	c.limit = max(MaxKeys/2, 2*len(c.keys))
}

// take returns the collected keys and starts over.
func (c *Collector) take() Set {
	c.compact()
	s := Set{keys: slices.Clone(c.keys), anyToken: c.anyToken}
	if c.anyToken {
		s.keys = nil
	}
	c.recent = [recentKeys]Key{}
	c.keys, c.anyToken = c.keys[:0], false
	return s
}
