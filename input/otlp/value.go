package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math"
	"unicode/utf8"

	"logstow/input"
	"logstow/input/httpserver"
	"logstow/input/protobuf"
	"logstow/record/attributes"
)

// maxDepth is the maximum nesting of a body; that of attributes is [attributes.MaxDepth].
const maxDepth = 64

// errTooDeep reports a value that is nested too deeply.
var errTooDeep = errors.New("a value is nested too deeply")

// The fields of an AnyValue.
const (
	anyString = 1<<3 | protobuf.Text
	anyBool   = 2<<3 | protobuf.Varint
	anyInt    = 3<<3 | protobuf.Varint
	anyDouble = 4<<3 | protobuf.Fixed64
	anyArray  = 5<<3 | protobuf.Text
	anyMap    = 6<<3 | protobuf.Text
	anyBytes  = 7<<3 | protobuf.Text
)

// repeated is the field of the elements of an array, and of the members of a map.
const repeated = 1<<3 | protobuf.Text

// value is the content of an AnyValue.
type value struct {
	// tag is that of the field, 0 if there is none.
	tag    uint64
	bytes  []byte
	number uint64
}

// valueOf returns the content of an AnyValue: the last of its fields.
func valueOf(any []byte) (v value, err error) {
	in := protobuf.Fields{Rest: any}
	for in.Next() {
		switch in.Tag {
		case anyString, anyArray, anyMap, anyBytes:
			v.tag, v.bytes = in.Tag, in.Bytes
		case anyBool, anyInt, anyDouble:
			v.tag, v.number = in.Tag, in.Number
		}
	}
	return v, in.Err
}

// memberText returns the name and the text of a map whose only member is a line.
func memberText(list []byte) (name, line []byte, ok bool) {
	in := protobuf.Fields{Rest: list}
	for members := 0; in.Next(); members++ {
		key, value, err := protobuf.Pair(in.Bytes)
		if in.Tag != repeated || members > 0 || err != nil || !input.IsLineName(string(key)) {
			return nil, nil, false
		}
		v, err := valueOf(value)
		name, line, ok = key, v.bytes, err == nil && v.tag == anyString
	}
	return name, line, ok && in.Err == nil
}

// encoder encodes values. Its memory is charged to a lease before it is allocated.
type encoder struct{ *httpserver.Attributes }

// attribute adds an attribute with an AnyValue.
func (e *encoder) attribute(name string, any []byte) error {
	v, err := valueOf(any)
	if err != nil {
		return err
	}
	if v.tag == anyString {
		return httpserver.AddText(e.Attributes, name, v.bytes)
	}
	at := len(e.Text)
	if err := e.content(&v, attributes.MaxDepth); err != nil {
		return err
	}
	return e.Add(name, at)
}

// id adds an identifier in hexadecimal, unless it is empty or all zeros.
func (e *encoder) id(name string, id []byte) error {
	if zeros(id) {
		return nil
	}
	at := len(e.Text)
	if err := e.Reserve(hex.EncodedLen(len(id)) + len(`""`)); err != nil {
		return err
	}
	e.Text = append(hex.AppendEncode(append(e.Text, '"'), id), '"')
	return e.Add(name, at)
}

func zeros(id []byte) bool {
	for _, b := range id {
		if b != 0 {
			return false
		}
	}
	return true
}

// value appends an AnyValue; one that is not set is null. It may have as many levels of nesting as are left.
func (e *encoder) value(any []byte, left int) error {
	v, err := valueOf(any)
	if err != nil {
		return err
	}
	return e.content(&v, left)
}

// maxNumber is the maximum length of a number, and of a value that stands for one that JSON lacks.
const maxNumber = len(`{"$double":"-Infinity"}`) + 8

// content is value for what valueOf returns.
func (e *encoder) content(v *value, left int) error {
	switch v.tag {
	case anyString:
		return e.appendText(v.bytes, left)
	case anyArray:
		return e.array(v.bytes, left)
	case anyMap:
		return e.object(v.bytes, left)
	case anyBytes:
		return e.appendBytes(v.bytes, left)
	}
	if err := e.Reserve(maxNumber); err != nil {
		return err
	}
	switch v.tag {
	case anyBool:
		e.Text = attributes.AppendBool(e.Text, v.number != 0)
	case anyInt:
		e.Text = attributes.AppendInt(e.Text, int64(v.number)) //nolint:gosec // as protobuf encodes it
	case anyDouble:
		d := math.Float64frombits(v.number)
		if left == 0 && (math.IsNaN(d) || math.IsInf(d, 0)) {
			return errTooDeep // it becomes an object
		}
		e.Text = attributes.AppendDouble(e.Text, d)
	default:
		e.Text = attributes.AppendNull(e.Text)
	}
	return nil
}

// appendText appends a string: bytes if it is not UTF-8, which protobuf does not allow.
func (e *encoder) appendText(s []byte, left int) error {
	if left == 0 && !utf8.Valid(s) {
		return errTooDeep // it becomes an object
	}
	return httpserver.AppendText(e.Attributes, s)
}

func (e *encoder) appendBytes(b []byte, left int) error {
	if left == 0 {
		return errTooDeep // it becomes an object
	}
	if err := e.Reserve(base64.StdEncoding.EncodedLen(len(b)) + len(`{"$bytes":""}`)); err != nil {
		return err
	}
	e.Text = attributes.AppendBytes(e.Text, b)
	return nil
}

func (e *encoder) array(values []byte, left int) error {
	if left == 0 {
		return errTooDeep
	}
	return e.elements(values, repeated, func(value []byte) error { return e.value(value, left-1) })
}

// elements appends an array of what add appends for each value of a tag.
func (e *encoder) elements(message []byte, tag uint64, add func(value []byte) error) error {
	if err := e.Reserve(1); err != nil {
		return err
	}
	e.Text = append(e.Text, '[')
	in := protobuf.Fields{Rest: message}
	for first := true; in.Next(); {
		if in.Tag != tag {
			continue
		}
		if err := e.Reserve(1); err != nil {
			return err
		}
		if !first {
			e.Text = append(e.Text, ',')
		}
		first = false
		if err := add(in.Bytes); err != nil {
			return err
		}
	}
	if in.Err != nil {
		return in.Err
	}
	if err := e.Reserve(1); err != nil {
		return err
	}
	e.Text = append(e.Text, ']')
	return nil
}

// object appends a map.
func (e *encoder) object(list []byte, left int) error {
	if left == 0 {
		return errTooDeep
	}
	at, base, size := len(e.Text), len(e.List), len(`{}`)
	in := protobuf.Fields{Rest: list}
	for in.Next() {
		if in.Tag != repeated {
			continue
		}
		key, value, err := protobuf.Pair(in.Bytes)
		if err != nil {
			return err
		}
		start := len(e.Text)
		if err := e.value(value, left-1); err != nil {
			return err
		}
		name, err := e.Name(key)
		if err != nil {
			return err
		}
		if err := e.Push(name, start); err != nil {
			return err
		}
		size += httpserver.MaxMember(&e.List[len(e.List)-1]) + len("$")
	}
	if in.Err != nil {
		return in.Err
	}
	if err := e.Reserve(size); err != nil {
		return err
	}
	from := len(e.Text)
	made, dropped := attributes.AppendMap(e.Text, e.List[base:])
	e.Text, e.List, e.Cut = append(made[:at], made[from:]...), e.List[:base], e.Cut+dropped
	return nil
}
