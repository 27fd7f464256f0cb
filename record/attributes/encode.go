package attributes

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"logstow/message"
)

// Member is an attribute: its name and its value as encoded by the Append functions.
type Member struct {
	Name  string
	Value []byte
}

// AppendText appends a string; bytes if it is not UTF-8.
func AppendText[T string | []byte](dst []byte, s T) []byte {
	if plain(s) < len(s) && !isUTF8(s) {
		return AppendBytes(dst, []byte(s))
	}
	return appendString(dst, s)
}

// plain returns how many bytes at the start of s are ASCII and need no escape.
func plain[T string | []byte](s T) (n int) {
	for n < len(s) && s[n]-' ' < del-' ' && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}

func isUTF8[T string | []byte](s T) bool {
	if b, ok := any(s).([]byte); ok {
		return utf8.Valid(b)
	}
	return utf8.ValidString(string(s))
}

const del = 0x7f

func appendString[T string | []byte](dst []byte, s T) []byte {
	if plain(s) == len(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	at := len(dst)
	dst = message.AppendString(dst, s)
	for i := at; i < len(dst); i++ {
		if dst[i] == del {
			dst = slices.Replace(dst, i, i+1, []byte(`\u007f`)...)
		}
	}
	return dst
}

// AppendBytes appends bytes.
func AppendBytes(dst, b []byte) []byte {
	dst = append(dst, `{"`+bytesName+`":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, `"}`...)
}

// AppendInt appends an integer.
func AppendInt(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

// AppendDouble appends a double in the shortest form that parses to the same number, with a fraction or an exponent.
func AppendDouble(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		dst = append(dst, `{"`+doubleName+`":`...)
		return append(message.AppendFloat(dst, v, 64), '}')
	}
	at := len(dst)
	dst = message.AppendFloat(dst, v, 64)
	if !bytes.ContainsAny(dst[at:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// AppendBool appends a truth value.
func AppendBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

// AppendNull appends a value without a type.
func AppendNull(dst []byte) []byte { return append(dst, "null"...) }

// AppendMap appends a map. It sorts members; of equal names the first one counts, and dropped is the number of the others.
func AppendMap(dst []byte, members []Member) (text []byte, dropped int) {
	for i := range members {
		members[i].Name = mapName(strings.ToValidUTF8(members[i].Name, "\ufffd"))
	}
	members, dropped = distinct(members)
	return appendObject(dst, members), dropped
}

// AppendArray appends an array of encoded values.
func AppendArray(dst []byte, values [][]byte) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v...)
	}
	return append(dst, ']')
}

// distinct sorts members by name and removes all but the first of each name.
func distinct(members []Member) (kept []Member, dropped int) {
	all := len(members)
	sorted := true
	for i := 1; i < all && sorted; i++ {
		sorted = members[i-1].Name < members[i].Name
	}
	if sorted {
		return members, 0
	}
	sortByName(members)
	members = slices.CompactFunc(members, func(a, b Member) bool { return a.Name == b.Name })
	return members, all - len(members)
}

// sortByName sorts members, those of the same name in their order.
func sortByName(members []Member) {
	const few = 24
	if len(members) > few {
		slices.SortStableFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		return
	}
	for i := 1; i < len(members); i++ {
		m, at := members[i], i
		for at > 0 && m.Name < members[at-1].Name {
			at--
		}
		if at < i {
			copy(members[at+1:i+1], members[at:i])
			members[at] = m
		}
	}
}

// appendObject appends an object of sorted, distinct members.
func appendObject(dst []byte, members []Member) []byte {
	dst = append(dst, '{')
	for i := range members {
		dst = appendMember(dst, &members[i])
	}
	return append(dst, '}')
}

// appendMember appends a member of the object that dst ends with.
func appendMember(dst []byte, m *Member) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(appendString(dst, m.Name), ':')
	return append(dst, m.Value...)
}
