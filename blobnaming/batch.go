package blobnaming

import (
	"encoding/hex"
	"errors"
)

// Batch identifies a sealed segment: it is the first half of a SHA-256 of the encoded footer, which has hashes of everything
// before it.
type Batch [16]byte

// String is the id as 32 lower-case hexadecimal digits.
func (b Batch) String() string {
	return hex.EncodeToString(b[:])
}

// ParseBatch reads what [Batch.String] wrote; anything else is an error.
func ParseBatch(s string) (Batch, error) {
	var b Batch
	if len(s) == hex.EncodedLen(len(b)) {
		if _, err := hex.Decode(b[:], []byte(s)); err == nil && b.String() == s {
			return b, nil
		}
	}
	return Batch{}, errors.New("not 32 lower-case hexadecimal digits")
}
