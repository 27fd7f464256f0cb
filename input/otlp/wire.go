package otlp

import (
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"logstow/input/httpserver"
)

// The kinds of fields that a tag has in its last bits.
const (
	varint  = uint64(protowire.VarintType)
	fixed64 = uint64(protowire.Fixed64Type)
	fixed32 = uint64(protowire.Fixed32Type)
	text    = uint64(protowire.BytesType)
)

// fields reads the fields of an encoded protobuf message one by one. Requests are not unmarshalled: a few bytes sent must not become
// hundreds in memory. Fields of another kind than expected are skipped, like those of later versions of the protocol.
type fields struct {
	rest []byte
	// tag is the number of the current field, shifted by three bits, and its kind.
	tag uint64
	// bytes is the value of kind text, number that of the others.
	bytes  []byte
	number uint64
	err    error
}

// next reads a field. It returns false at the end, and after an error, which is err.
func (f *fields) next() bool {
	b := f.rest
	if len(b) == 0 {
		return false
	}
	if c := b[0]; c >= 1<<3 && c < 1<<7 {
		f.tag, b = uint64(c), b[1:]
	} else {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return f.fail(protowire.ParseError(n))
		}
		f.tag, b = protowire.EncodeTag(number, kind), b[n:]
	}
	n := 0
	switch f.tag & 7 {
	case text:
		size := uint64(0)
		if size, n = consumeVarint(b); n < 0 {
			break
		}
		if b = b[n:]; size > uint64(len(b)) {
			return f.fail(io.ErrUnexpectedEOF)
		}
		f.bytes, n = b[:size:size], int(size)
	case varint:
		f.number, n = consumeVarint(b)
	case fixed64:
		f.number, n = protowire.ConsumeFixed64(b)
	case fixed32:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		f.number = uint64(v)
	default:
		number, kind := protowire.DecodeTag(f.tag)
		n = protowire.ConsumeFieldValue(number, kind, b)
	}
	if n < 0 {
		return f.fail(protowire.ParseError(n))
	}
	f.rest = b[n:]
	return true
}

// consumeVarint is [protowire.ConsumeVarint]; most numbers have one byte.
func consumeVarint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 1<<7 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
}

func (f *fields) fail(err error) bool {
	f.rest, f.err = nil, fmt.Errorf("%w: malformed protobuf: %w", httpserver.ErrBody, err)
	return false
}
