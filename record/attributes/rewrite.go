package attributes

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"logstow/message"
)

// Rewrite returns encoded attributes in which change has replaced strings, bytes and numbers, those in maps and arrays included; the same
// slice if it replaced none. name is that under which the value is found, or that of the array around it. A number that is replaced becomes
// a string. name and value are valid during the call. The result is within the limits, as by [Set.Append].
func Rewrite(text []byte, change func(name, value []byte) []byte) []byte {
	if len(text) == 0 || text[0] != '{' {
		return text
	}
	r := rewriter{text: text, change: change}
	r.object(0, len(text))
	if r.out == nil {
		return text
	}
	out := append(r.out, text[r.copied:]...)
	if len(out) <= MaxSize {
		return out
	}
	out, _ = decode(out).Append(nil)
	return out
}

// rewriter replaces values in text.
type rewriter struct {
	text   []byte
	change func(name, value []byte) []byte
	// out is the result for text[:copied], nil until a value is replaced.
	out    []byte
	copied int
	name   []byte
	space  []byte // memory for decoded values
}

// value rewrites text[start:end].
func (r *rewriter) value(start, end int) {
	v := r.text[start:end]
	switch v[0] {
	case '"':
		s, _ := message.Content(v)
		if bytes.IndexByte(s, '\\') >= 0 {
			r.space = message.Unescape(r.space[:0], s)
			s = r.space
		}
		r.replace(start, end, s)
	case '{':
		switch content, kind := special(v); kind {
		case bytesName:
			var err error
			if r.space, err = base64.StdEncoding.AppendDecode(r.space[:0], content); err == nil {
				r.replace(start, end, r.space)
			}
		case doubleName:
		default:
			r.object(start, end)
		}
	case '[':
		elements := message.Array(v)
		for e, ok := elements.Next(); ok; e, ok = elements.Next() {
			at := start + elements.Offset()
			r.value(at-len(e), at)
		}
	case 't', 'f', 'n':
	default:
		r.replace(start, end, v)
	}
}

// object rewrites the members of the object text[start:end].
func (r *rewriter) object(start, end int) {
	outer := len(r.name)
	members := message.Object(r.text[start:end])
	for key, v, ok := members.Next(); ok; key, v, ok = members.Next() {
		at := start + members.Offset()
		if start == 0 && string(key) == Cut {
			continue
		}
		if start > 0 || !IsGroup(key) || v[0] != '{' {
			r.name = appendName(r.name, key)
			if start == 0 {
				r.name = bytes.TrimPrefix(r.name, []byte(Prefix))
			}
		}
		r.value(at-len(v), at)
		r.name = r.name[:outer]
	}
}

// appendName appends the name of a member, after a dot unless it is the first one.
func appendName(name, key []byte) []byte {
	if len(name) > 0 {
		name = append(name, '.')
	}
	return message.Unescape(name, key)
}

// replace offers a value to change.
func (r *rewriter) replace(start, end int, value []byte) {
	changed := r.change(r.name, value)
	if bytes.Equal(changed, value) {
		return
	}
	r.out = append(r.out, r.text[r.copied:start]...)
	r.out = AppendText(r.out, changed)
	r.copied = end
}

// special returns the content of an object that stands for bytes or a double, and the name of its member; "" for other objects.
func special(object []byte) (content []byte, kind string) {
	for _, name := range []string{bytesName, doubleName} {
		if rest, ok := bytes.CutPrefix(object, []byte(`{"`+name+`":"`)); ok {
			if content, ok = bytes.CutSuffix(rest, []byte(`"}`)); ok && bytes.IndexByte(content, '"') < 0 {
				return content, name
			}
		}
	}
	return nil, ""
}

// decode returns encoded attributes as a Set.
func decode(text []byte) *Set {
	s := &Set{}
	for _, m := range membersOf(text) {
		group := &Group{text: m.Value}
		if IsGroup(m.Name) && m.Value[0] == '{' {
			group.members = membersOf(m.Value)
		}
		switch {
		case m.Name == Cut:
			s.Cut, _ = strconv.Atoi(string(m.Value))
		case group.members == nil:
			s.Own = append(s.Own, m)
		case m.Name == Resource:
			s.Resource = group
		case m.Name == Scope:
			s.Scope = group
		case m.Name == Stream:
			s.Stream = group
		}
	}
	return s
}

// membersOf returns the members of an object.
func membersOf(object []byte) (all []Member) {
	members := message.Object(object)
	for key, v, ok := members.Next(); ok; key, v, ok = members.Next() {
		all = append(all, Member{strings.ToValidUTF8(string(message.Unescape(nil, key)), "\ufffd"), v})
	}
	return all
}
