package output

import (
	"bytes"
	"fmt"
	"iter"
	"unicode/utf8"

	"logstow/internal/jsonlines"
	"logstow/message"
	"logstow/query"
	"logstow/record/attributes"
)

// attributesName is the name of a record's attributes in formats that have a place for them.
const attributesName = "attributes"

// appendAttributes appends a record's attributes as JSON that steers no terminal, nothing if there are none. What only looks like
// attributes, as a forged segment may have, is a string.
func appendAttributes(dst []byte, m *query.Match) []byte {
	text := m.Attributes()
	switch {
	case len(text) == 0:
		return dst
	case !attributes.Valid(text):
		return jsonlines.AppendString(dst, text)
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if jsonlines.Escapes(r) { // these occur in strings only
			dst = fmt.Appendf(dst, `\u%04x`, r)
		} else {
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
}

// appendAttributesMember appends the member of an object with a record's attributes if there are any.
func appendAttributesMember(dst []byte, m *query.Match) []byte {
	if len(m.Attributes()) == 0 {
		return dst
	}
	return appendAttributes(append(dst, `,"`+attributesName+`":`...), m)
}

// ownAttributes yields what attributes say about the record itself: its own ones, and the labels of its stream.
func ownAttributes(text []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		members := message.Object(text)
		for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
			if attributes.IsGroup(name) && value[0] == '{' {
				continue
			}
			if !yield(bytes.TrimPrefix(name, []byte(attributes.Prefix)), value) {
				return
			}
		}
		stream := attributes.GroupOf(text, attributes.Stream)
		if stream == nil {
			return
		}
		members = message.Object(stream)
		for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
			if !yield(name, value) {
				return
			}
		}
	}
}

// attributes writes the attributes of a record behind its fields.
func (p *parts) attributes(c *canvas, blank bool) {
	text := p.match.Attributes()
	if len(text) == 0 {
		return
	}
	all := ownAttributes(text)
	if !attributes.Valid(text) {
		all = func(yield func(name, value []byte) bool) {
			yield([]byte(attributesName), jsonlines.AppendString(nil, text))
		}
	}
	for name, value := range all {
		if blank {
			c.put(" ")
		}
		blank = true
		p.attribute(c, name, value)
	}
}

// attribute writes one attribute in a style that leaves the message in front.
func (p *parts) attribute(c *canvas, name, value []byte) {
	c.style = grey
	p.name(c, &part{source: &source{text: name}, name: name})
	c.style = grey
	s := source{text: value}
	if content, isString := message.Content(value); isString {
		p.attributeText = message.Unescape(p.attributeText[:0], content)
		s.text = p.attributeText
		c.quoted = needsQuotes(s.text)
	}
	if p.highlight != nil {
		s.places = p.highlight(nil, s.text)
	}
	c.begin(valueSpan)
	c.quote()
	c.text(&s, s.text)
	c.quote()
	c.finish()
	c.quoted, c.style = false, ""
}
