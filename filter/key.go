package filter

import (
	"encoding/binary"
	"math/bits"
)

// Key is a 32-bit hash of a token. It is never 0.
type Key uint32

// The multipliers of the hash are odd and have about as many ones as zeros. They are part of the format.
const (
	hashFirst  = 0x9e3779b97f4a7c15
	hashSecond = 0xd6e8feb86659fd93
	hashLast   = 0xa0761d6478bd642f
	// fold makes ASCII letters lower case. It also makes other bytes equal, which adds a few false positives.
	fold = 0x2020202020202020
)

// KeyOf returns the key of a token of at least one byte. It ignores the case of ASCII letters.
func KeyOf(token []byte) Key { return keyAt(token, 0, len(token)) }

// keyAt returns the key of text[start:end].
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

// add adds the next 16 bytes of a token, as two numbers, to its hash h.
func add(h, a, b uint64) uint64 { return mix(h^hashFirst^a, hashSecond^b) }

// finish returns the key of a token with hash h.
func finish(h uint64) Key { return Key(max(h*hashLast>>32, 1)) }

// lastPair returns the last 1 to 16 bytes of a token, text[start:end], as two numbers: the first eight of them and the
// last eight, or all of them twice if they are fewer than eight. end must be at least 8.
func lastPair(text []byte, start, end int) (a, b uint64) {
	b = load(text, end-8)
	if n := end - start; n < 8 {
		b >>= uint(64-8*n) % 64 // % 64 avoids a check of the shift
		return b, b
	}
	return load(text, start), b
}

// load returns the eight bytes at an offset, with letters in lower case.
func load(text []byte, at int) uint64 {
	return binary.LittleEndian.Uint64(text[at:at+8:at+8]) | fold
}

// mix returns the exclusive or of the two halves of the 128-bit product of a and b.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
