package field

import (
	"bytes"
	"strings"

	"logstow/internal/jsontext"
)

// LabelName is the label that a name becomes in LogQL: without blanks around it, other characters than ASCII letters, digits and
// _ replaced by _; first adds a _ in front of a digit that comes first.
func LabelName(name string, first bool) string {
	name = strings.TrimSpace(name)
	if first && name != "" && name[0]-'0' < 10 {
		name = "_" + name
	}
	return strings.Map(func(r rune) rune {
		if r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

// Form is how a message is written such that all parsers of that form find the same fields, for the names of a [Set]. The values are
// those of the format of columns.
type Form uint8

const (
	// NoForm is any other message, and one of which that is not known.
	NoForm Form = iota
	// ObjectForm is a JSON object of at most 1,000 members in all, without mistakes, nested at most 64 deep, apart from what is inside
	// of arrays. For each name of the set, no other member than the one found becomes the label of the name if all members become
	// labels: those of nested objects under labels joined by _, see [LabelName].
	ObjectForm
	// PairsForm is text of words and at most 1,000 logfmt pairs, between blanks. A value is in quotes, or has neither quotes nor an
	// equals sign; words have none of both. For each name of the set, no other pair than the one found becomes the label of the name
	// if all pairs become labels whose value is not empty.
	PairsForm
)

// CheckForm has Find find out what [Set.Form] returns.
func (s *Set) CheckForm() {
	s.checks, s.steps, s.seen = true, nil, make([]int, len(s.index))
	s.labels = make(map[string]int, len(s.index))
	for name, i := range s.index {
		label := LabelName(name, true)
		if _, twice := s.labels[label]; twice {
			i = ambiguous
		}
		s.labels[label] = i
	}
}

// ambiguous is in place of the fields of several names with one label.
const ambiguous = -2

// maxMembers is the number of members, or pairs, of a message that has a [Form].
const maxMembers = 1000

// Form is that of the message that was searched last. It is NoForm without [Set.CheckForm].
func (s *Set) Form() Form { return s.form }

// A node is a member by the names of the objects around it and its own, or a pair.
type node struct {
	path, label string
	// field is that of the path, -1 if it is none of the set.
	field int
	// alias is set if the label is not only that of the field, around if labels of members of an object of this path may be those of fields.
	alias, around bool
	children      map[string]*node
}

// maxNodes is the number of nodes that are remembered from message to message.
const maxNodes = 10_000

// node is the node of a member of the object of another one, nil for a message.
func (s *Set) node(parent *node, name []byte) *node {
	if parent == nil {
		parent = &s.root
	}
	if n := parent.children[string(name)]; n != nil {
		return n
	}
	n := &node{path: string(name), label: LabelName(string(name), parent.label == "")}
	if parent != &s.root {
		n.path, n.label = parent.path+"."+n.path, parent.label+"_"+n.label
	}
	n.field = s.lookup([]byte(n.path))
	owner, ok := s.labels[n.label]
	n.alias = ok != (n.field >= 0) || ok && owner != n.field
	for label := range s.labels {
		n.around = n.around || strings.HasPrefix(label, n.label+"_")
	}
	if parent.children == nil {
		parent.children = map[string]*node{}
	}
	parent.children[string(name)] = n
	s.nodes++
	return n
}

// direct checks a member of a message before its value is added.
func (s *Set) direct(n *node, value []byte) bool {
	s.count++
	return s.count <= maxMembers && s.once(n) && (value[0] != '{' || s.inner(n, value, 2))
}

// once reports whether a member becomes the label of no other field than its own, and is the first that becomes it.
func (s *Set) once(n *node) bool {
	if n.alias || n.field >= 0 && s.seen[n.field] == s.messages {
		return false
	}
	if n.field >= 0 {
		s.seen[n.field] = s.messages
	}
	return true
}

// deepest is how deep objects may be nested in an [ObjectForm].
const deepest = 64

// inner reports whether b, the value of a member, is an object at a depth without mistakes, apart from what is inside of arrays, and none of
// its members becomes the label of another field. of is nil if none can.
func (s *Set) inner(of *node, b []byte, depth int) bool {
	if depth > deepest {
		return false
	}
	if of != nil && !of.around {
		of = nil
	}
	members := jsontext.Object(b)
	for n := 0; ; n++ {
		rest := members.Rest()
		if n > 0 && !bytes.HasPrefix(rest, []byte{','}) {
			return string(rest) == "}"
		}
		if n == 0 && bytes.HasPrefix(rest, []byte{','}) {
			return false
		}
		name, value, more := members.Next()
		if !more {
			return n == 0 && string(members.Rest()) == "}"
		}
		var member *node
		if of != nil {
			if bytes.IndexByte(name, '\\') >= 0 {
				return false
			}
			if member = s.node(of, name); !s.once(member) {
				return false
			}
		}
		if s.count++; s.count > maxMembers || !isValue(value) || value[0] == '{' && !s.inner(member, value, depth+1) {
			return false
		}
	}
}

// isValue reports whether b, which is not empty, is a value; of objects and arrays it looks at the first byte only.
func isValue(b []byte) bool {
	switch b[0] {
	case '"', '[', '{':
		return true
	case 't', 'f':
		_, is := truth(b)
		return is
	case 'n':
		return string(b) == "null"
	}
	return isNumber(b)
}

// formedPairs adds the pairs of a message, and reports whether it has a [PairsForm]. If not, values are undefined.
func (s *Set) formedPairs(b []byte, values []Value) bool {
	for i, n := 0, 0; ; {
		for i < len(b) && isBlank(b[i]) {
			i++
		}
		if i == len(b) {
			return true
		}
		start := i
		i += wordLen(b[i:])
		if i == len(b) || isBlank(b[i]) {
			continue // a word
		}
		if i == start || b[i] != '=' {
			return false
		}
		value := s.bare(b[i+1:])
		end := i + 1 + len(value.Text)
		if i+1 < len(b) && b[i+1] == '"' {
			end = jsontext.StringEnd(b, i+2) + 1
		}
		switch {
		case end == 0:
			return false
		case value.Kind == Bare && wordLen(value.Text) < len(value.Text), end < len(b) && !isBlank(b[end]):
			return false
		case n == len(s.steps) || !bytes.Equal(s.steps[n].name, b[start:i]):
			s.learn(n, b[start:i])
		}
		of := &s.steps[n]
		if n++; n > maxMembers || of.field >= 0 && !isPairName(of.name) || len(value.Text) > 0 && !s.once(of.node) {
			return false
		}
		if of.field >= 0 && (len(value.Text) > 0 || values[of.field].Kind == Missing) {
			if values[of.field].Kind != Missing {
				return false // the first of the name is empty
			}
			values[of.field] = value
		}
		i = end
	}
}

// wordLen is the length of the text that b starts with and that has neither blanks and other control characters nor quotes nor an equals sign.
func wordLen(b []byte) int {
	for i, c := range b {
		if c <= ' ' || c == '=' || c == '"' {
			return i
		}
	}
	return len(b)
}
