package aggregate

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"logstow/spill"
)

// Sort keys are bytes that compare as rows do. A component is 0 and a value, or 1 if it is missing,
// which sorts last; the bytes of a value are inverted to sort descending.

// appendOrdered appends the component of a value. Numbers sort before text.
func appendOrdered(dst []byte, v Value, descending bool) []byte {
	if v.Kind == Missing {
		return append(dst, 1)
	}
	dst = append(dst, 0)
	start := len(dst)
	switch v.Kind {
	case Time:
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.Int)^1<<63)
	case Bool, Text:
		dst = spill.AppendKeyText(append(dst, 1), v.Text)
	default:
		var scratch [64]byte
		dst = appendNumber(append(dst, 0), v.Append(scratch[:0]))
	}
	if descending {
		spill.Invert(dst[start:])
	}
	return dst
}

// pointBias makes the exponent of every number positive.
const pointBias = 10_000

// appendNumber appends a decimal number: its sign (0, 1 for zero, 2), then the exponent and the digits of
// 0.digits·10^exponent, inverted if it is negative.
func appendNumber(dst, text []byte) []byte {
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	point := 0
	if e := bytes.IndexByte(text, 'e'); e >= 0 {
		point, _ = strconv.Atoi(string(text[e+1:])) // [Value.Append] wrote it
		text = text[:e]
	}
	integer, fraction, _ := bytes.Cut(text, []byte("."))
	digits := append(append(make([]byte, 0, 64), integer...), fraction...)
	significant := bytes.TrimLeft(digits, "0")
	point += len(integer) - (len(digits) - len(significant))
	significant = bytes.TrimRight(significant, "0")
	if len(significant) == 0 {
		return append(dst, 1)
	}
	sign := byte(2)
	if negative {
		sign = 0
	}
	dst = append(dst, sign)
	start := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, uint16(point+pointBias))
	dst = append(append(dst, significant...), 0)
	if negative {
		spill.Invert(dst[start:])
	}
	return dst
}

// appendSortKey appends the sort key of a row: the items of --sort, then the step, then the first function descending, then the
// keys bytewise. It omits the step if r has none.
func (p *plan) appendSortKey(dst []byte, r *rowKey, functions []Value) []byte {
	for _, o := range p.Sort {
		switch {
		case o.Function >= 0:
			dst = appendOrdered(dst, functions[o.Function], o.Descending)
		case o.Key != p.step:
			dst = appendOrdered(dst, r.value(p, o.Key), o.Descending)
		case r.stepped:
			dst = appendOrdered(dst, Value{Kind: Time, Int: r.step}, o.Descending)
		}
	}
	if r.stepped {
		dst = appendOrdered(dst, Value{Kind: Time, Int: r.step}, false)
	}
	dst = appendOrdered(dst, functions[0], true)
	for _, text := range r.texts {
		if text == nil {
			dst = append(dst, 0)
			continue
		}
		dst = spill.AppendKeyText(append(dst, 1), text)
	}
	return dst
}
