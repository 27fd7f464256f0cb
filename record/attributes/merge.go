package attributes

import "slices"

// Merge returns encoded attributes with those in more added to them, in objects, too. Of equal names that in text counts. The result may be
// more itself; it is within the limits, as by [Set.Append].
func Merge(text, more []byte) []byte {
	switch {
	case len(more) == 0 || len(text) > 0 && text[0] != '{':
		return text
	case len(text) == 0:
		return more
	}
	all, add := decode(text), decode(more)
	all.Own, all.Cut = append(all.Own, add.Own...), all.Cut+add.Cut
	all.Resource, all.Scope, all.Stream = union(all.Resource, add.Resource), union(all.Scope, add.Scope), union(all.Stream, add.Stream)
	out, _ := all.Append(nil)
	return out
}

// union returns the members of both groups, each of which may be nil.
func union(a, b *Group) *Group {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	members, cut := limit(slices.Concat(a.members, b.members))
	return &Group{members, appendObject(nil, members), a.cut + b.cut + cut}
}
