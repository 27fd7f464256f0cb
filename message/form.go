package message

import (
	"bytes"
	"slices"
	"strings"
)

// LabelName returns the LogQL label for the name of a field: it removes blanks at both ends, and replaces characters other than
// ASCII letters, digits and _ by _. If first is set, it adds a _ before a leading digit.
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

// Form is a syntax of messages in which this package and the parsers of LogQL find the same values for the names of a [Set], so that
// columns can replace either. The numbers are part of the format of columns.
type Form uint8

const (
	// NoForm is any other syntax, or an unknown one.
	NoForm Form = iota
	// ObjectForm is a valid JSON object with at most 1,000 members in total, nested at most 64 deep; the contents of arrays do
	// not count. For each name of the set, no other member has the same label. Labels of members of nested objects are joined
	// by _; see [LabelName].
	ObjectForm
	// PairsForm is text of words and at most 1,000 logfmt pairs, separated by blanks, all of them strict (see [Pair]) and without
	// brackets and punctuation that [Pair.Text] omits. For each name of the set, no other pair with a value has the same label.
	PairsForm
)

// CheckForm makes Find determine the result of [Set.Form].
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

// ambiguous replaces the index of a field if several names have the same label.
const ambiguous = -2

// maxMembers is the maximum number of members, or pairs, of a message that has a [Form].
const maxMembers = 1000

// Form returns the form of the last message searched. It is NoForm without [Set.CheckForm].
func (s *Set) Form() Form { return s.form }

// A node caches the properties of a member, by its name and those of the objects around it, or of a pair.
type node struct {
	path, label string
	// field is the index of the field with this path, -1 if it is not in the set.
	field int
	// alias is set if the label is that of another field. around is set if a member of an object with this path may have
	// the label of a field.
	alias, around bool
	children      map[string]*node
}

// maxNodes is the number of nodes above which the cache is cleared.
const maxNodes = 10_000

// node returns the node of a member of parent; a nil parent is the message.
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

// direct checks a top-level member, before its value is added, and reports whether the message may still have a form.
func (s *Set) direct(n *node, value []byte) bool {
	s.count++
	return s.count <= maxMembers && s.once(n) && (value[0] != '{' || s.inner(n, value, 2))
}

// once reports whether the label of a member is not that of another field, and no earlier member had it.
func (s *Set) once(n *node) bool {
	if n.alias || n.field >= 0 && s.seen[n.field] == s.messages {
		return false
	}
	if n.field >= 0 {
		s.seen[n.field] = s.messages
	}
	return true
}

// deepest is the maximum nesting of objects in an [ObjectForm].
const deepest = 64

// inner reports whether b, an object at a depth, is valid apart from the contents of arrays, and none of its members has the label of
// another field. of is the node of the object, nil if no member can have the label of a field.
func (s *Set) inner(of *node, b []byte, depth int) bool {
	if depth > deepest {
		return false
	}
	if of != nil && !of.around {
		of = nil
	}
	members := Object(b)
	for {
		name, value, more := members.NextStrict()
		if !more {
			return closes(&members, b)
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
		if s.count++; s.count > maxMembers || kindOf(value) == Bare || value[0] == '{' && !s.inner(member, value, depth+1) {
			return false
		}
	}
}

// formedPairs sets values from the pairs of a message, and reports whether the message has a [PairsForm]. If not, values are
// undefined.
func (s *Set) formedPairs(b []byte, values []Value) bool {
	for i, n := 0, 0; ; {
		for i < len(b) && b[i] <= ' ' {
			i++
		}
		if i == len(b) {
			return true
		}
		pair := PairAt(b, i)
		if i = pair.End; !pair.Strict {
			return false
		}
		if pair.Value == nil {
			continue // a word
		}
		value := s.bare(pair.Text(), pair.Quoted)
		if !pair.Quoted && len(value.Text) < len(pair.Value) || slices.ContainsFunc(pair.Name, isOpening) {
			return false
		}
		if n == len(s.steps) || !bytes.Equal(s.steps[n].name, pair.Name) {
			s.learn(n, nil, pair.Name)
		}
		of := &s.steps[n]
		if n++; n > maxMembers || of.field >= 0 && !IsPairName(of.name) || len(value.Text) > 0 && !s.once(of.node) {
			return false
		}
		if of.field >= 0 && (len(value.Text) > 0 || values[of.field].Kind == Missing) {
			if values[of.field].Kind != Missing {
				return false // an earlier pair with this name is empty
			}
			values[of.field] = value
		}
	}
}
