package otlp

import (
	"cmp"
	"encoding/base64"
	"errors"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"logstow/input"
	"logstow/message"
)

// maxDepth is the maximum nesting of values.
const maxDepth = 64

// errTooDeep reports a value that is nested too deeply.
var errTooDeep = errors.New("a value is nested too deeply")

// value writes an AnyValue; one that is not set is null.
func (o *object) value(any []byte, depth int) error {
	if depth == maxDepth {
		return errTooDeep
	}
	last, err := oneOf(any)
	switch {
	case err != nil:
		return err
	case last.is(1, protowire.BytesType):
		return o.text(last.bytes)
	case last.is(2, protowire.VarintType):
		put(o, strconv.FormatBool(last.value != 0))
	case last.is(3, protowire.VarintType):
		o.integer(int64(last.value))
	case last.is(4, protowire.Fixed64Type):
		var scratch [32]byte
		put(o, message.AppendFloat(scratch[:0], math.Float64frombits(last.value), 64))
	case last.is(5, protowire.BytesType):
		return o.array(last.bytes, depth)
	case last.is(6, protowire.BytesType):
		return o.keyValues(last.bytes, 1, depth)
	case last.is(7, protowire.BytesType):
		put(o, `"`)
		if o.reserve(base64.StdEncoding.EncodedLen(len(last.bytes))) {
			o.b = base64.StdEncoding.AppendEncode(o.b, last.bytes)
		}
		put(o, `"`)
	default:
		put(o, "null")
	}
	return o.err
}

// oneOf returns the last field of an AnyValue, which is its value.
func oneOf(any []byte) (last field, err error) {
	for len(any) > 0 {
		f, rest, err := next(any)
		if err != nil {
			return last, err
		}
		if f.number >= 1 && f.number <= 7 {
			last = f
		}
		any = rest
	}
	return last, nil
}

// plainText returns the content of an AnyValue that is a string.
func plainText(any []byte) ([]byte, bool) {
	f, err := oneOf(any)
	return f.bytes, err == nil && f.is(1, protowire.BytesType)
}

// memberText returns the text of an AnyValue that is an object whose only member is a line.
func memberText(any []byte) (text []byte, ok bool) {
	list, err := oneOf(any)
	if err != nil || !list.is(6, protowire.BytesType) {
		return nil, false
	}
	members := 0
	err = each(list.bytes, func(f field) error {
		members++
		key, value, err := keyValue(f.bytes)
		if f.is(1, protowire.BytesType) && input.IsLineName(string(key)) {
			text, ok = plainText(value)
		}
		return err
	})
	return text, ok && members == 1 && err == nil
}

func (o *object) array(values []byte, depth int) error {
	put(o, "[")
	first := true
	err := each(values, func(f field) error {
		if !f.is(1, protowire.BytesType) {
			return nil
		}
		if !first {
			put(o, ",")
		}
		first = false
		return o.value(f.bytes, depth+1)
	})
	put(o, "]")
	return cmp.Or(err, o.err)
}

// keyValues writes the object of all the KeyValues that are fields of this number.
func (o *object) keyValues(message []byte, number protowire.Number, depth int) error {
	put(o, "{")
	first := true
	err := each(message, func(f field) error {
		if !f.is(number, protowire.BytesType) {
			return nil
		}
		if !first {
			put(o, ",")
		}
		first = false
		key, value, err := keyValue(f.bytes)
		if err != nil {
			return err
		}
		if err := o.text(key); err != nil {
			return err
		}
		put(o, ":")
		return o.value(value, depth+1)
	})
	put(o, "}")
	return cmp.Or(err, o.err)
}

func keyValue(message []byte) (key, value []byte, err error) {
	for len(message) > 0 {
		var f field
		if f, message, err = next(message); err != nil {
			return nil, nil, err
		}
		switch {
		case f.is(1, protowire.BytesType):
			key = f.bytes
		case f.is(2, protowire.BytesType):
			value = f.bytes
		}
	}
	return key, value, nil
}

// integer writes a whole number.
func (o *object) integer(v int64) {
	var scratch [20]byte
	put(o, strconv.AppendInt(scratch[:0], v, 10))
}

// text writes a string. Invalid UTF-8, which protobuf does not allow, becomes U+FFFD.
func (o *object) text(s []byte) error {
	if !o.reserve(len(s) + len(`""`)) {
		return o.err
	}
	put(o, `"`)
	for len(s) > 0 && o.err == nil {
		plain, escape, size := message.Escape(s)
		put(o, s[:plain])
		put(o, escape)
		s = s[plain+size:]
	}
	put(o, `"`)
	return o.err
}
