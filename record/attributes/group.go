package attributes

import (
	"slices"
	"strings"
	"unicode/utf8"

	"logstow/message"
)

// Group is one of the objects [Resource], [Scope] and [Stream], encoded once for all records that share it. Immutable.
type Group struct {
	members []Member
	text    []byte
	cut     int
}

// NewGroup makes a Group; nil if there are no members. It sorts members, and retains them.
func NewGroup(members []Member) *Group {
	if len(members) == 0 {
		return nil
	}
	g := &Group{}
	for i := range members {
		members[i].Name = mapName(members[i].Name)
	}
	g.members, g.cut = limit(members)
	g.text = appendObject(nil, g.members)
	return g
}

// groupOf returns a Group of sorted members with valid names; nil if there are none.
func groupOf(members []Member) *Group {
	if len(members) == 0 {
		return nil
	}
	return &Group{members: members, text: appendObject(nil, members)}
}

// Set are the attributes of one record before they are encoded. One Set for many records is faster than one for each: it remembers how
// names are written. Not safe for concurrent use.
type Set struct {
	// Own are those of the record, their names as by [OwnName].
	Own []Member
	// Resource, Scope and Stream are shared by records; nil is none.
	Resource, Scope, Stream *Group
	// Cut is the number of values that were cut, or left out, before: in maps, for example.
	Cut int

	layout layout
}

// Append appends the canonical form of attributes, nothing if there are none. It may sort Own. Of equal names the first one counts.
//
// Within the limits, nothing is lost. Of more than [MaxCount] attributes those whose names come last are left out, names of more than
// [MaxName] bytes and names that are not UTF-8 are changed, and above [MaxSize] the longest values are shortened or, if they are no
// strings, left out, but never trace_id and span_id. cut is the number of attributes that this concerns; it is also the member [Cut].
func (s *Set) Append(dst []byte) (text []byte, cut int) {
	if !s.layout.of(s.Own) {
		s.Own, cut = limit(s.Own)
		s.layout.of(s.Own)
	}
	cut += s.Cut
	size := len(s.layout.keys) + len(`{"`+Cut+`":1000000000000}`)
	for i := range s.Own {
		size += len(s.Own[i].Value)
	}
	for _, g := range s.groups() {
		if g.group != nil {
			cut += g.group.cut
			size += len(g.key) + len(g.group.text)
		}
	}
	switch {
	case len(s.Own) == 0 && cut == 0 && s.Resource == nil && s.Scope == nil && s.Stream == nil:
		return dst, 0
	case size > MaxSize:
		s = s.shortened(MaxSize, &cut)
		s.layout.of(s.Own)
	}
	return s.appendAll(dst, cut), cut
}

// appendAll appends all attributes, which have a layout, and their number of cuts unless it is 0.
func (s *Set) appendAll(dst []byte, cut int) []byte {
	begin := len(dst)
	l, next, start := &s.layout, 0, 0
	groups := s.groups()
	objects := func(before int) { // that come before the own attribute of this index
		for ; next < len(l.objects) && l.objects[next] == before; next++ {
			switch {
			case next > 0:
				if g := &groups[next-1]; g.group != nil {
					dst = append(append(dst, g.key...), g.group.text...)
				}
			case cut > 0:
				dst = AppendInt(append(dst, `,"`+Cut+`":`...), int64(cut))
			}
		}
	}
	for i, own := range l.order {
		objects(i)
		dst = append(dst, l.keys[start:l.ends[i]]...)
		dst = append(dst, s.Own[own].Value...)
		start = l.ends[i]
	}
	objects(len(l.order))
	dst[begin] = '{' // instead of the comma
	return append(dst, '}')
}

// keyed is a Group with its name as it is written.
type keyed struct {
	key   string
	group *Group
}

// groups are those of the record, in the order of their names.
func (s *Set) groups() [3]keyed {
	return [...]keyed{{`,"` + Resource + `":`, s.Resource}, {`,"` + Scope + `":`, s.Scope}, {`,"` + Stream + `":`, s.Stream}}
}

