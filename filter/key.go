package filter

import (
	"encoding/binary"
	"math/bits"
)

// Key stands for a token: 32 bits of a hash of it. It is never 0.
type Key uint32

// The numbers of the hash are odd and have about as many ones as zeros; they are
// part of the format.
const (
	hashFirst  = 0x9e3779b97f4a7c15
	hashSecond = 0xd6e8feb86659fd93
	hashLast   = 0xa0761d6478bd642f
	// fold makes ASCII letters lower case. What else it makes equal is found in vain
	// a little more often.
	fold = 0x2020202020202020
)

// KeyOf is the key of a token, which has at least one byte. Upper and lower
// case of ASCII letters have the same.
func KeyOf(token []byte) Key { return keyAt(token, 0, len(token)) }

// keyAt is the key of text[start:end].
func keyAt(text []byte, start, end int) Key {
	if end < 8 {
		var behind [16]byte
		end = 8 + copy(behind[8:], text[start:end])
		text, start = behind[:], 8
	}
	h := uint64(end - start)
	for ; end-start > 16; start += 16 {
		h = add(h, load(text, start), load(text, start+8))
	}
	a, b := lastPair(text, start, end)
	return finish(add(h, a, b))
}

// add is the hash of a token, h, after the next two numbers of it, a and b.
func add(h, a, b uint64) uint64 { return mix(h^hashFirst^a, hashSecond^b) }

// finish is the key of a token whose hash is h.
func finish(h uint64) Key { return Key(max(h*hashLast>>32, 1)) }

// lastPair is the two numbers of the last 1 to 16 bytes of a token, text[start:end]: the first eight of them and the
// last, or twice all. There are eight bytes before the end.
func lastPair(text []byte, start, end int) (a, b uint64) {
	b = load(text, end-8)
	if n := end - start; n < 8 {
		b >>= uint(64-8*n) % 64 // the remainder is for the compiler
		return b, b
	}
	return load(text, start), b
}

// load is the eight bytes from at on, their letters in lower case.
func load(text []byte, at int) uint64 {
	return binary.LittleEndian.Uint64(text[at:at+8:at+8]) | fold
}

// mix is the product of a and b, its halves laid over each other.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
