package output

import (
	"bytes"
	"encoding/json"

	"logstow/message"
	"logstow/message/parse"
	"logstow/query"
	"logstow/record/recognize"
)

const (
	// maxWrapped is how many messages inside each other are taken apart: a message and the line that it wraps,
	// as package parse does.
	maxWrapped = 2
	// maxNested is how many objects inside each other are taken apart; deeper ones are printed as JSON.
	maxNested = 8
)

// parts are a message as people read it: its texts, and its fields.
type parts struct {
	// sources are the message and the line wrapped in it, unescaped.
	sources [maxWrapped]source
	heads   []part
	members []part

	names     []byte // of objects around members
	unescaped []byte // the wrapped line
	// attributeText is the current attribute without escapes.
	attributeText []byte
	scratch       []byte
	recognizer    *recognize.Recognizer
	match         *query.Match
	highlight     func(dst [][2]int, message []byte) [][2]int
}

// part is a text or a field.
type part struct {
	source *source
	// around are the names of the objects around a field, each followed by a dot, name is its own, as
	// written in JSON.
	around, name []byte
	// value is as written, a string without its quotes.
	value []byte
	kind  partKind
}

// partKind is how a value is written.
type partKind uint8

const (
	plainPart  partKind = iota // text and numbers, verbatim
	stringPart                 // a string in JSON
	nestedPart                 // an object or array
)

// split takes a record's message apart.
func (p *parts) split(o *Writer, m *query.Match) {
	p.heads, p.members, p.names = p.heads[:0], p.members[:0], p.names[:0]
	p.match, p.highlight = m, o.opts.Highlight
	if m.Context {
		p.highlight = nil
	}
	o.message.Decode(m.Message())
	p.open(0, o.message)
	if parser := o.opts.Parser(m.Segment); parser.Recognizes() && p.structured(0) && len(p.heads)+len(p.members) > 0 {
		return
	}
	p.heads = append(p.heads, part{source: &p.sources[0], value: p.withoutRepetition(withoutNewlines(o.message), plainPart)})
}

// withoutRepetition is a text, or the content of a string in JSON, without the time and level at its start that only repeat those of the
// record, unless its first line has nothing else.
func (p *parts) withoutRepetition(text []byte, kind partKind) []byte {
	start := text
	if kind == stringPart && bytes.IndexByte(text, '\\') >= 0 {
		const longest = 256
		start = bytes.ReplaceAll(text[:min(len(text), longest)], []byte(`\t`), []byte("\t ")) // of the same length
	}
	rest := text[p.recognizer.RepeatedStart(start, p.match.Time, p.match.Level()):]
	if len(rest) == 0 || rest[0] == '\n' || rest[0] == '\r' {
		return text
	}
	return rest
}

// open makes a text one of the sources.
func (p *parts) open(depth int, text []byte) {
	s := &p.sources[depth]
	s.text, s.places = text, s.places[:0]
	if p.highlight != nil {
		s.places = p.highlight(s.places, text)
	}
}

// structured takes apart a source that is or ends with a JSON object, or consists of logfmt pairs.
func (p *parts) structured(depth int) bool {
	s := &p.sources[depth]
	before, object, ok := message.SplitJSON(s.text)
	switch {
	case !ok:
		return p.logfmt(depth)
	case bytes.IndexByte(before, '\n') >= 0, len(before) > 0 && before[len(before)-1] != ' ' && before[len(before)-1] != '\t', !json.Valid(object), isEmpty(object):
		return false
	}
	before = before[p.recognizer.RepeatedStart(before, p.match.Time, p.match.Level()):]
	if text := bytes.TrimRight(before, " \t"); len(text) > 0 {
		p.heads = append(p.heads, part{source: s, value: text})
	}
	first := len(p.members)
	p.object(s, object, nil, maxNested)
	p.takeText(depth, first)
	return true
}

// object adds the members of an object; around is the path of names of the objects around it.
func (p *parts) object(s *source, object, around []byte, depth int) {
	members := message.Object(object)
	for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
		if len(around) == 0 && p.recognizer.Repeats(name, value, p.match.Time, p.match.Level()) {
			continue
		}
		one := part{source: s, around: around, name: name, value: value}
		switch value[0] {
		case '"':
			one.value, one.kind = value[1:len(value)-1], stringPart
		case '[':
			one.kind = nestedPart
		case '{':
			one.kind = nestedPart
			if depth > 1 && !isEmpty(value) {
				at := len(p.names)
				p.names = append(append(append(p.names, around...), name...), '.')
				p.object(s, value, p.names[at:], depth-1)
				continue
			}
		}
		p.members = append(p.members, one)
	}
}

