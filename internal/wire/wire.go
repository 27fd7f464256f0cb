// Package wire reads encoded numbers and texts.
package wire

import "encoding/binary"

// Reader decodes bytes. Its first failure is sticky: Bad stays set, Rest is empty, and further reads return zero.
type Reader struct {
	// Rest are the bytes that were not read.
	Rest []byte
	// Bad is set if bytes are missing or malformed.
	Bad bool
}

// Fail makes r fail.
func (r *Reader) Fail() { r.Rest, r.Bad = nil, true }

// Bytes reads n bytes, without copying them.
func (r *Reader) Bytes(n uint64) []byte {
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return nil
	}
	b := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return b
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if b := r.Bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// Uint64 reads a number of eight bytes, the least significant one first.
func (r *Reader) Uint64() uint64 {
	if b := r.Bytes(8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uvarint reads a number as [binary.AppendUvarint] writes it. Another encoding than the shortest is malformed.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.Rest)
	return v & uint64(r.skip(n))
}

// Varint is Uvarint for [binary.AppendVarint].
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.Rest)
	return v & r.skip(n)
}

// skip skips a varint of n bytes. It returns a mask for its value: 0 if the varint is missing or not the shortest
// encoding, otherwise -1.
func (r *Reader) skip(n int) int64 {
	if n <= 0 || n > 1 && r.Rest[n-1] == 0 {
		r.Fail()
		return 0
	}
	r.Rest = r.Rest[n:]
	return -1
}

// Text reads a length, by Uvarint, and that many bytes, without copying them.
func (r *Reader) Text() []byte { return r.Bytes(r.Uvarint()) }
