package patterns

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"logstow/message/pattern"
)

// Classifier finds the template of messages, among several, and the pattern of a line filter of LogQL, |>, for each message. Not safe
// for concurrent use.
type Classifier struct {
	matchers []*Matcher
	order    []int // of the templates: those with most constant text first
	texts    texts
	spaced   []byte
	first    []byte
}

// NewClassifier makes a Classifier of templates. Of those that match a message, the one with most constant text is its template.
func NewClassifier(templates []Template) *Classifier {
	c := &Classifier{}
	constant := make([]int, len(templates))
	for i, t := range templates {
		c.matchers, c.order = append(c.matchers, NewMatcher(t.Text)), append(c.order, i)
		constant[i] = len(t.Text) - len(Wildcard)*strings.Count(t.Text, Wildcard)
	}
	slices.SortStableFunc(c.order, func(a, b int) int { return cmp.Compare(constant[b], constant[a]) })
	return c
}

// AppendLine appends a pattern that matches the whole of a message, and returns the number of its template. It appends nothing if no
// template matches, or if the pattern would be a wildcard alone.
func (c *Classifier) AppendLine(dst, message []byte) (template int, pattern []byte) {
	text := c.texts.text(message)
	c.spaced = appendSpaced(c.spaced[:0], text)
	for _, i := range c.order {
		if c.matchers[i].matches(c.spaced) {
			return i, c.appendLine(dst, message, text, c.matchers[i].parts)
		}
	}
	return -1, dst
}

// appendLine appends the pattern of a message whose text is of a template.
func (c *Classifier) appendLine(dst, message, text []byte, parts [][]byte) []byte {
	b := lineBuilder{line: message, out: dst, literal: -1}
	start, end := bytes.Index(message, text), -1
	c.first = c.first[:0]
	if start >= 0 { // otherwise it has escapes
		end = start + len(text)
		c.first = append(c.first, prefix(message[:start])...)
	}
	c.first = append(c.first, parts[0]...)
	b.part(c.first)
	for _, part := range parts[1:] {
		b.part(part)
	}
	if end >= b.end && end < len(message) && message[end] == '"' {
		b.add(message[end : end+1])
	}
	if b.end < len(message) {
		b.out = append(b.out, Wildcard...)
	}
	if b.literal < 0 || !utf8.Valid(b.out[len(dst):]) {
		return dst
	}
	return b.out
}

// A lineBuilder makes the pattern of a line filter of LogQL, |>, that matches a line: literals with [Wildcard] between them. There,
// a wildcard matches text that is not empty, up to where the next literal occurs first. So each literal is the first occurrence after
// the one before.
type lineBuilder struct {
	line []byte
	end  int // of the last literal in line
	out  []byte
	// literal is where the last literal starts in out, -1 if there is none.
	literal int
}

// prefix is the end of the text before a value: its quote, and the name before that, such as "msg":" or msg=.
func prefix(before []byte) []byte {
	start := len(before)
	if start == 0 || before[start-1] != '"' && before[start-1] != '=' {
		return nil
	}
	for start > 0 && bytes.IndexByte([]byte(blanks+",{"), before[start-1]) < 0 {
		start--
	}
	return before[start:]
}

// part adds a constant part of the template: as it is if the line contains it, otherwise those of its words that the line contains.
// Line filters do not accept <name>, so that is a wildcard between < and >.
func (b *lineBuilder) part(part []byte) {
	for len(part) > 0 {
		next := []byte(nil)
		if at, size := pattern.Find(part, false); at >= 0 {
			part, next = part[:at+1], part[at+size-1:]
		}
		if !b.add(part) {
			for _, word := range bytes.FieldsFunc(part, func(r rune) bool { return isBlank(r) || r == '"' || r == '\\' || r == '/' }) {
				b.add(word)
			}
		}
		part = next
	}
}

// add adds a literal, if the rest of the line contains it.
func (b *lineBuilder) add(literal []byte) bool {
	gap := bytes.Index(b.line[b.end:], literal)
	if gap < 0 {
		return false
	}
	if gap > 0 {
		b.out = append(b.out, Wildcard...)
	}
	if gap > 0 || b.literal < 0 {
		b.literal = len(b.out)
	}
	before := len(b.out)
	b.out = append(b.out, literal...)
	if at, _ := pattern.Find(b.out[b.literal:], false); at >= 0 { // of the last literal and this one
		b.out = b.out[:before]
		return false
	}
	b.end += gap + len(literal)
	return true
}
