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

// CheckMembers has Find find out what [Set.Members] returns.
func (s *Set) CheckMembers() { s.checks, s.steps = true, nil }

// maxMembers is the number of members up to which [Set.Members] is true.
const maxMembers = 1000

// Members reports whether the message that was searched last is a JSON object of at most 1,000 members in all, without mistakes,
// nested at most 64 deep, apart from what is inside of arrays, and whether for each name of the set that is a label, no other member than the one found becomes that
// label if all members do whose value is not null, an object or an array: those of nested objects under names joined by _, see
// [LabelName]. It is false without [Set.CheckMembers].
func (s *Set) Members() bool { return s.members }

// direct checks a member before its value is added.
func (s *Set) direct(of *step, value []byte, values []Value) bool {
	if s.count++; s.count > maxMembers {
		return false
	}
	switch {
	case of.alias, of.field >= 0 && values[of.field].Kind == Null: // the label is that of the next member of the name
		return false
	case value[0] == '{':
		return !of.around && s.wellFormed(value, 2)
	}
	return true
}

// compareLabels compares the label of a member's name with the names of the set.
func (s *Set) compareLabels(of *step) {
	label := LabelName(string(of.name), true)
	for name := range s.index {
		of.alias = of.alias || name == label && name != string(of.name)
		of.around = of.around || strings.HasPrefix(name, label+"_")
	}
}

// deepest is how deep objects may be nested for [Set.Members].
const deepest = 64

// wellFormed reports whether b, the value of a member, is an object at a depth without mistakes, apart from what is inside of arrays.
func (s *Set) wellFormed(b []byte, depth int) bool {
	if depth > deepest {
		return false
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
		_, value, more := members.Next()
		if !more {
			return n == 0 && string(members.Rest()) == "}"
		}
		s.count++
		ok := s.count <= maxMembers
		switch value[0] {
		case '"', '[':
		case '{':
			ok = ok && s.wellFormed(value, depth+1)
		case 't', 'f':
			if _, is := truth(value); !is {
				return false
			}
		case 'n':
			ok = ok && string(value) == "null"
		default:
			ok = ok && isNumber(value)
		}
		if !ok {
			return false
		}
	}
}
