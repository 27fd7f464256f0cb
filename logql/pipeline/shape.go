package pipeline

import (
	"bytes"

	"logstow/message"
)

// A shape is a node of a tree of the syntax of JSON lines: the text from a value to the next value, and the key in it. The
// lines of one program have few shapes. The tree is built from parsed lines; following it avoids looking at each byte of
// names.
type shape struct {
	// text ends with the quote where the value is a string.
	text  []byte
	key   *key // nil at the end of the object
	quote bool
	next  []*shape
}

const (
	// maxShapes is the number of texts that are known to follow a value.
	maxShapes = 8
	// shapeSize is the approximate memory of a shape without its text.
	shapeSize = 128
)

// values sets the labels of an object. It is not known if no line before had its shape, or a value is malformed: then some of its
// labels are set, as parsing it sets them.
func (j *jsonParser) values(b []byte) (known bool, err error) {
	s, i := &j.shapes, 0
	for {
		if s = s.follow(b[i:]); s == nil {
			return false, nil
		}
		i += len(s.text)
		if s.key == nil {
			return true, nil
		}
		start := i
		if s.quote {
			start--
			if i = message.StringEnd(b, i) + 1; i == 0 {
				return false, nil
			}
		} else if i += valueLen(b[i:]); i == start {
			return false, nil
		}
		if err := j.set(s.key, b[start:i]); err != nil {
			return true, err
		}
	}
}

// valueLen returns the length of the value that b starts with; 0 if it is malformed.
func valueLen(b []byte) int {
	n := 0
	for n < len(b) && (b[n]-'0' < 10 || b[n] == '.' && n > 0) {
		n++
	}
	if n > 0 && n < len(b) && (b[n] == ',' || b[n] == '}') { // as most numbers
		return n
	}
	value, err := rawValue(b)
	if err != nil {
		return 0
	}
	return len(value)
}

// follow returns the child shape that b starts with; nil if there is none.
func (s *shape) follow(b []byte) *shape {
	for _, next := range s.next {
		if bytes.HasPrefix(b, next.text) && (next.key == nil || next.quote || next.precedes(b[len(next.text):])) {
			return next
		}
	}
	return nil
}

// precedes reports whether b starts with a value that this shape can follow: neither a string nor an object with wanted
// members.
func (s *shape) precedes(b []byte) bool {
	return len(b) > 0 && b[0] > ' ' && b[0] != '"' && (b[0] != '{' || !s.key.inner)
}

// learn adds the value of a key at [start, end) of b to the shapes, or the end of the object if the key is nil.
func (j *jsonParser) learn(b []byte, start, end int, k *key) {
	if j.shape == nil {
		return
	}
	quote := k != nil && b[start] == '"'
	if quote {
		start++
	}
	text := b[j.behind:start]
	j.behind = end
	for _, next := range j.shape.next {
		if next.key == k && next.quote == quote && bytes.Equal(next.text, text) {
			j.shape = next
			return
		}
	}
	if len(j.shape.next) == maxShapes {
		j.shape = nil
		return
	}
	next := &shape{text: bytes.Clone(text), key: k, quote: quote}
	j.p.names.size += shapeSize + len(text)
	j.shape.next = append(j.shape.next, next)
	j.shape = next
}
