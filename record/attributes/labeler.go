package attributes

import (
	"regexp"
	"slices"
	"strings"

	"logstow/message"
)

// Labeler makes attributes labels: it moves them into [Stream]. Safe for concurrent use.
type Labeler struct{ names *regexp.Regexp }

// NewLabeler makes a Labeler of the attributes of records, scopes and resources whose names match one of globs, as for [NewSelection];
// nil if there are none.
func NewLabeler(globs []string) (*Labeler, error) {
	names, err := compileGlobs(globs)
	if names == nil || err != nil {
		return nil, err
	}
	return &Labeler{names}, nil
}

// Apply returns encoded attributes with the labels in [Stream]; the same slice if nothing moves. trace_id and span_id do not move, nor maps,
// arrays and values longer than [MaxLabel], attributes whose name [Stream] has already, and those for which it has no space.
func (l *Labeler) Apply(text []byte) []byte {
	if !l.any(text) {
		return text
	}
	s := decode(text)
	var stream []Member
	if s.Stream != nil {
		stream = slices.Clone(s.Stream.members)
	}
	move := func(members []Member) (rest []Member) {
		for _, m := range members {
			taken := len(stream) >= MaxCount || slices.ContainsFunc(stream, func(o Member) bool { return o.Name == m.Name })
			if taken || !l.moves(m.Name, m.Value) {
				rest = append(rest, m)
				continue
			}
			stream = append(stream, m)
		}
		return rest
	}
	s.Own = move(s.Own)
	for _, group := range []**Group{&s.Scope, &s.Resource} {
		if *group != nil {
			*group = groupOf(move((*group).members))
		}
	}
	sortByName(stream)
	s.Stream = groupOf(stream)
	out, _ := s.Append(nil)
	return out
}

// any reports whether one of the attributes moves, unless Stream has no space for it.
func (l *Labeler) any(text []byte) bool {
	for _, object := range [][]byte{text, GroupOf(text, Scope), GroupOf(text, Resource)} {
		if len(object) == 0 {
			continue
		}
		members := message.Object(object)
		for key, v, ok := members.Next(); ok; key, v, ok = members.Next() {
			if l.moves(string(message.Unescape(nil, key)), v) {
				return true
			}
		}
	}
	return false
}

// moves reports whether an attribute is one that becomes a label.
func (l *Labeler) moves(name string, value []byte) bool {
	return isLabelValue(value) && len(value) <= MaxLabel && !isID(name) && name != Cut &&
		!strings.HasPrefix(name, Prefix) && l.names.MatchString(name)
}
