package field

import (
	"bytes"
	"strings"

	"logstow/internal/jsontext"
)

// A Set finds several fields in one pass over a message. It is for one goroutine.
type Set struct {
	index  map[string]int
	dotted bool
	// steps are the members, or pairs, of the last message in their order: the next one usually has the same.
	steps []step
	path  []byte // the names of the objects around a member, each with a dot
	space []byte // texts without escapes

	// checks is set if [Set.Form] is wanted.
	checks bool
	form   Form
	count  int // of members
	// labels are the fields by the labels of their names; root has the nodes of members by their names.
	labels map[string]int
	root   node
	nodes  int
	// seen is, for each field, the number of the message whose member of the name was seen, of all messages.
	seen     []int
	messages int
}

// step is a member's name and the index of its field, -1 if it is none of the set.
type step struct {
	name  []byte
	field int
	// node is nil if forms are not wanted.
	node *node
}

// NewSet makes a Set of the fields of these names, which are all different.
func NewSet(names []string) *Set {
	s := &Set{index: make(map[string]int, len(names))}
	for i, name := range names {
		s.index[name] = i
		s.dotted = s.dotted || strings.Contains(name, ".")
	}
	return s
}

// Find sets values, one for each name, to what a [Finder] of the name returns. It is not ok, and values are
// undefined, if the message is or ends with JSON, except for a well-formed object whose names have no escapes. Texts are valid as
// long as the message is and Find is not used again.
func (s *Set) Find(message []byte, values []Value) (ok bool) {
	clear(values)
	s.path, s.space, s.form, s.count = s.path[:0], s.space[:0], NoForm, 0
	if s.messages++; s.nodes > maxNodes {
		s.root, s.nodes, s.steps = node{}, 0, s.steps[:0]
	}
	if len(message) == 0 || message[0] != '{' {
		if jsonPart(message) != nil {
			return false
		}
		if s.checks {
			if s.formedPairs(message, values) {
				s.form = PairsForm
				return true
			}
			clear(values)
		}
		s.pairs(message, values)
		return true
	}
	members := jsontext.Object(message)
	direct := s.checks && !bytes.HasPrefix(members.Rest(), []byte{','})
	for n := 0; ; n++ {
		if rest := members.Rest(); n > 0 && (len(rest) == 0 || rest[0] != ',') {
			return s.ends(string(rest) == "}", direct)
		}
		name, value, more := members.Next()
		if !more {
			return s.ends(n == 0 && string(members.Rest()) == "}", direct)
		}
		if n == len(s.steps) || !bytes.Equal(s.steps[n].name, name) {
			if bytes.IndexByte(name, '\\') >= 0 {
				return false
			}
			s.learn(n, name)
		}
		direct = direct && s.direct(s.steps[n].node, value)
		if !s.add(s.steps[n].field, value, values) {
			return false
		}
		if s.dotted && value[0] == '{' {
			s.path = append(append(s.path[:0], name...), '.')
			if !s.nested(value, values, maxDepth-1) {
				return false
			}
		}
	}
}

// ends notes the form of a message that ends as an object does, if it is ok; direct is set if all of its members were.
func (s *Set) ends(ok, direct bool) bool {
	if ok && direct {
		s.form = ObjectForm
	}
	return ok
}

// learn remembers the name of member n.
func (s *Set) learn(n int, name []byte) {
	if n == len(s.steps) {
		s.steps = append(s.steps, step{})
	}
	of := &s.steps[n]
	of.name = append(of.name[:0], name...)
	of.field = s.lookup(name)
	if s.checks {
		of.node = s.node(nil, name)
	}
}

// lookup is the index of a name, -1 if it is none of the set.
func (s *Set) lookup(name []byte) int {
	if i, ok := s.index[string(name)]; ok {
		return i
	}
	return -1
}

// nested adds the members of an object, whose own path is set.
func (s *Set) nested(object []byte, values []Value, depth int) bool {
	own := len(s.path)
	members := jsontext.Object(object)
	for n := 0; ; n++ {
		if rest := members.Rest(); n > 0 && (len(rest) == 0 || rest[0] != ',') {
			return string(rest) == "}"
		}
		name, value, more := members.Next()
		if !more {
			return n == 0 && string(members.Rest()) == "}"
		}
		s.path = append(s.path[:own], name...)
		if bytes.IndexByte(name, '\\') >= 0 || !s.add(s.lookup(s.path), value, values) {
			return false
		}
		if value[0] == '{' {
			s.path = append(s.path, '.')
			if depth == 1 || !s.nested(value, values, depth-1) {
				return false
			}
		}
	}
}

// add sets the value of a field, unless an earlier member has its name; it is not ok for a value that is not JSON.
func (s *Set) add(i int, b []byte, values []Value) bool {
	var v Value
	switch b[0] {
	case '"':
		v = Value{String, b[1 : len(b)-1]}
	case '{', '[':
		v = Value{Composite, b}
	case 't', 'f':
		if _, ok := truth(b); !ok {
			return false
		}
		v = Value{Bool, b}
	case 'n':
		if string(b) != "null" {
			return false
		}
		v = Value{Null, b}
	default:
		if !isNumber(b) {
			return false
		}
		v = Value{Number, b}
	}
	if i >= 0 && values[i].Kind == Missing {
		if v.Kind == String {
			v.Text = s.unescape(v.Text)
		}
		values[i] = v
	}
	return true
}

// unescape is the text of a string.
func (s *Set) unescape(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	from := len(s.space)
	s.space = jsontext.Unescape(s.space, text)
	return s.space[from:len(s.space):len(s.space)]
}

// pairs adds the logfmt pairs of a message.
func (s *Set) pairs(b []byte, values []Value) {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '=')
		if i < 0 {
			return
		}
		i += at
		start := i
		for start > at && !isBlank(b[start-1]) {
			start--
		}
		if start > at || at == 0 || isBlank(b[at-1]) {
			if k := s.lookup(b[start:i]); k >= 0 && values[k].Kind == Missing && isPairName(b[start:i]) {
				values[k] = s.bare(b[i+1:])
			}
		}
		if at = i + 1; at < len(b) && b[at] == '"' { // text in quotes is no pair
			at += quoted(b[at:])
		}
	}
}

// bare is the logfmt value that b starts with.
func (s *Set) bare(b []byte) Value {
	if len(b) > 0 && b[0] == '"' {
		if n := quoted(b); n >= 2 && b[n-1] == '"' {
			return Value{String, s.unescape(b[1 : n-1])}
		}
	}
	end := bytes.IndexAny(b, " \t\n\r")
	if end < 0 {
		end = len(b)
	}
	return Value{Bare, b[:end]}
}
