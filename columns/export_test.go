package columns

import (
	"hash/maphash"

	"logstow/message"
)

// EncodePage is the page of the values of a block's records, in a named column if named is set; nil if they do not fit.
func EncodePage(values []message.Value, named bool) (page []byte, least, greatest string) {
	var c collector
	c.reset(named)
	seed := maphash.MakeSeed()
	for i := range values {
		c.add(&values[i], seed)
	}
	p, ok := c.page(new(encoder))
	if !ok {
		return nil, "", ""
	}
	return p.page, p.least, p.greatest
}

// AppendSeconds is appendSeconds.
func AppendSeconds(ticks []uint32) []byte { return new(encoder).appendSeconds(nil, ticks) }

// Kept is the length in bytes of the pages in memory.
func (b *Builder) Kept() (n int64) {
	for _, c := range b.all() {
		for _, p := range c.pages {
			n += int64(len(p.page))
		}
	}
	return n
}
