package aggregate

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"

	"logstow/exact"
	"logstow/internal/wire"
	"logstow/message"
)

// ValueKind is the type of a value of a result.
type ValueKind uint8

// The types of value.
const (
	// Missing is no value: a field that is missing or null, or a function of no values.
	Missing ValueKind = iota
	// Integer is a whole number of 64 bits, in Int.
	Integer
	// Float is a number that was rounded, in Float.
	Float
	// Decimal is an exact number that does not fit Integer, in Text as [Value.Append] writes it.
	Decimal
	// Bool is true or false, in Text.
	Bool
	// Text is text.
	Text
	// Time is the start of a time step in Unix nanoseconds, in Int.
	Time
)

// Value is a value of a result. It is valid until the next row.
type Value struct {
	Kind  ValueKind
	Int   int64
	Float float64
	Text  []byte
	// Approximate is set if the number comes from a sketch.
	Approximate bool
}

// Append appends the value as every output format writes it; nothing for Missing, Unix nanoseconds for Time. Floats are in the
// shortest form that parses to the same float64.
func (v Value) Append(dst []byte) []byte {
	switch v.Kind {
	case Integer, Time:
		return strconv.AppendInt(dst, v.Int, 10)
	case Float:
		return message.AppendFloat(dst, v.Float, 64)
	case Decimal, Bool, Text:
		return append(dst, v.Text...)
	}
	return dst
}

// Number returns the nearest float64; not ok if the value is not a number.
func (v Value) Number() (x float64, ok bool) {
	switch v.Kind {
	case Integer:
		return float64(v.Int), true
	case Float:
		return v.Float, true
	case Decimal:
		n, ok := exact.Parse(v.Text)
		return n.Float(), ok
	}
	return 0, false
}

// IsNumber reports whether the value is a number.
func (v Value) IsNumber() bool { return v.Kind == Integer || v.Kind == Float || v.Kind == Decimal }

func integerValue(n uint64) Value {
	if n > math.MaxInt64 {
		return Value{Kind: Decimal, Text: strconv.AppendUint(nil, n, 10)}
	}
	return Value{Kind: Integer, Int: int64(n)}
}

func numberValue(n exact.Number) Value {
	if i, ok := n.Int64(); ok {
		return Value{Kind: Integer, Int: i}
	}
	return Value{Kind: Decimal, Text: n.Append(nil)}
}

// sumValue returns the value of a sum: exact if it is an integer, otherwise rounded.
func sumValue(s *exact.Sum) Value {
	if i, ok := s.Int64(); ok {
		return Value{Kind: Integer, Int: i}
	}
	if n, ok := s.Integer(); ok {
		return Value{Kind: Decimal, Text: n.Append(nil, 10)}
	}
	return Value{Kind: Float, Float: s.Float()}
}

// keyValue returns the typed value of a key's text: text if a record had it as a string, otherwise a truth value, or a number if
// results write it the same way.
func keyValue(text []byte, isString bool) Value {
	switch {
	case text == nil:
		return Value{}
	case isString:
	case string(text) == "true" || string(text) == "false":
		return Value{Kind: Bool, Text: text}
	default:
		n, ok := exact.Parse(text)
		if !ok || !n.InRange() {
			break
		}
		var scratch [32]byte
		if v := numberValue(n); string(v.Append(scratch[:0])) == string(text) {
			return v
		}
	}
	return Value{Kind: Text, Text: text}
}

func floatValue(x float64) Value { return Value{Kind: Float, Float: x} }

// quotient returns a / b rounded, 0 if b is 0.
func quotient(a, b uint64) float64 {
	const exactFloat = 1 << 53
	switch {
	case b == 0:
		return 0
	case a <= exactFloat && b <= exactFloat:
		return float64(a) / float64(b)
	}
	return exact.Ratio(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
}

// perSecond returns n per second over a number of nanoseconds, 0 if that is not positive.
func perSecond(n uint64, nanoseconds int64) float64 {
	if nanoseconds <= 0 {
		return 0
	}
	a := new(big.Int).SetUint64(n)
	return exact.Ratio(a.Mul(a, big.NewInt(1e9)), big.NewInt(nanoseconds))
}

// appendValue encodes a value: kind with 0x80 if it is approximate (1 byte), then the number as 8
// bytes or the length (uvarint) and the text.
func appendValue(dst []byte, v Value) []byte {
	kind := byte(v.Kind)
	if v.Approximate {
		kind |= approximateBit
	}
	dst = append(dst, kind)
	switch v.Kind {
	case Integer, Time:
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.Int))
	case Float:
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float))
	case Decimal, Bool, Text:
		dst = binary.AppendUvarint(dst, uint64(len(v.Text)))
		dst = append(dst, v.Text...)
	}
	return dst
}

const approximateBit = 0x80

// readValue decodes a value.
func readValue(r *wire.Reader) (v Value) {
	kind := r.Byte()
	v.Kind, v.Approximate = ValueKind(kind&^approximateBit), kind&approximateBit != 0
	switch v.Kind {
	case Missing:
	case Integer, Time:
		v.Int = int64(r.Uint64())
	case Float:
		v.Float = math.Float64frombits(r.Uint64())
	case Decimal, Bool, Text:
		v.Text = r.Text()
	default:
		r.Fail()
	}
	return v
}
