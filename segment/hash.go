package segment

import (
	"crypto/sha256"
	"encoding/hex"
)

// Hash is the first half of a SHA-256 of stored bytes. The footer has the hash of each part before it, and the segment's
// Batch is the hash of the encoded footer, so the Batch certifies the whole content.
type Hash [16]byte

// HashOf returns the hash of stored bytes.
func HashOf(stored []byte) Hash {
	sum := sha256.Sum256(stored)
	return Hash(sum[:])
}

// String returns 32 lower-case hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }
