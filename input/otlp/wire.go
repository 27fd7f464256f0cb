package otlp

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"logstow/input/httpserver"
)

// field is one field of an encoded protobuf message. Requests are parsed field by field, without
// unmarshalling them: a few bytes sent must not become hundreds in memory.
type field struct {
	number protowire.Number
	kind   protowire.Type
	// bytes is the value of kind protowire.BytesType, number that of the others.
	bytes []byte
	value uint64
}

// next reads the first field of b, which must not be empty.
func next(b []byte) (field, []byte, error) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return field{}, nil, malformed(n)
	}
	b = b[n:]
	f := field{number: number, kind: kind}
	switch kind {
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(b)
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		f.value, n = protowire.ConsumeFixed64(b)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		f.value = uint64(v)
	default:
		n = protowire.ConsumeFieldValue(number, kind, b)
	}
	if n < 0 {
		return field{}, nil, malformed(n)
	}
	return f, b[n:], nil
}

// is reports whether f is the field of this number and kind; others are skipped, like fields of
// later versions of the protocol.
func (f field) is(number protowire.Number, kind protowire.Type) bool {
	return f.number == number && f.kind == kind
}

// each calls do with every field of a message.
func each(message []byte, do func(field) error) error {
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return err
		}
		if err := do(f); err != nil {
			return err
		}
		message = rest
	}
	return nil
}

func malformed(n int) error {
	return fmt.Errorf("%w: malformed protobuf: %w", httpserver.ErrBody, protowire.ParseError(n))
}
