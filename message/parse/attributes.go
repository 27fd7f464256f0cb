package parse

import (
	"bytes"
	"iter"
	"strings"

	"logstow/message"
	"logstow/record/attributes"
)

// attributesOf finds fields in the attributes of one record after the other.
type attributesOf struct {
	text []byte // nil if there are none
	// groups are the objects in text by [attributes.Groups], once they are needed.
	groups  [groupCount][]byte
	grouped bool
	// prefixed is set if a name in text begins with [attributes.Prefix].
	prefixed bool
}

const groupCount = 3

// attributeLookup finds one name in attributes.
type attributeLookup struct {
	// only is set if the name is that of an attribute, not of a field of the message; never if it is the other way round.
	only, never bool
	// finder is nil if the name is that of a group, which is no attribute.
	finder *message.Finder
	groups [groupCount]*message.Finder
	// prefixed finds the name with [attributes.Prefix].
	prefixed *message.Finder
}

func newAttributeLookup(name string) (l attributeLookup) {
	l.never = strings.HasPrefix(name, messagePrefix)
	name, l.only = strings.CutPrefix(name, attributes.Prefix)
	if l.never {
		return l
	}
	if !attributes.IsGroup(name) {
		l.finder = message.NewFinder(name)
	}
	l.prefixed = message.NewFinder(attributes.Prefix + name)
	for i := range l.groups { // each has memory for one value
		l.groups[i] = message.NewFinder(name)
	}
	return l
}

// set makes the attributes of a record the current ones.
func (a *attributesOf) set(text []byte) {
	if a.text = text; len(text) == 0 {
		a.text = nil
		return
	}
	a.grouped = false
	a.prefixed = bytes.Contains(text, []byte(`"`+attributes.Prefix))
}

func (a *attributesOf) none() bool { return a.text == nil }

// find returns the value of a name: of the record, then of the groups in their order.
func (a *attributesOf) find(l *attributeLookup) message.Value {
	if l.never {
		return message.Value{}
	}
	if l.finder != nil {
		if v := l.finder.Member(a.text); v.Kind != message.Missing {
			return attributes.Scalar(v)
		}
	}
	if a.prefixed {
		if v := l.prefixed.Member(a.text); v.Kind != message.Missing {
			return attributes.Scalar(v)
		}
	}
	a.group()
	for i, group := range a.groups {
		if group == nil {
			continue
		}
		if v := l.groups[i].Member(group); v.Kind != message.Missing {
			return attributes.Scalar(v)
		}
	}
	return message.Value{}
}

// group finds the groups.
func (a *attributesOf) group() {
	if a.grouped {
		return
	}
	a.grouped, a.groups = true, [groupCount][]byte{}
	for i, name := range attributes.Groups() {
		a.groups[i] = attributes.GroupOf(a.text, name)
	}
}

// all yields all attributes, with the names by which find finds them; those of groups last.
func (a *attributesOf) all() iter.Seq2[string, message.Value] {
	return func(yield func(string, message.Value) bool) {
		if a.none() {
			return
		}
		for name, v := range attributes.All(a.text) {
			if !yield(name, v) {
				return
			}
		}
	}
}