// isEmpty reports whether an object has no members.
func isEmpty(object []byte) bool {
	members := message.Object(object)
	_, _, any := members.Next()
	return !any
}

// logfmt adds the pairs of a source that consists of pairs.
func (p *parts) logfmt(depth int) bool {
	s := &p.sources[depth]
	first := len(p.members)
	text := bytes.Trim(s.text, " \r\n")
	for i := 0; ; i++ {
		for i < len(text) && text[i] == ' ' {
			i++
		}
		pair := logfmtPair(text, i)
		if pair.Value == nil {
			p.members = p.members[:first]
			return false
		}
		if !p.recognizer.Repeats(pair.Name, pair.Value, p.match.Time, p.match.Level()) {
			one := part{source: s, name: pair.Name, value: pair.Value}
			if pair.Quoted {
				one.value, one.kind = pair.Text(), stringPart
			}
			p.members = append(p.members, one)
		}
		if i = pair.End; i == len(text) {
			break
		}
	}
	p.takeText(depth, first)
	return true
}

// logfmtPair returns the pair at text[i], without a value if it is none, or a control character follows it.
func logfmtPair(text []byte, i int) message.Pair {
	pair := message.PairAt(text, i)
	if !message.IsPairName(pair.Name) || !pair.Quoted && bytes.HasPrefix(pair.Value, []byte{'"'}) ||
		pair.Quoted && !pair.Strict || pair.End < len(text) && text[pair.End] != ' ' {
		return message.Pair{}
	}
	return pair
}

// takeText moves the member that is the text of the message to the texts. If it is a wrapped line whose fields are those of
// the message, takeText splits it, too.
func (p *parts) takeText(depth, first int) {
	var line []byte
	if depth+1 < maxWrapped {
		line = parse.LineInside(p.sources[depth].text)
	}
	best, rank, wraps := -1, 0, false
	for i := first; i < len(p.members); i++ {
		one := &p.members[i]
		if len(one.around) > 0 || one.kind == nestedPart || string(one.value) == "null" {
			continue
		}
		if line != nil && len(one.value) > 0 && &one.value[0] == &line[0] {
			best, wraps = i, true
			break
		}
		if r := textRank(one.name); r > rank {
			best, rank = i, r
		}
	}
	if best < 0 {
		return
	}
	one := p.members[best]
	p.members = append(p.members[:best], p.members[best+1:]...)
	if wraps {
		p.unescaped = message.Unescape(p.unescaped[:0], line)
		p.open(depth+1, p.unescaped)
		outer := len(p.members)
		if p.structured(depth + 1) { // its fields come first
			rotate(p.members[first:], outer-first)
			return
		}
	}
	if one.value = withoutNewlines(one.value); one.kind == stringPart {
		one.value = withoutEscapedNewlines(one.value)
	}
	if one.value = p.withoutRepetition(one.value, one.kind); len(one.value) > 0 {
		p.heads = append(p.heads, one)
	}
}

// rotate moves the first n parts to the end.
func rotate(all []part, n int) {
	moved := append([]part(nil), all[:n]...)
	copy(all[copy(all, all[n:]):], moved)
}

// textRank is above 0 for the names of members that hold the text of a message, the higher the better.
func textRank(name []byte) int {
	switch string(name) {
	case "message":
		return 7
	case "msg":
		return 6
	case "short_message": // GELF
		return 5
	case "log": // of containers
		return 4
	case "body": // OpenTelemetry
		return 3
	case "event": // structlog
		return 2
	case "@m": // Serilog's compact format
		return 1
	}
	return 0
}

// withoutNewlines is text without the ends of lines at its end: \n, \r\n, and the \r of a line of CRLF.
func withoutNewlines(text []byte) []byte {
	for text = bytes.TrimSuffix(text, []byte("\r")); bytes.HasSuffix(text, []byte("\n")); {
		text = bytes.TrimSuffix(text[:len(text)-1], []byte("\r"))
	}
	return text
}

