package attributes

import (
	"cmp"
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

// Set are the attributes of one record before they are encoded.
type Set struct {
	// Own are those of the record, their names as by [OwnName].
	Own []Member
	// Resource, Scope and Stream are shared by records; nil is none.
	Resource, Scope, Stream *Group
	// Cut is the number of attributes that were cut or left out before.
	Cut int
}

// Append appends the canonical form of attributes, nothing if there are none. It sorts Own. Of equal names the first one counts.
//
// Within the limits, nothing is lost. Of more than [MaxCount] attributes those whose names come last are left out, names of more than
// [MaxName] bytes and names that are not UTF-8 are changed, and above [MaxSize] the longest values are shortened or, if they are no
// strings, left out, but never trace_id and span_id. cut is the number of attributes that this concerns; it is also the member [Cut].
func (s *Set) Append(dst []byte) (text []byte, cut int) {
	own, n := limit(s.Own)
	cut = s.Cut + n
	s.Own = own[:len(own):len(own)]
	size := 2
	for i := range own {
		size += len(own[i].Name) + len(own[i].Value) + 4
	}
	for _, g := range []*Group{s.Resource, s.Scope, s.Stream} {
		if g != nil {
			cut += g.cut
			size += len(g.text) + len(`"resource":,`)
		}
	}
	if size == 2 && cut == 0 {
		return dst, 0
	}
	if size <= MaxSize-len(`"$cut":1000000,`) {
		return s.appendAll(dst, cut), cut
	}
	shortened := s.shortened(MaxSize, &cut)
	return shortened.appendAll(dst, cut), cut
}

// appendAll appends all attributes, and their number of cuts unless it is 0.
func (s *Set) appendAll(dst []byte, cut int) []byte {
	all := s.Own
	add := func(name string, text []byte) {
		at, _ := slices.BinarySearchFunc(all, name, func(m Member, name string) int { return cmp.Compare(m.Name, name) })
		all = slices.Insert(all, at, Member{name, text})
	}
	for name, g := range s.groups() {
		if g != nil {
			add(name, g.text)
		}
	}
	if cut > 0 {
		add(Cut, AppendInt(nil, int64(cut)))
	}
	return appendObject(dst, all)
}

func (s *Set) groups() func(yield func(string, *Group) bool) {
	return func(yield func(string, *Group) bool) {
		_ = yield(Resource, s.Resource) && yield(Scope, s.Scope) && yield(Stream, s.Stream)
	}
}

// limit sorts members, and enforces MaxCount and MaxName.
func limit(members []Member) (kept []Member, cut int) {
	for i := range members {
		name := members[i].Name
		if len(name) <= MaxName && utf8.ValidString(name) {
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
	for i, g := range []*Group{s.Resource, s.Scope, s.Stream} {
		if g != nil {
			parts[i+1] = slices.Clone(g.members)
		}
	}
	size := 128 // braces, names of objects, the number of cuts
	for _, members := range parts {
		for _, m := range members {
			size += len(appendString(nil, m.Name)) + len(m.Value) + 2
		}
	}
	for changed := map[*Member]bool{}; size > limit; {
		longest := longest(parts)
		if longest == nil {
			break // cannot happen: identifiers are short
		}
		before := len(longest.Value)
		longest.Value = shorten(longest.Value, before-(size-limit))
		size -= before - len(longest.Value)
		if !changed[longest] {
			changed[longest] = true
			*cut++
		}
	}
	for i := range parts {
		parts[i] = slices.DeleteFunc(parts[i], func(m Member) bool { return m.Value == nil })
	}
	group := func(members []Member) *Group {
		if len(members) == 0 {
			return nil
		}
		return &Group{members: members, text: appendObject(nil, members)}
	}
	return &Set{Own: parts[0][:len(parts[0]):len(parts[0])], Resource: group(parts[1]), Scope: group(parts[2]), Stream: group(parts[3])}
}

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
	text = message.Unescape(nil, text)
	for {
		for len(text) > 0 { // to the end of a character
			if r, size := utf8.DecodeLastRune(text); r != utf8.RuneError || size > 1 {
				break
			}
			text = text[:len(text)-1]
		}
		short := appendString(nil, string(text)+mark)
		if len(short) <= n {
			return short
		}
		text = text[:max(0, min(len(text)-(len(short)-n)/6, len(text)-1))] // an escape takes up to six bytes
	}
}
