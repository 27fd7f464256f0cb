package filter

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// wordBytes is how many bytes of text a word of a mask describes.
const wordBytes = 64

// A mask has a bit for each byte of a text: does it belong to a run? The first
// byte's is the lowest of the first word. A word of zeros ends it.
type mask []uint64

// appendMask appends the mask of text to m, which is empty.
func appendMask(m mask, text []byte) mask {
	words := len(text) / wordBytes
	m = slices.Grow(m, words+2)[:words]
	maskWords(m, text)
	var last [wordBytes]byte
	copy(last[:], text[words*wordBytes:])
	return append(m, maskWord(&last), 0)
}

// clear takes the bytes from start to end out of the runs.
func (m mask) clear(start, end int) {
	if start >= end {
		return
	}
	first, last := start/wordBytes, (end-1)/wordBytes
	above := ^uint64(0) << (start % wordBytes)
	below := ^uint64(0) >> (wordBytes - 1 - (end-1)%wordBytes)
	if first == last {
		m[first] &^= above & below
		return
	}
	m[first] &^= above
	clear(m[first+1 : last])
	m[last] &^= below
}

// has reports whether a byte belongs to a run.
func (m mask) has(at int) bool { return m[at/wordBytes]>>(at%wordBytes)&1 != 0 }

// runEnd is where the run ends that goes on at a place.
func (m mask) runEnd(at int) int {
	w := at / wordBytes
	if n := bits.TrailingZeros64(^ahead(m[w], m[w+1], uint(at%wordBytes))); n < wordBytes {
		return at + n
	}
	for w++; m[w] == ^uint64(0); w++ {
	}
	return w*wordBytes + bits.TrailingZeros64(^m[w])
}

// ahead is cur, with the bits of next following, n places on.
func ahead(cur, next uint64, n uint) uint64 {
	n %= wordBytes // as it is; the compiler then needs no check of it
	return cur>>n | next<<1<<(wordBytes-1-n)
}

// long has a bit for each byte of a word with which token.MinIndexed bytes of runs
// begin, the word behind being counted as one run.
func long(word uint64) uint64 {
	short := ^word
	short |= short >> 1
	short |= short >> 2
	short |= short >> 2 // one of six bytes
	return ^short
}

// joints has a bit for each byte of a word that joins the first and the second of
// four short runs: single bytes follow each other at distances of two to four.
// There may be others where runs of the next word could be joined.
func joints(before, cur, next uint64) uint64 {
	joint := ^cur & (cur<<1 | before) & ahead(cur, next, 1)
	after := ^next & (next<<1 | cur>>(wordBytes-1))
	near := func(m uint64) uint64 { return ahead(m, after, 2) | ahead(m, after, 3) | ahead(m, after, 4) }
	return joint & near(joint&near(joint))
}

// maskWord is the mask of 64 bytes.
func maskWord(text *[wordBytes]byte) uint64 {
	return ^(nonRunBytes(text[0:]) | nonRunBytes(text[8:])<<8 | nonRunBytes(text[16:])<<16 | nonRunBytes(text[24:])<<24 |
		nonRunBytes(text[32:])<<32 | nonRunBytes(text[40:])<<40 | nonRunBytes(text[48:])<<48 | nonRunBytes(text[56:])<<56)
}

// nonRunBytes has a bit for each of the first eight bytes: is it no letter, no digit,
// not '_' and below 0x80, as token.IsByte says? The bytes are compared all at once:
// adding 0x80-c to the low seven bits sets the high bit where they are at least c.
func nonRunBytes(text []byte) uint64 {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	x := binary.LittleEndian.Uint64(text)
	low := x &^ high
	lower := low | fold
	noDigit := (low ^ '0'*ones) + (0x80-10)*ones
	letter := (lower + (0x80-'a')*ones) &^ (lower + (0x7f-'z')*ones)
	underscore := high - (low ^ '_'*ones)
	found := noDigit &^ (letter | underscore | x) & high
	// The product brings bit 8*i+7 to bit 56+i.
	return found >> 7 * 0x0102040810204080 >> 56
}
