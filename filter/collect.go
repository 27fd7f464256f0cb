package filter

import (
	"bytes"
	"iter"
	"math/bits"
	"slices"

	"logstow/filter/token"
)

const (
	// recentKeys is how many recently collected keys a Collector caches: each word of every line
	// costs one comparison.
	recentKeys = 1 << 12
	// MaxKeys is the number of distinct keys in a block's Set; a block with more is always
	// searched.
	MaxKeys = 1 << 16
)

// A Set is the tokens of one block.
type Set struct {
	keys []Key // ascending, each once
	// anyToken says that the block may contain any token.
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

// Collect returns the tokens of text, messages as stored or as logged. hidden are the parts of
// text, by start and end, that are not messages.
func (c *Collector) Collect(text []byte, hidden iter.Seq2[int, int]) Set {
	c.mask = appendMask(c.mask[:0], text)
	for start, end := range hidden {
		c.mask.clear(start, end)
	}
	c.runs(text)
	c.addresses(text)
	c.escapes(text)
	return c.take()
}

// runs collects the runs that are long enough.
func (c *Collector) runs(text []byte) {
	if at := bits.TrailingZeros64(c.mask[0]); at < wordBytes {
		c.run(text, at) // the scan may leave it out
	}
	// most is how many runs can end in scanWords words.
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

// addresses collects the addresses, except those behind escapes. Four short runs are joined by three single bytes; these
// and the byte behind the last run follow each other at distances of two to four.
func (c *Collector) addresses(text []byte) {
	ends := runEnds(0, c.mask[0])
	for i, cur := range c.mask[:len(c.mask)-1] {
		next := c.mask[i+1]
		ahead := runEnds(cur, next) // those that joined runs would have are among them
		joints := ends & (cur>>1 | next<<(wordBytes-1))
		s := joints & near(ends, ahead) // between the third and the fourth run
		s = joints & near(s, ahead)
		s = joints & near(s, ahead)
		for ; s != 0; s &= s - 1 {
			if at := i*wordBytes + bits.TrailingZeros64(s); text[at] == '.' || text[at] == ':' {
				c.joined(text, at)
			}
		}
		ends = ahead
	}
}

// escapes collects the tokens that remain when escapes are removed from a run's beginning. If an
// escape stands for a byte of a run, the block may contain any token: fields are compared
// unescaped.
func (c *Collector) escapes(text []byte) {
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], '\\')
		if i < 0 {
			return
		}
		from += i + 1
		c.anyToken = c.anyToken || token.EscapesByte(text, from) && c.mask.has(from)
		for at := range token.EscapeEnds(text, from) {
			if !c.mask.has(at) {
				continue
			}
			c.run(text, at)
			c.address(text, at)
		}
	}
}

// run collects the rest of a run from a position, if it is long enough.
func (c *Collector) run(text []byte, at int) {
	if end := c.mask.runEnd(at); end-at >= token.MinIndexed {
		c.put(keyAt(text, at, end))
	}
}

// joined collects the address whose first two runs are joined at a position, if there is one.
func (c *Collector) joined(text []byte, at int) {
	const colons = len(":00:00") // from the first to the third colon; times have two
	if text[at] == ':' && (at+colons >= len(text) || text[at+colons] != ':') {
		return
	}
	start := at
	for start > 0 && at-start <= 3 && c.mask.has(start-1) {
		start--
	}
	c.address(text, start)
}

// address collects the address that starts at a position, if one does.
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
