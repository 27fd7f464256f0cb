package push

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"logstow/input/httpserver"
	"logstow/message"
)

// json collects the entries of a request in JSON, which it unescapes in place:
//
//	{"streams":[{"stream":{NAME:VALUE,…},"values":[[NANOSECONDS,LINE,{NAME:VALUE,…}],…]},…]}
func (c *collector) json(request []byte) error {
	if !json.Valid(request) {
		return fmt.Errorf("%w: not valid JSON", httpserver.ErrBody)
	}
	var streams, unused []byte
	if err := members(bytes.TrimSpace(request), "streams", &streams, "", &unused); err != nil {
		return err
	}
	if streams == nil {
		return fmt.Errorf(`%w: no member "streams"`, httpserver.ErrBody)
	}
	return elements(streams, "streams", func(element []byte) error {
		var labels, values []byte
		if err := members(element, "stream", &labels, "values", &values); err != nil {
			return err
		}
		if values == nil { // it may have its entries under another name
			c.reject(fmt.Sprintf(`the stream %.100q has no array "values"`, element))
			return nil
		}
		if err := c.charge(labels); err != nil {
			return err
		}
		s, err := c.jsonStream(labels)
		if err != nil {
			return err
		}
		return elements(values, "values", func(value []byte) error { return c.jsonEntry(&s, value) })
	})
}

// jsonStream makes a stream of an object of labels, or of labels as text.
func (c *collector) jsonStream(value []byte) (stream, error) {
	if text, ok := unquote(value); ok {
		return c.parseStream(string(text))
	}
	labels, ok := pairs(nil, value)
	if !ok {
		return stream{invalid: fmt.Sprintf("the labels %.100q are malformed: want an object of strings", value)}, nil
	}
	return c.stream(labels)
}

func (c *collector) jsonEntry(s *stream, value []byte) error {
	if len(value) == 0 || value[0] != '[' {
		c.reject(fmt.Sprintf("the entry %.100q is not an array", value))
		return nil
	}
	in := message.Array(value)
	when, _ := in.Next()
	quoted, ok := in.Next()
	if text, isText := unquote(when); isText {
		when = text
	}
	nanos, err := strconv.ParseInt(string(when), 10, 64)
	if err != nil {
		c.reject(fmt.Sprintf("the timestamp %.100q is not a number of nanoseconds", when))
		return nil //nolint:nilerr // the entry is rejected, not the request
	}
	line, isText := unquote(quoted)
	if !ok || !isText {
		c.reject(fmt.Sprintf("the line %.100q is not a string", quoted))
		return nil
	}
	c.metadata = c.metadata[:0]
	if metadata, ok := in.Next(); ok {
		if err := c.charge(metadata); err != nil {
			return err
		}
		if c.metadata, ok = pairs(c.metadata, metadata); !ok {
			c.reject(fmt.Sprintf("the structured metadata %.100q is not an object of strings", metadata))
			return nil
		}
	}
	if err := c.expect(s, 1); err != nil {
		return err
	}
	return c.entry(s, nanos, line)
}

// members reads two members of an object. Members that are missing or null remain nil.
func members(object []byte, name1 string, value1 *[]byte, name2 string, value2 *[]byte) error {
	if len(object) == 0 || object[0] != '{' {
		return fmt.Errorf("%w: want an object with the member %q", httpserver.ErrBody, name1)
	}
	in := message.Object(object)
	for {
		name, value, ok := in.Next()
		switch {
		case !ok:
			return nil
		case string(value) == "null":
		case string(name) == name1:
			*value1 = value
		case string(name) == name2:
			*value2 = value
		}
	}
}

// elements calls yield with each element of an array.
func elements(array []byte, name string, yield func([]byte) error) error {
	if array[0] != '[' {
		return fmt.Errorf("%w: %q is not an array", httpserver.ErrBody, name)
	}
	in := message.Array(array)
	for {
		value, ok := in.Next()
		if !ok {
			return nil
		}
		if err := yield(value); err != nil {
			return err
		}
	}
}

// pairs appends the members of an object, which must be texts. null counts as an object without members.
func pairs(to []label, object []byte) ([]label, bool) {
	if len(object) == 0 || string(object) == "null" {
		return to, true
	}
	if object[0] != '{' {
		return to, false
	}
	in := message.Object(object)
	for {
		name, value, ok := in.Next()
		if !ok {
			return to, true
		}
		text, ok := unquote(value)
		name = message.Unescape(nil, name)
		if !ok || !validName(string(name)) {
			return to, false
		}
		to = append(to, label{string(name), string(text)})
	}
}

// unquote returns the text of a quoted string. It may change the string.
func unquote(value []byte) ([]byte, bool) {
	text, ok := message.Content(value)
	return message.UnescapeInPlace(text), ok
}
