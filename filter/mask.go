package filter

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// wordBytes is the number of bytes of text that a word of a mask describes.
const wordBytes = 64

// A mask has a bit for each byte of a text, which is set if the byte belongs to a run. The bit of the first byte is the
// lowest of the first word. A word of zeros ends the mask.
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

// clear clears the bits of the bytes from start to end.
func (m mask) clear(start, end int) {
	for ; end-start > wordBytes; start += wordBytes { // rare
		m.clear(start, start+wordBytes)
	}
	if start >= end {
		return
	}
	first, shift := start/wordBytes, uint(start%wordBytes)
	bytes := ^uint64(0) >> (uint(wordBytes-(end-start)) % wordBytes) // % avoids a check of the shift
	m[first] &^= bytes << shift
	m[first+1] &^= bytes >> 1 >> (wordBytes - 1 - shift)
}

// has reports whether a byte belongs to a run.
func (m mask) has(at int) bool { return m[at/wordBytes]>>(at%wordBytes)&1 != 0 }

// runEnd returns the end of the run that contains the byte at a position.
func (m mask) runEnd(at int) int {
	w := at / wordBytes
	if n := bits.TrailingZeros64(^ahead(m[w], m[w+1], uint(at%wordBytes))); n < wordBytes {
		return at + n
	}
	for w++; m[w] == ^uint64(0); w++ {
	}
	return w*wordBytes + bits.TrailingZeros64(^m[w])
}

// ahead returns the 64 bits from bit n on of cur followed by next; n is below 64.
func ahead(cur, next uint64, n uint) uint64 {
	n %= wordBytes // avoids a check of the shift
	return cur>>n | next<<1<<(wordBytes-1-n)
}

// runEnds has a bit for each byte of a word that follows the last byte of a run; before is the preceding word.
func runEnds(before, cur uint64) uint64 { return ^cur & (cur<<1 | before>>(wordBytes-1)) }

// near has a bit for each byte of a word that is two to four bytes before a byte set in cur, or in the next word, next.
func near(cur, next uint64) uint64 {
	return (cur>>2 | cur>>3 | cur>>4) | (next<<(wordBytes-2) | next<<(wordBytes-3) | next<<(wordBytes-4))
}

// maskWord returns the mask of 64 bytes.
func maskWord(text *[wordBytes]byte) uint64 {
	return ^(nonRunBytes(text[0:]) | nonRunBytes(text[8:])<<8 | nonRunBytes(text[16:])<<16 | nonRunBytes(text[24:])<<24 |
		nonRunBytes(text[32:])<<32 | nonRunBytes(text[40:])<<40 | nonRunBytes(text[48:])<<48 | nonRunBytes(text[56:])<<56)
}

// nonRunBytes has a bit for each of the first eight bytes, which is set unless token.IsByte accepts the byte: it is
// neither letter nor digit nor '_', and below 0x80. All bytes are compared at once: adding 0x80-c to the low seven bits
// sets the high bit if they are at least c.
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
