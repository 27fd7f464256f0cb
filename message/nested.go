package message

import (
	"bytes"
	"iter"
)

// ParseJSON converts a JSON value as written, without blanks around it. It is not ok for empty text.
func ParseJSON(text []byte) (Value, bool) {
	if len(text) == 0 {
		return Value{}, false
	}
	return new(Finder).json(text), true
}

// SplitJSON splits a message into the JSON object that it is or ends with, without trailing blanks, and the text before it. It is not
// ok if there is none. The object may be truncated or otherwise invalid.
func SplitJSON(message []byte) (before, object []byte, ok bool) {
	object = jsonPart(message)
	if object == nil {
		return nil, nil, false
	}
	end := len(bytes.TrimRight(message, " \t\r\n"))
	return message[:end-len(object)], object, true
}

// Elements yields the elements of an array; none for other values.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind != Composite || v.Text[0] != '[' {
			return
		}
		elements := Array(v.Text)
		for text, ok := elements.Next(); ok; text, ok = elements.Next() {
			if !yield(new(Finder).json(text)) {
				return
			}
		}
	}
}

// Members yields the members of an object and their names; none for other values.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if !v.IsObject() {
			return
		}
		members := Object(v.Text)
		for name, text, ok := members.Next(); ok; name, text, ok = members.Next() {
			if !yield(string(Unescape(nil, name)), new(Finder).json(text)) {
				return
			}
		}
	}
}

// Member returns a field of an object by its name, which may have dots as for a [Finder].
func (v Value) Member(name string) Value {
	if !v.IsObject() {
		return Value{}
	}
	return NewFinder(name).member(v.Text, name)
}

// IsArray reports whether the value is an array.
func (v Value) IsArray() bool { return v.Kind == Composite && v.Text[0] == '[' }

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return v.Kind == Composite && v.Text[0] == '{' }
