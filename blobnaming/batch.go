package blobnaming

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Batch identifies a sealed segment by 128 random bits.
type Batch [16]byte

// NewBatch reads a batch id from random, which is [crypto/rand.Reader] outside tests.
func NewBatch(random io.Reader) (Batch, error) {
	var b Batch
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return Batch{}, fmt.Errorf("draw a batch id: %w", err)
	}
	return b, nil
}

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