// withoutEscapedNewlines is the same of a string in JSON.
func withoutEscapedNewlines(text []byte) []byte {
	if endsEscaped(text, 'r') {
		text = text[:len(text)-2]
	}
	for endsEscaped(text, 'n') {
		if text = text[:len(text)-2]; endsEscaped(text, 'r') {
			text = text[:len(text)-2]
		}
	}
	return text
}

// endsEscaped reports whether a JSON string ends with the escape of a backslash and c.
func endsEscaped(text []byte, c byte) bool {
	n := len(text) - 1
	return n > 0 && text[n] == c && (n-len(bytes.TrimRight(text[:n], `\`)))%2 == 1
}

// texts writes the texts.
func (p *parts) texts(c *canvas) {
	for i := range p.heads {
		if i > 0 {
			c.put(" ")
		}
		one := &p.heads[i]
		c.begin(textSpan)
		if one.kind == stringPart {
			c.unescaped(one.source, one.value)
		} else {
			c.text(one.source, one.value)
		}
		c.finish()
	}
}

// fields writes the fields of one line.
func (p *parts) fields(c *canvas) {
	blank := len(p.heads) > 0 && len(p.heads[0].value) > 0
	for i := range p.members {
		one := &p.members[i]
		if one.isBlock(p) {
			continue
		}
		if blank {
			c.put(" ")
		}
		blank = true
		p.name(c, one)
		c.begin(valueSpan)
		p.value(c, one)
		c.finish()
	}
	p.attributes(c, blank)
}

// blocks writes the fields of several lines.
func (p *parts) blocks(c *canvas) {
	for i := range p.members {
		one := &p.members[i]
		if !one.isBlock(p) {
			continue
		}
		c.indent = indentText
		c.newline()
		c.indent = indentField
		p.name(c, one)
		c.begin(textSpan)
		c.unescaped(one.source, withoutEscapedNewlines(one.value))
		c.finish()
	}
}

// isBlock reports whether a value has several lines.
func (one *part) isBlock(p *parts) bool {
	if one.kind != stringPart {
		return false
	}
	text := withoutEscapedNewlines(one.value)
	if bytes.IndexByte(text, '\n') >= 0 {
		return true
	}
	if !bytes.Contains(text, []byte(`\n`)) {
		return false
	}
	p.scratch = message.Unescape(p.scratch[:0], text)
	return bytes.IndexByte(p.scratch, '\n') >= 0
}

// name writes the name of a field and =.
func (p *parts) name(c *canvas, one *part) {
	c.style = grey
	p.scratch = message.Unescape(message.Unescape(p.scratch[:0], one.around), one.name)
	c.quoted = nameNeedsQuotes(p.scratch)
	c.quote()
	c.unescaped(&source{text: one.around}, one.around)
	c.unescaped(one.source, one.name)
	c.quote()
	c.quoted = false
	c.put("=")
	c.style = ""
}

// value writes the value of a field.
func (p *parts) value(c *canvas, one *part) {
	switch one.kind {
	case plainPart:
		c.text(one.source, one.value)
	case nestedPart:
		p.nested(c, one)
	case stringPart:
		text := one.value
		if bytes.IndexByte(text, '\\') >= 0 {
			p.scratch = message.Unescape(p.scratch[:0], text)
			text = p.scratch
		}
		c.quoted = needsQuotes(text)
		c.quote()
		c.unescaped(one.source, one.value)
		c.quote()
		c.quoted = false
	}
}

// quote writes the quote around text in quotes.
func (c *canvas) quote() {
	if c.quoted {
		c.put(`"`)
	}
}

// nested writes an object or array as in the message, without blanks between its tokens if it has several
// lines.
func (p *parts) nested(c *canvas, one *part) {
	value := one.value
	if !bytes.ContainsAny(value, "\n\r\t") {
		c.text(one.source, value)
		return
	}
	for start := 0; start < len(value); {
		end := start
		switch b := value[start]; b {
		case ' ', '\t', '\n', '\r':
			start++
			continue
		case '"':
			end = message.StringEnd(value, start+1) + 1
		default:
			for end++; end < len(value) && value[end] > ' ' && value[end] != '"'; {
				end++
			}
		}
		c.text(one.source, value[start:end])
		start = end
	}
}
