package exact

import (
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
//	other   0xff | exponent (varint) | sign (1 byte: 0 or 1) | number of digits (uvarint) | digits
//
// The other form is for coefficients that do not fit 64 bits, and for exponents that do not fit one byte.
func (n Number) Encode(dst []byte) []byte {
	if exp := int(n.exp) + expBias; n.digits == nil && exp >= 0 && exp < wideMark {
		dst = append(dst, byte(exp))
		return binary.AppendVarint(dst, n.coef)
	}
	var scratch [24]byte
	text, exp := n.whole(scratch[:0])
	negative := byte(0)
	if text[0] == '-' {
		negative, text = 1, text[1:]
	}
	dst = binary.AppendVarint(append(dst, wideMark), int64(exp))
	dst = binary.AppendUvarint(append(dst, negative), uint64(len(text)))
	return append(dst, text...)
}

// Decode reads a number at the start of src, and returns the rest. The number refers to src.
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
	if len(rest) < 2 || rest[0] > 1 || value < -MaxFraction || value > MaxPoint {
		return Number{}, nil, ErrEncoding
	}
	negative := rest[0] == 1
	length, width := binary.Uvarint(rest[1:])
	if width <= 0 || length > uint64(len(rest)-1-width) {
		return Number{}, nil, ErrEncoding
	}
	rest = rest[1+width:]
	digits := rest[:length]
	for _, c := range digits {
		if c < '0' || c > '9' {
			return Number{}, nil, ErrEncoding
		}
	}
	n, ok := normal(negative, digits, value)
	if !ok {
		return Number{}, nil, ErrEncoding
	}
	return n, rest[length:], nil
}
