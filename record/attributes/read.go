package attributes

import (
	"bytes"
	"iter"
	"strings"

	"logstow/message"
)

// GroupOf returns one of the objects [Resource], [Scope] and [Stream] of encoded attributes; nil if there is none.
func GroupOf(text []byte, name string) []byte {
	if objectAt(text, name) < 0 {
		return nil
	}
	members := message.Object(text)
	for {
		key, value, ok := members.Next()
		if !ok {
			return nil
		}
		if string(key) == name && value[0] == '{' {
			return value
		}
	}
}

// objectAt returns where the first object with a name begins in encoded attributes, at any depth; -1 if there is none. In a string, a
// backslash precedes quotes.
func objectAt(text []byte, name string) int {
	for at := 1; at < len(text); at++ {
		brace := bytes.IndexByte(text[at:], '{')
		if brace < 0 {
			break
		}
		at += brace
		if start := at - len(name) - len(`"":`); start > 0 && text[start] == '"' && string(text[start+1:at-2]) == name &&
			text[at-2] == '"' && text[at-1] == ':' {
			return at
		}
	}
	return -1
}

// Scalar returns an attribute that stands for bytes as their BASE64, one for a double without a form in JSON as its name, and others as they
// are.
func Scalar(v message.Value) message.Value {
	if v.IsObject() {
		if content, kind := special(v.Text); kind != "" {
			return message.Value{Kind: message.String, Text: content}
		}
	}
	return v
}

// All yields encoded attributes by the names under which they are found, as by [Scalar]: those of the record first, then those of the objects
// in the order of [Groups]. The members of maps follow them, with names that have dots. A name may occur several times; the first one counts.
func All(text []byte) iter.Seq2[string, message.Value] {
	return func(yield func(string, message.Value) bool) {
		own := func(name string, object []byte) bool { return !IsGroup(name) && IsMap(name, object) }
		for name, v := range message.AllMembers(text, own) {
			if IsGroup(name) && v.IsObject() {
				continue
			}
			if !yield(strings.TrimPrefix(name, Prefix), Scalar(v)) {
				return
			}
		}
		for _, name := range Groups() {
			object := GroupOf(text, name)
			if object == nil {
				continue
			}
			for name, v := range message.AllMembers(object, IsMap) {
				if !yield(name, Scalar(v)) {
					return
				}
			}
		}
	}
}

// IsMap reports whether an object among encoded attributes is a map, not one that stands for a [Scalar]; its name does not matter. It is
// for [message.AllMembers].
func IsMap(_ string, object []byte) bool {
	_, kind := special(object)
	return kind == ""
}

// Strings yields the strings among the values of encoded attributes, those in maps and arrays included, without escapes. A string is
// valid until the next one.
func Strings(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(text) == 0 {
			return
		}
		var space []byte
		stringsOf(text, MaxDepth+1, &space, yield)
	}
}

// stringsOf yields the strings of a value, down to a depth that valid attributes do not exceed, and reports whether to continue.
func stringsOf(value []byte, depth int, space *[]byte, yield func([]byte) bool) bool {
	if depth < 0 {
		return true
	}
	switch value[0] {
	case '"':
		s, _ := message.Content(value)
		if bytes.IndexByte(s, '\\') >= 0 {
			*space = message.Unescape((*space)[:0], s)
			s = *space
		}
		return yield(s)
	case '{':
		members := message.Object(value)
		for _, v, ok := members.Next(); ok; _, v, ok = members.Next() {
			if !stringsOf(v, depth-1, space, yield) {
				return false
			}
		}
	case '[':
		elements := message.Array(value)
		for v, ok := elements.Next(); ok; v, ok = elements.Next() {
			if !stringsOf(v, depth-1, space, yield) {
				return false
			}
		}
	}
	return true
}
