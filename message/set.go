package message

import (
	"bytes"
	"strings"
)

// A Set finds several fields in one pass over a message. Not safe for concurrent use.
type Set struct {
	index  map[string]int // of fields, by name
	dotted bool           // a name contains a dot
	// steps caches the lookups of the members, or pairs, of the last message, in their order. The next message usually has
	// the same names.
	steps []step
	path  []byte // the names of the objects around a member, each with a dot
	space []byte // memory for texts without escapes
	plain bool   // no string of the message has escapes

	// checks is set if [Set.Form] is wanted. The following fields are only used then.
	checks bool
	form   Form
	count  int // number of members of the message
	// labels has the index of each field by its label, root has the nodes of members.
	labels map[string]int
	root   node
	nodes  int // number of nodes
	// seen has, for each field, the number of the last message in which it was seen; messages is the number of messages.
	seen     []int
	messages int
}

// step is the name of a member and the index of its field, -1 if it is not in the set.
type step struct {
	// lead is what stands between the value before and the value of this member: comma, name, colon.
	lead, name []byte
	field      int
	// node is nil if forms are not wanted.
	node *node
}

// NewSet makes a Set of the fields with these names, which must be distinct.
func NewSet(names []string) *Set {
	s := &Set{index: make(map[string]int, len(names))}
	for i, name := range names {
		s.index[name] = i
		s.dotted = s.dotted || strings.Contains(name, ".")
	}
	return s
}

// Find sets values to the result of a [Finder] for each name. If the message is or ends with JSON other than a well-formed object
// without escapes in names, it is not ok and values are undefined. Texts are valid until the message changes or Find is called again.
func (s *Set) Find(message []byte, values []Value) (ok bool) {
	clear(values)
	s.path, s.space, s.plain, s.form, s.count = s.path[:0], s.space[:0], false, NoForm, 0
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
	s.plain = bytes.IndexByte(message, '\\') < 0
	members := Object(message)
	direct := s.checks
	for n := 0; ; n++ {
		var value []byte
		ok := false
		if n < len(s.steps) {
			value, ok = members.after(s.steps[n].lead)
		}
		if !ok {
			var name []byte
			from := members.Offset()
			if name, value, ok = members.NextStrict(); !ok {
				return s.ends(closes(&members, message), direct)
			}
			if bytes.IndexByte(name, '\\') >= 0 {
				return false
			}
			s.learn(n, message[from:members.Offset()-len(value)], name)
		}
		direct = direct && s.direct(s.steps[n].node, value)
		if !s.add(s.steps[n].field, value, values) {
			return false
		}
		if s.dotted && value[0] == '{' {
			s.path = append(append(s.path[:0], s.steps[n].name...), '.')
			if !s.nested(value, values, maxDepth-1) {
				return false
			}
		}
	}
}

// ends sets the form of a message that is a valid object if ok is set; direct is set if all its members satisfy the form. It returns
// ok.
func (s *Set) ends(ok, direct bool) bool {
	if ok && direct {
		s.form = ObjectForm
	}
	return ok
}

// closes reports whether all members of an object were read, and nothing follows it.
func closes(m *Members, object []byte) bool {
	end, ok := m.End()
	return ok && end == len(object)
}

// learn caches the lookup of the name of member n, and its lead.
func (s *Set) learn(n int, lead, name []byte) {
	if n == len(s.steps) {
		s.steps = append(s.steps, step{})
	}
	of := &s.steps[n]
	of.lead = append(of.lead[:0], lead...)
	of.name = append(of.name[:0], name...)
	of.field = s.lookup(name)
	if s.checks {
		of.node = s.node(nil, name)
	}
}

// lookup returns the index of a name, -1 if it is not in the set.
func (s *Set) lookup(name []byte) int {
	if i, ok := s.index[string(name)]; ok {
		return i
	}
	return -1
}

// nested adds the members of a nested object, whose path is set.
func (s *Set) nested(object []byte, values []Value, depth int) bool {
	own := len(s.path)
	members := Object(object)
	for {
		name, value, more := members.NextStrict()
		if !more {
			return closes(&members, object)
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
	kind := kindOf(b)
	if i >= 0 && values[i].Kind == Missing {
		if kind == String {
			b = s.unescape(b[1 : len(b)-1])
		}
		values[i] = Value{kind, b}
	}
	return kind != Bare
}

// unescape returns the text of a string without escapes.
func (s *Set) unescape(text []byte) []byte {
	if s.plain || bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	from := len(s.space)
	s.space = Unescape(s.space, text)
	return s.space[from:len(s.space):len(s.space)]
}

// pairs adds the logfmt pairs of a message.
func (s *Set) pairs(b []byte, values []Value) {
	pairs := PairsIn(b)
	for pairs.Next() {
		name := pairs.Name()
		if k := s.lookup(name); k >= 0 && values[k].Kind == Missing && IsPairName(name) {
			values[k] = s.bare(pairs.Value())
		}
	}
}

// bare returns the value of a pair.
func (s *Set) bare(text []byte, quoted bool) Value {
	if quoted {
		return Value{String, s.unescape(text)}
	}
	return Value{Bare, text}
}
