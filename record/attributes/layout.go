package attributes

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// layout is how the own attributes of a record are written. Most records have the names of the one before, so that it is kept.
type layout struct {
	// names are those of the attributes, order their indexes in byte order.
	names []string
	order []int
	// keys are the names as they are written, in order, each with its comma and colon; ends are their ends.
	keys []byte
	ends []int
	// objects is the number of names that precede Cut, and each of the objects.
	objects [4]int
	valid   bool
}

// of makes the layout for members. It returns false if they exceed the limits, or have a name twice.
func (l *layout) of(members []Member) bool {
	if l.valid && len(members) == len(l.names) {
		same := 0
		for same < len(members) && members[same].Name == l.names[same] {
			same++
		}
		if same == len(members) {
			return true
		}
	}
	l.names, l.order, l.valid = l.names[:0], l.order[:0], false
	if len(members) > MaxCount {
		return false
	}
	for i := range members {
		name := members[i].Name
		if !isName(name) {
			return false
		}
		at, twice := l.find(name)
		if twice {
			return false
		}
		l.names, l.order = append(l.names, name), slices.Insert(l.order, at, i)
	}
	l.keys, l.ends = l.keys[:0], l.ends[:0]
	for _, i := range l.order {
		l.keys = append(appendString(append(l.keys, ','), l.names[i]), ':')
		l.ends = append(l.ends, len(l.keys))
	}
	for i, name := range [...]string{Cut, Resource, Scope, Stream} {
		l.objects[i], _ = l.find(name)
	}
	l.valid = true
	return true
}

// find returns where a name is, or belongs, in the order.
func (l *layout) find(name string) (at int, found bool) {
	if n := len(l.order); n == 0 || l.names[l.order[n-1]] < name {
		return n, false
	}
	return slices.BinarySearchFunc(l.order, name, func(i int, name string) int { return strings.Compare(l.names[i], name) })
}

// isName reports whether a name is within the limits.
func isName(name string) bool {
	return len(name) <= MaxName && (plain(name) == len(name) || utf8.ValidString(name))
}
