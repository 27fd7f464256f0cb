package message

import (
	"bytes"
	"iter"
)

// maxDepth is the maximum nesting of objects in which All finds fields.
const maxDepth = 8

// All yields the fields of a message in their order, each with the name by which [Finder.Find] finds it. The name of a field of a
// nested object is that of the outer field, a dot, and its own. A name that occurs several times is yielded several times; Find
// finds the first. The text of a value is valid until the next one is yielded.
func All(message []byte) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		f := &Finder{}
		if object := jsonPart(message); object != nil {
			f.members(object, "", maxDepth, isAny, yield)
			return
		}
		f.pairs(message, yield)
	}
}

// AllMembers yields the fields of the JSON object that object starts with, as All does, but those of an object in it only if enter returns
// true for its name and its text. Its depth is that of All.
func AllMembers(object []byte, enter func(name string, object []byte) bool) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) { new(Finder).members(object, "", maxDepth, enter, yield) }
}

// isAny is an enter of [AllMembers].
func isAny(string, []byte) bool { return true }

// members yields the fields of the object that b starts with, and reports whether to continue.
func (f *Finder) members(b []byte, prefix string, depth int, enter func(string, []byte) bool, yield func(string, Value) bool) bool {
	for members := Object(b); ; {
		key, value, ok := members.Next()
		if !ok {
			return true
		}
		if bytes.IndexByte(key, '\\') >= 0 {
			key = Unescape(nil, key)
		}
		name := prefix + string(key)
		if !yield(name, f.json(value)) {
			return false
		}
		if value[0] == '{' && depth > 1 && enter(name, value) && !f.members(value, name+".", depth-1, enter, yield) {
			return false
		}
	}
}

// pairs yields the logfmt pairs of a message.
func (f *Finder) pairs(b []byte, yield func(string, Value) bool) {
	pairs := PairsIn(b)
	for pairs.Next() {
		if name := pairs.Name(); IsPairName(name) && !yield(string(name), f.bare(&pairs)) {
			return
		}
	}
}
