package attributes

import (
	"bytes"
	"cmp"
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
	if !utf8.ValidString(string(s)) {
		return AppendBytes(dst, []byte(s))
	}
	return appendString(dst, s)
}

func appendString[T string | []byte](dst []byte, s T) []byte {
	const del = 0x7f
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
	byName := func(a, b Member) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(members, byName) {
		slices.SortStableFunc(members, byName)
	}
	members = slices.CompactFunc(members, func(a, b Member) bool { return a.Name == b.Name })
	return members, all - len(members)
}

// appendObject appends an object of sorted, distinct members.
func appendObject(dst []byte, members []Member) []byte {
	dst = append(dst, '{')
	for i := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, members[i].Name), ':')
		dst = append(dst, members[i].Value...)
	}
	return append(dst, '}')
}
