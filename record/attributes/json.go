package attributes

import (
	"bytes"

	"logstow/message"
)

// AppendJSON appends a value of JSON. Numbers keep their digits. What is nested more than [MaxDepth] deep, or is no JSON, becomes a string,
// so does an array or object of more than [MaxSize] bytes.
// dropped is the number of members of maps whose names occurred before them.
func AppendJSON(dst, raw []byte) (text []byte, dropped int) { return appendJSON(dst, raw, 0) }

// AppendObject appends the members of a JSON object as attributes of a record, within the limits as by [Set.Append]. What is no valid
// object, or has more than [MaxSize] bytes, becomes one attribute, attrs.
func AppendObject(dst, object []byte) []byte {
	var members []Member
	dropped, ok := 0, false
	if len(object) <= MaxSize {
		members, dropped, ok = jsonMembers(object, 0)
	}
	if !ok {
		members, dropped = []Member{{"attrs", AppendText(nil, object)}}, 0
	}
	for i := range members {
		members[i].Name = OwnName(members[i].Name)
	}
	set := Set{Own: members, Cut: dropped}
	dst, _ = set.Append(dst)
	return dst
}

func appendJSON(dst, raw []byte, depth int) (text []byte, dropped int) {
	if content, ok := message.Content(raw); ok {
		if bytes.IndexByte(content, '\\') >= 0 {
			content = message.Unescape(nil, content)
		}
		return AppendText(dst, content), 0
	}
	switch {
	case len(raw) == 0 || len(raw) > MaxSize || depth == MaxDepth:
	case raw[0] == '{':
		if members, n, ok := jsonMembers(raw, depth); ok {
			text, dropped = AppendMap(dst, members)
			return text, dropped + n
		}
	case raw[0] == '[':
		if values, n, ok := jsonElements(raw, depth); ok {
			return AppendArray(dst, values), n
		}
	case value(raw, 0, 0) == len(raw):
		return append(dst, raw...), 0
	}
	return AppendText(dst, raw), 0
}

// jsonMembers encodes the members of an object; not ok if it is not valid.
func jsonMembers(object []byte, depth int) (all []Member, dropped int, ok bool) {
	members := message.Object(object)
	for key, v, ok := members.NextStrict(); ok; key, v, ok = members.NextStrict() {
		v, n := appendJSON(nil, v, depth+1)
		dropped += n
		all = append(all, Member{string(message.Unescape(nil, key)), v})
	}
	end, ok := members.End()
	return all, dropped, ok && end == len(object)
}

// jsonElements encodes the elements of an array; not ok if it is not valid.
func jsonElements(array []byte, depth int) (all [][]byte, dropped int, ok bool) {
	elements := message.Array(array)
	for v, ok := elements.Next(); ok; v, ok = elements.Next() {
		v, n := appendJSON(nil, v, depth+1)
		dropped += n
		all = append(all, v)
	}
	rest := message.TrimBlank(array[elements.Offset():])
	return all, dropped, len(rest) == 1 && rest[0] == ']'
}
