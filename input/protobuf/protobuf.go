// Package protobuf reads the protobuf messages in requests of the inputs over HTTP.
package protobuf

import (
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"logstow/input/httpserver"
)

// The kinds of fields that a tag of [Fields] has in its last bits.
const (
	Varint  = uint64(protowire.VarintType)
	Fixed64 = uint64(protowire.Fixed64Type)
	Fixed32 = uint64(protowire.Fixed32Type)
	Text    = uint64(protowire.BytesType)
)

// Fields reads the fields of an encoded protobuf message one by one. Requests are not unmarshalled: a few bytes sent must not become
// hundreds in memory. Fields of another kind than expected are skipped, like those of later versions of the protocol.
type Fields struct {
	// Rest are the bytes that were not read.
	Rest []byte
	// Tag is the number of the current field, shifted by three bits, and its kind.
	Tag uint64
	// Bytes is the value of kind Text, Number that of the others.
	Bytes  []byte
	Number uint64
	// Err wraps [httpserver.ErrBody].
	Err error
}

// Next reads a field. It returns false at the end, and after an error, which is Err.
func (f *Fields) Next() bool {
	b := f.Rest
	if len(b) == 0 {
		return false
	}
	if c := b[0]; c >= 1<<3 && c < 1<<7 {
		f.Tag, b = uint64(c), b[1:]
	} else {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return f.fail(protowire.ParseError(n))
		}
		f.Tag, b = protowire.EncodeTag(number, kind), b[n:]
	}
	n := 0
	switch f.Tag & 7 {
	case Text:
		size := uint64(0)
		if size, n = consumeVarint(b); n < 0 {
			break
		}
		if b = b[n:]; size > uint64(len(b)) {
			return f.fail(io.ErrUnexpectedEOF)
		}
		f.Bytes, n = b[:size:size], int(size)
	case Varint:
		f.Number, n = consumeVarint(b)
	case Fixed64:
		f.Number, n = protowire.ConsumeFixed64(b)
	case Fixed32:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		f.Number = uint64(v)
	default:
		number, kind := protowire.DecodeTag(f.Tag)
		n = protowire.ConsumeFieldValue(number, kind, b)
	}
	if n < 0 {
		return f.fail(protowire.ParseError(n))
	}
	f.Rest = b[n:]
	return true
}

// consumeVarint is [protowire.ConsumeVarint]; most numbers have one byte.
func consumeVarint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 1<<7 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
}

func (f *Fields) fail(err error) bool {
	f.Rest, f.Err = nil, fmt.Errorf("%w: malformed protobuf: %w", httpserver.ErrBody, err)
	return false
}

// Pair returns the fields 1 and 2 of a message, which are of kind [Text], such as a name and its value.
func Pair(message []byte) (name, value []byte, err error) {
	in := Fields{Rest: message}
	for in.Next() {
		switch in.Tag {
		case 1<<3 | Text:
			name = in.Bytes
		case 2<<3 | Text:
			value = in.Bytes
		}
	}
	return name, value, in.Err
}
