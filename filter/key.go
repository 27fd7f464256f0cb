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

// keyAt is the key of text[start:end]. Sixteen bytes at a time are two numbers
// that are multiplied; of what is left the first eight bytes and the last, or all twice.
func keyAt(text []byte, start, end int) Key {
	h := uint64(end - start)
	for ; end-start > 16; start += 16 {
		h = mix(h^hashFirst^(load(text, start)|fold), hashSecond^(load(text, start+8)|fold))
	}
	if n := end - start; start+8 <= len(text) {
		return finish(h, load(text, start), load(text, max(start, end-8)), n)
	}
	first := uint64(0)
	for i := end - 1; i >= start; i-- {
		first = first<<8 | uint64(text[i])
	}
	return finish(h, first, first, end-start)
}

// finish is the key of a token whose hash before its last n bytes, 1 to 16, is h. Of these bytes, first
// has the first eight and last the last eight, or both all and others behind them.
func finish(h, first, last uint64, n int) Key {
	used := ^uint64(0) >> (uint(64-8*min(n, 8)) % 64) // the remainder is for the compiler
	return Key(max(mix(h^hashFirst^(first|fold)&used, hashSecond^(last|fold)&used)*hashLast>>32, 1))
}

// load is the eight bytes from at on.
func load(text []byte, at int) uint64 { return binary.LittleEndian.Uint64(text[at:]) }

// mix is the product of a and b, its halves laid over each other.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