// limit sorts members, and enforces MaxCount and MaxName.
func limit(members []Member) (kept []Member, cut int) {
	for i := range members {
		name := members[i].Name
		if isName(name) {
			continue
		}
		members[i].Name = strings.ToValidUTF8(name[:min(len(name), MaxName)], "")
		cut++
	}
	members, dropped := distinct(members)
	cut += dropped
	if over := len(members) - MaxCount; over > 0 {
		members, cut = keepIDs(members, MaxCount), cut+over
	}
	return members, cut
}

// keepIDs returns n of the members: the identifiers, and the first of the others.
func keepIDs(members []Member, n int) []Member {
	rest := n
	for _, m := range members {
		if isID(m.Name) {
			rest--
		}
	}
	return slices.DeleteFunc(members, func(m Member) bool {
		if isID(m.Name) {
			return false
		}
		rest--
		return rest < 0
	})
}

// isID reports whether a name is that of an identifier by which records are found, which is never cut.
func isID(name string) bool { return name == "trace_id" || name == "span_id" }

// minShort is the length in bytes that a shortened string keeps at least.
const minShort = 64

// shortened returns a copy whose encoded size is at most limit, and adds the number of changed attributes to cut.
func (s *Set) shortened(limit int, cut *int) *Set {
	parts := [][]Member{slices.Clone(s.Own), nil, nil, nil}
	for i, g := range s.groups() {
		if g.group != nil {
			parts[i+1] = slices.Clone(g.group.members)
		}
	}
	size := 128 // braces, names of objects, the number of cuts
	for _, members := range parts {
		for _, m := range members {
			size += memberSize(m)
		}
	}
	for changed := map[*Member]bool{}; size > limit; {
		longest := longest(parts)
		if longest == nil {
			break // cannot happen: identifiers are short
		}
		before := memberSize(*longest)
		longest.Value = shorten(longest.Value, len(longest.Value)-(size-limit))
		size -= before
		if longest.Value != nil {
			size += memberSize(*longest)
		}
		if !changed[longest] {
			changed[longest] = true
			*cut++
		}
	}
	for i := range parts {
		parts[i] = slices.DeleteFunc(parts[i], func(m Member) bool { return m.Value == nil })
	}
	return &Set{Own: slices.Clip(parts[0]), Resource: groupOf(parts[1]), Scope: groupOf(parts[2]), Stream: groupOf(parts[3])}
}

// memberSize is the encoded size of a member.
func memberSize(m Member) int { return len(appendString(nil, m.Name)) + len(m.Value) + len(`:,`) }

// longest returns the member with the longest value that may be cut; nil if there is none.
func longest(parts [][]Member) (found *Member) {
	for _, members := range parts {
		for i := range members {
			m := &members[i]
			if m.Value != nil && (!isID(m.Name) || len(m.Value) > minShort) && (found == nil || len(m.Value) > len(found.Value)) {
				found = m
			}
		}
	}
	return found
}

// shorten cuts an encoded string to at most n bytes, or minShort if that is more, and marks it by "…". A value that is no string, or is
// already about that short, becomes nil.
func shorten(value []byte, n int) []byte {
	const mark = "…"
	n = max(n, minShort)
	text, ok := message.Content(value)
	if !ok || len(value) <= n {
		return nil
	}
	room := n - len(`""`+mark)
	end := 0
	for end < len(text) {
		step := 1
		switch c := text[end]; {
		case c == '\\' && text[end+1] == 'u':
			step = len(`\u0000`)
		case c == '\\':
			step = 2
		case c >= utf8.RuneSelf:
			_, step = utf8.DecodeRune(text[end:])
		}
		if end+step > room {
			break
		}
		end += step
	}
	return slices.Concat([]byte(`"`), text[:end], []byte(mark+`"`))
}
