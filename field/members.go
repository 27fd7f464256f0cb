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
	// of arrays. For each name of the set that is a label, no other member than the one found becomes that label if all members do
	// whose value is not null, an object or an array: those of nested objects under names joined by _, see [LabelName].
	ObjectForm
	// PairsForm is text of words and at most 1,000 logfmt pairs, between blanks. A value is in quotes, or has neither quotes nor an
	// equals sign; words have none of both. For each name of the set that is a label, no other pair than the one found becomes that
	// label if all pairs do whose value is not empty.
	PairsForm
)

// CheckForm has Find find out what [Set.Form] returns.
func (s *Set) CheckForm() { s.checks, s.steps = true, nil }

// maxMembers is the number of members, or pairs, of a message that has a [Form].
const maxMembers = 1000

// Form is that of the message that was searched last. It is NoForm without [Set.CheckForm].
func (s *Set) Form() Form { return s.form }

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

// deepest is how deep objects may be nested in an [ObjectForm].
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
		if n++; n > maxMembers || of.field >= 0 && !isPairName(of.name) || !of.pair(value, values) {
			return false
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

// pair adds the value of a pair, and reports whether there is one that becomes its label.
func (of *step) pair(v Value, values []Value) bool {
	if of.alias && len(v.Text) > 0 {
		return false
	}
	if of.field < 0 {
		return true
	}
	first := &values[of.field]
	if first.Kind == Missing {
		*first = v
		return true
	}
	return len(first.Text) > 0 || len(v.Text) == 0
}
