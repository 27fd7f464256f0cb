// Package spill merges and sorts records that may not fit in memory, by means of sorted runs in temporary files. A record is a key and
// a payload.
//
// A [Merger] merges records of sorted cursors, to which more are added while records are taken. A [Sorter] sorts records by keys of bytes.
package spill

import (
	"bytes"
	"encoding/binary"
)

// Cursor reads records in the order of their keys.
type Cursor[K any] interface {
	// Next advances to the next record and returns its key, io.EOF at the end. The key is valid until the next call.
	Next() (K, error)
	// Payload returns the payload of the record, in memory of the cursor or in buffer, which grows as needed. A payload may be large,
	// so that a merge keeps only that of one record in memory. It must be called at most once for each record, and is valid until Next
	// or until buffer is used again.
	Payload(buffer *[]byte) ([]byte, error)
}

// Keys compares keys, and encodes them for runs.
type Keys[K any] interface {
	Compare(a, b K) int
	// Encode returns the encoding of a key; it may use the memory of buffer, and is valid until the next call.
	Encode(buffer []byte, key K) []byte
	// Decode decodes a key, which may refer to encoded. It is not ok if that is invalid.
	Decode(encoded []byte) (key K, ok bool)
}

// bytewise are keys of bytes, which are their own encoding.
type bytewise struct{}

func (bytewise) Compare(a, b []byte) int              { return bytes.Compare(a, b) }
func (bytewise) Encode(_, key []byte) []byte          { return key }
func (bytewise) Decode(encoded []byte) ([]byte, bool) { return encoded, true }

// Merge calls f with the records of cursors in the order of their keys. Equal keys come in the order of the cursors.
func Merge(cursors []Cursor[[]byte], f func(key, payload []byte) error) error {
	m, err := mergerOf(bytewise{}, cursors)
	if err != nil {
		return err
	}
	return m.Each(nil, func(key []byte, c Cursor[[]byte]) error {
		payload, err := m.Payload(c)
		if err != nil {
			return err
		}
		return f(key, payload)
	})
}

// timedSize is the length of a key of [EncodeTimed].
const timedSize = 16

// EncodeTimed appends a key of a time and two numbers; it is for [Keys].
func EncodeTimed(buffer []byte, time int64, a, b uint32) []byte {
	buffer = binary.BigEndian.AppendUint64(buffer, uint64(time))
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(buffer, a), b)
}

// DecodeTimed decodes a key that [EncodeTimed] encoded.
func DecodeTimed(encoded []byte) (time int64, a, b uint32, ok bool) {
	if len(encoded) != timedSize {
		return 0, 0, 0, false
	}
	return int64(binary.BigEndian.Uint64(encoded)), binary.BigEndian.Uint32(encoded[8:]), binary.BigEndian.Uint32(encoded[12:]), true
}

// AppendKeyText appends text of a key of bytes, with a terminator that sorts before any continuation.
func AppendKeyText(key, text []byte) []byte {
	for {
		zero := bytes.IndexByte(text, 0)
		if zero < 0 {
			return append(append(key, text...), 0, 1)
		}
		key = append(append(key, text[:zero]...), 0, 0xff)
		text = text[zero+1:]
	}
}

// Invert inverts a part of a key of bytes, so that keys sort in the opposite order of it.
func Invert(part []byte) {
	for i := range part {
		part[i] = ^part[i]
	}
}

// Numbers numbers values, so that keys can be encoded with numbers instead. The zero value has none.
type Numbers[T comparable] struct {
	all     []T
	numbers map[T]uint32
}

// Of returns the number of a value, which is added if it is new.
func (n *Numbers[T]) Of(value T) uint32 {
	number, ok := n.numbers[value]
	if !ok {
		if n.numbers == nil {
			n.numbers = map[T]uint32{}
		}
		number = uint32(len(n.all))
		n.numbers[value] = number
		n.all = append(n.all, value)
	}
	return number
}

// Value returns the value of a number; it is not ok if there is none.
func (n *Numbers[T]) Value(number uint32) (value T, ok bool) {
	if int64(number) >= int64(len(n.all)) {
		return value, false
	}
	return n.all[number], true
}
