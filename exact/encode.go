package exact

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ErrEncoding is the error of bytes that do not encode a number or a sum.
var ErrEncoding = errors.New("invalid encoding of a number")

// The first byte of an encoded number is its exponent plus expBias, or wideMark if it is not of the short form.
const (
	wideMark = 0xff
	expBias  = 100
)

// Encode appends the number in a form that Decode reads:
//
//	short   exponent + 100 (1 byte, 0 to 254) | coefficient (varint)
//	other   0xff | exponent (varint) | length (uvarint) | sign of a negative number and digits
//
// The other form is for coefficients that do not fit 64 bits, and for exponents that do not fit one byte.
func (n Number) Encode(dst []byte) []byte {
	if exp := int(n.exp) + expBias; n.digits == "" && exp >= 0 && exp < wideMark {
		dst = append(dst, byte(exp))
		return binary.AppendVarint(dst, n.coef)
	}
	var scratch [24]byte
	text := n.whole(scratch[:0])
	dst = binary.AppendVarint(append(dst, wideMark), int64(n.exp))
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

// Decode reads a number at the start of src, and returns the rest.
func Decode(src []byte) (n Number, rest []byte, err error) {
	if len(src) == 0 {
		return Number{}, nil, ErrEncoding
	}
	first := src[0]
	value, width := binary.Varint(src[1:])
	if width <= 0 {
		return Number{}, nil, ErrEncoding
	}
	rest = src[1+width:]
	if first != wideMark {
		return Number{coef: value, exp: int32(first) - expBias}, rest, nil
	}
	length, width := binary.Uvarint(rest)
	if width <= 0 || length > uint64(len(rest)-width) || value < -MaxFraction || value > MaxPoint {
		return Number{}, nil, ErrEncoding
	}
	text, rest := rest[width:][:length], rest[width:][length:]
	if n = normal(text, value); !n.InRange() || bytes.ContainsAny(text, ".eE") || !IsNumber(text) {
		return Number{}, nil, ErrEncoding
	}
	return n, rest, nil
}
