package otlp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"logstow/input"
)

// maxDepth is how deep values may be nested.
const maxDepth = 64

// errDeep says that a record holds a value that is nested too deeply.
var errDeep = errors.New("a value is nested too deeply")

// object writes JSON. Where it has grown past limit it ends with an error:
// escapes and repeated resources can make much out of little.
type object struct {
	b     []byte
	limit int
}

func (o *object) full() error {
	if len(o.b) > o.limit {
		return fmt.Errorf("%w: as JSON, the records have more than %d bytes", input.ErrTooLarge, o.limit)
	}
	return nil
}

// value writes an AnyValue; one that is not set is null.
func (o *object) value(any []byte, depth int) error {
	if depth == maxDepth {
		return errDeep
	}
	var last field // of those of the oneof
	for len(any) > 0 {
		f, rest, err := next(any)
		if err != nil {
			return err
		}
		if f.number >= 1 && f.number <= 7 {
			last = f
		}
		any = rest
	}
	switch {
	case last.is(1, protowire.BytesType):
		return o.text(last.bytes)
	case last.is(2, protowire.VarintType):
		o.b = strconv.AppendBool(o.b, last.value != 0)
	case last.is(3, protowire.VarintType):
		o.b = strconv.AppendInt(o.b, int64(last.value), 10)
	case last.is(4, protowire.Fixed64Type):
		o.double(math.Float64frombits(last.value))
	case last.is(5, protowire.BytesType):
		return o.array(last.bytes, depth)
	case last.is(6, protowire.BytesType):
		return o.keyValues(last.bytes, 1, depth)
	case last.is(7, protowire.BytesType):
		o.b = append(o.b, '"')
		o.b = base64.StdEncoding.AppendEncode(o.b, last.bytes)
		o.b = append(o.b, '"')
	default:
		o.b = append(o.b, "null"...)
	}
	return o.full()
}

func (o *object) array(values []byte, depth int) error {
	o.b = append(o.b, '[')
	first := true
	err := each(values, func(f field) error {
		if !f.is(1, protowire.BytesType) {
			return nil
		}
		if !first {
			o.b = append(o.b, ',')
		}
		first = false
		return o.value(f.bytes, depth+1)
	})
	o.b = append(o.b, ']')
	return err
}

// keyValues writes the object of all the KeyValues that are fields of this number.
func (o *object) keyValues(message []byte, number protowire.Number, depth int) error {
	o.b = append(o.b, '{')
	first := true
	err := each(message, func(f field) error {
		if !f.is(number, protowire.BytesType) {
			return nil
		}
		if !first {
			o.b = append(o.b, ',')
		}
		first = false
		key, value, err := keyValue(f.bytes)
		if err != nil {
			return err
		}
		if err := o.text(key); err != nil {
			return err
		}
		o.b = append(o.b, ':')
		return o.value(value, depth+1)
	})
	o.b = append(o.b, '}')
	return err
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

// double writes a number, or as protobuf's JSON does, the name of what JSON has no number for.
func (o *object) double(v float64) {
	switch {
	case math.IsNaN(v):
		o.b = append(o.b, `"NaN"`...)
	case math.IsInf(v, 1):
		o.b = append(o.b, `"Infinity"`...)
	case math.IsInf(v, -1):
		o.b = append(o.b, `"-Infinity"`...)
	default:
		number, err := json.Marshal(v) // as short as it can be, the exponent as JavaScript writes it
		if err != nil {
			number = []byte("null")
		}
		o.b = append(o.b, number...)
	}
}

const hexDigits = "0123456789abcdef"

// text writes a string. Invalid UTF-8, which protobuf does not allow, becomes U+FFFD.
func (o *object) text(s []byte) error {
	o.b = append(o.b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && size == 1 {
				o.b = append(append(o.b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		o.b = append(o.b, s[start:i]...)
		switch c {
		case '"', '\\':
			o.b = append(o.b, '\\', c)
		case '\n':
			o.b = append(o.b, '\\', 'n')
		case '\r':
			o.b = append(o.b, '\\', 'r')
		case '\t':
			o.b = append(o.b, '\\', 't')
		default:
			o.b = append(o.b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
		if err := o.full(); err != nil {
			return err
		}
	}
	o.b = append(append(o.b, s[start:]...), '"')
	return o.full()
}
