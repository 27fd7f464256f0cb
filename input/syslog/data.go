package syslog

import (
	"bytes"

	"logstow/record/attributes"
)

// messageID is the name of the attribute that has the message id.
const messageID = "msgid"

// appendAttributes appends the message id and the structured data of RFC 5424 as attributes: an element is a map with the name of its id,
// in which a parameter that occurs several times has an array. It is not ok if anything is malformed or would be cut.
func appendAttributes(dst, id, data []byte) (text []byte, ok bool) {
	var set attributes.Set
	if len(data) > attributes.MaxSize {
		return dst, false
	}
	if !isNil(id) {
		set.Own = append(set.Own, attributes.Member{Name: messageID, Value: attributes.AppendText(nil, id)})
	}
	if isNil(data) {
		data = nil
	}
	for len(data) > 0 {
		n := element(data)
		name, params, ok := parseElement(data[:n])
		if !ok {
			return dst, false
		}
		data = data[n:]
		value, dropped := attributes.AppendMap(nil, params)
		if dropped > 0 {
			return dst, false
		}
		set.Own = append(set.Own, attributes.Member{Name: attributes.OwnName(string(name), messageID), Value: value})
	}
	text, cut := set.Append(dst)
	if cut > 0 {
		return dst, false
	}
	return text, true
}

// parseElement parses [ID NAME="VALUE" …].
func parseElement(s []byte) (id []byte, params []attributes.Member, ok bool) {
	end := bytes.IndexAny(s, " ]")
	if end < 2 {
		return nil, nil, false
	}
	id, s = s[1:end], s[end:]
	values := map[string][][]byte{}
	var names []string
	for len(s) > 0 && s[0] == ' ' {
		equals := bytes.Index(s, []byte(`="`))
		if equals < 2 {
			return nil, nil, false
		}
		name := string(s[1:equals])
		value, rest, ok := paramValue(s[equals+len(`="`):])
		if !ok {
			return nil, nil, false
		}
		s = rest
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = append(values[name], attributes.AppendText(nil, value))
	}
	for _, name := range names {
		value := values[name][0]
		if len(values[name]) > 1 {
			value = attributes.AppendArray(nil, values[name])
		}
		params = append(params, attributes.Member{Name: name, Value: value})
	}
	return id, params, string(s) == "]"
}

// paramValue returns the value that s begins with, up to a quote, without its escapes, and what follows the quote.
func paramValue(s []byte) (value, rest []byte, ok bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return value, s[i+1:], true
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\' || s[i+1] == ']'):
			i++
		}
		value = append(value, s[i])
	}
	return nil, nil, false
}
