package attributes

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"logstow/message"
)

// Selection removes attributes by their names. Safe for concurrent use.
type Selection struct {
	keep, drop *regexp.Regexp // nil is none
	// dropIDs are the names of identifiers to remove.
	dropIDs []string
}

// NewSelection makes a Selection that removes attributes which match one of drop and, if there are any in keep, those that match none of
// them; nil if both are empty. In a glob, * is any text and ? one character. It matches a name as it is found: that of an attribute of
// the record, of one in an object such as [Resource], with or without the name of that object, and of a member of a map, with dots. What
// is said of a map or an object applies to its members. trace_id and span_id are removed only if drop has exactly these names.
func NewSelection(keep, drop []string) (*Selection, error) {
	if len(keep)+len(drop) == 0 {
		return nil, nil //nolint:nilnil // documented
	}
	s := &Selection{dropIDs: slices.DeleteFunc(slices.Clone(drop), func(name string) bool { return !isID(name) })}
	var err error
	if s.keep, err = compileGlobs(keep); err != nil {
		return nil, err
	}
	s.drop, err = compileGlobs(drop)
	return s, err
}

func compileGlobs(globs []string) (*regexp.Regexp, error) {
	if len(globs) == 0 {
		return nil, nil //nolint:nilnil // nothing matches
	}
	all := make([]string, len(globs))
	for i, glob := range globs {
		if glob == "" || len(glob) > MaxName {
			return nil, fmt.Errorf("%.40q is not a glob of names: want 1 to %d bytes", glob, MaxName)
		}
		all[i] = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(glob))
	}
	re, err := regexp.Compile("^(?s:" + strings.Join(all, "|") + ")$")
	if err != nil {
		return nil, errors.New("the globs of names are too long")
	}
	return re, nil
}

// Apply returns encoded attributes without those that are removed; the same slice if there are none, and nothing if none is left.
func (s *Selection) Apply(text []byte) []byte {
	if len(text) == 0 || text[0] != '{' {
		return text
	}
	a := selecting{Selection: s, out: make([]byte, 0, len(text))}
	switch a.object(text, true, s.keep == nil); {
	case a.removed == 0:
		return text
	case len(a.out) == len("{}"):
		return nil
	}
	return a.out
}

// selecting applies a Selection to the attributes of one record.
type selecting struct {
	*Selection
	out     []byte
	removed int
	// name is that of the current member; name[:bare] is not part of the name under which it is found.
	name []byte
	bare int
}

// object appends an object with the members that stay. kept is set if keep matches the object, and so its members.
func (a *selecting) object(object []byte, top, kept bool) {
	outer := len(a.name)
	a.out = append(a.out, '{')
	begin := len(a.out)
	members := message.Object(object)
	for key, v, ok := members.Next(); ok; key, v, ok = members.Next() {
		a.name = appendName(a.name, key)
		before := len(a.out)
		if before > begin {
			a.out = append(a.out, ',')
		}
		a.out = append(append(append(a.out, '"'), key...), `":`...)
		switch {
		case top && IsGroup(key) && v[0] == '{':
			ok = a.member(v, kept, len(a.name)+1)
		case top && bytes.HasPrefix(key, []byte(Prefix)):
			ok = a.member(v, kept, len(Prefix))
		case top && a.stays():
			a.out = append(a.out, v...)
		case top:
			ok = a.member(v, kept, 0)
		default:
			ok = a.member(v, kept, a.bare)
		}
		if !ok {
			a.out = a.out[:before]
			a.removed++
		}
		a.name = a.name[:outer]
	}
	a.out = append(a.out, '}')
}

// stays reports whether the current member of the record is none of those that are selected.
func (a *selecting) stays() bool {
	return string(a.name) == Cut || isID(string(a.name)) && !slices.Contains(a.dropIDs, string(a.name))
}

// member appends the value of the current member, and reports whether it stays. The names in the value begin at bare.
func (a *selecting) member(v []byte, kept bool, bare int) bool {
	defer func(bare int) { a.bare = bare }(a.bare)
	a.bare = min(bare, len(a.name))
	if a.matches(a.drop) {
		return false
	}
	kept = kept || a.matches(a.keep)
	if _, kind := special(v); v[0] != '{' || kind != "" || len(v) == len("{}") {
		a.out = append(a.out, v...)
		return kept
	}
	a.bare = bare
	begin := len(a.out)
	a.object(v, false, kept)
	return len(a.out) > begin+len("{}")
}

// matches reports whether an expression matches the current name, whole or as it is found.
func (a *selecting) matches(re *regexp.Regexp) bool {
	return re != nil && (re.Match(a.name[a.bare:]) || a.bare > 0 && re.Match(a.name))
}
