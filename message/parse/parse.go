// Package parse finds the fields of messages with the parser of a service. The parser auto finds the fields of JSON and logfmt, as
// package message does, and recognizes well-known text formats (access logs, klog). Other parsers use a pattern or a regular expression.
//
// A [Parser] is compiled once. A [Splitter] splits message after message and returns the values of some fields, or all fields.
package parse

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"logstow/message"
	"logstow/message/pattern"
)

// ErrUnknownVersion is returned by [CompileStored] for an unknown parser or version, which a newer program stored.
var ErrUnknownVersion = errors.New("unknown parser or version")

// version is the current version of all parsers. A parser's version must change if it finds other fields in any message.
const version = "1"

// storedDefault is the parser of a footer without one.
const storedDefault = "auto/1"

// MaxExpression is the maximum length of an expression in bytes.
const MaxExpression = 1000

// The names of the parsers.
const (
	nameAuto    = "auto"
	nameNone    = "none"
	namePattern = "pattern"
	nameRegexp  = "regexp"
	nameW3C     = "w3c"
	nameCSV     = "csv"
)

// Parser determines which fields messages have. It is immutable and safe for concurrent use.
type Parser struct {
	name       string
	expression string   // of pattern, regexp, w3c and csv
	separator  byte     // of csv
	columns    []string // of csv, as in its header
	// One of these is set, none for the parsers "none", "w3c" and "csv".
	formats *formats
	pattern *pattern.Pattern
	regexp  *regexp.Regexp
	// captures are the names of the captures of pattern, of the columns of w3c and csv, or of the groups of regexp,
	// where "" is one without a name.
	captures []string
}

// Compile compiles a parser in the syntax of users:
//
//	auto
//	none
//	pattern '<ip> - <user> [<_>] "<method> <path> <_>" <status> <bytes>'
//	regexp '(?P<status>\d{3})'
//	w3c 'date time c-ip cs-method cs-uri-stem sc-status'
//	csv
//	csv 'time,level,user,message'
//
// The columns of csv are separated by commas, semicolons, tabs or bars. Without them, the first line of a file names them: see [Header].
// Quotes around an expression are ' or `; they may be omitted. An error names the position of the mistake, in characters from 1.
func Compile(text string) (*Parser, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	expression, start := unquoted(text, strings.TrimSpace(rest))
	return compile(name, expression, start)
}

// Auto returns the parser "auto", which is the default: one for all callers, since its formats do not change.
func Auto() *Parser { return auto() }

//nolint:gochecknoglobals // does not change
var auto = sync.OnceValue(func() *Parser { return &Parser{name: nameAuto, formats: newFormats()} })

// CompileStored parses the result of [Parser.String] or [Parser.Stored]. The error wraps [ErrUnknownVersion] if a newer program wrote
// it.
func CompileStored(stored string) (*Parser, error) {
	if stored == "" {
		stored = storedDefault
	}
	head, rest, _ := strings.Cut(stored, " ")
	name, v, _ := strings.Cut(head, "/")
	if !slices.Contains([]string{nameAuto, nameNone, namePattern, nameRegexp, nameW3C, nameCSV}, name) || v != version {
		return nil, fmt.Errorf("%w: %q", ErrUnknownVersion, head)
	}
	expression, start := unquoted(stored, rest)
	p, err := compile(name, expression, start)
	if err != nil {
		return nil, err
	}
	if p.String() != stored {
		return nil, fmt.Errorf("invalid stored parser %q", stored)
	}
	return p, nil
}

// unquoted returns an expression without its quotes, and its position in text, in characters from 1.
func unquoted(text, expression string) (string, int) {
	before := len(text) - len(strings.TrimRight(text, " \t\r\n"))
	start := len(text) - before - len(expression)
	if n := len(expression); n > 1 && (expression[0] == '\'' || expression[0] == '`') && expression[n-1] == expression[0] {
		expression = expression[1 : n-1]
		start++
	}
	return expression, utf8.RuneCountInString(text[:start]) + 1
}

// compile makes a parser; start is the position of its expression for errors, in characters.
func compile(name, expression string, start int) (*Parser, error) {
	p := &Parser{name: name, expression: expression}
	switch name {
	case nameAuto, nameNone:
		if expression != "" {
			return nil, fmt.Errorf("parser %q does not support an expression (at character %d)", name, start)
		}
		if name == nameAuto {
			return Auto(), nil
		}
		return p, nil
	case nameCSV:
		if expression == "" {
			return p, nil
		}
	case namePattern, nameRegexp, nameW3C:
		if expression == "" {
			return nil, fmt.Errorf("parser %q requires an expression (at character %d)", name, start)
		}
	default:
		return nil, fmt.Errorf("unknown parser %q: want auto, none, pattern '…', regexp '…', w3c '…' or csv", name)
	}
	if len(expression) > MaxExpression {
		return nil, fmt.Errorf("expression of %d bytes, at most %d allowed (at character %d)", len(expression), MaxExpression, start)
	}
	if at := strings.IndexFunc(expression, func(r rune) bool { return r != '\t' && unicode.IsControl(r) || r == utf8.RuneError }); at >= 0 {
		return nil, fmt.Errorf("line breaks and other control characters are not allowed (at character %d)",
			start+utf8.RuneCountInString(expression[:at]))
	}
	switch name {
	case namePattern:
		return p, p.compilePattern(start)
	case nameW3C:
		for column := range strings.FieldsSeq(expression) {
			p.captures = append(p.captures, w3cName(column))
		}
		p.captures = distinct(p.captures)
		return p, nil
	case nameCSV:
		p.separator, p.columns = separator(expression), csvColumns(expression)
		p.captures = distinct(p.columns)
		return p, nil
	}
	return p, p.compileRegexp(start)
}

func (p *Parser) compileRegexp(start int) error {
	var err error
	if p.regexp, err = regexp.Compile(p.expression); err != nil {
		return regexpError(err, p.expression, start)
	}
	p.captures = p.regexp.SubexpNames()
	for i, name := range p.captures {
		if name != "" && slices.Contains(p.captures[:i], name) {
			at := strings.LastIndex(p.expression, "<"+name+">")
			return fmt.Errorf("group <%s> occurs twice (at character %d)", name, start+utf8.RuneCountInString(p.expression[:at]))
		}
	}
	if !slices.ContainsFunc(p.captures, func(name string) bool { return name != "" }) {
		return fmt.Errorf("no named group: write (?P<name>…) (at character %d)", start)
	}
	return nil
}

// Stored returns the parser as in the metadata of a segment: its String, or "" for auto/1.
func (p *Parser) Stored() string {
	if s := p.String(); s != storedDefault {
		return s
	}
	return ""
}

// String returns the canonical form of the parser with its version, as auto/1, in one line. Parsers with the same String find the same
// fields.
func (p *Parser) String() string {
	s := p.name + "/" + version
	if p.expression != "" {
		s += " '" + p.expression + "'"
	}
	return s
}

// NameInMessage reports whether each message that has a field with this name contains the part of the name after the last dot.
func (p *Parser) NameInMessage(name string) bool {
	for {
		if p.formats != nil && p.formats.ids[name] != 0 || p.formats == nil && p.index(name) >= 0 {
			return false
		}
		own, ok := strings.CutPrefix(name, messagePrefix)
		if !ok {
			return true
		}
		name = own
	}
}

// TextInMessage reports whether a message contains text if the value of its field with this name does, except for escapes in strings of
// JSON and logfmt.
func (p *Parser) TextInMessage(name, text string) bool {
	for own, ok := strings.CutPrefix(name, messagePrefix); ok; own, ok = strings.CutPrefix(name, messagePrefix) {
		name = own
	}
	if p.name == nameCSV {
		return strings.IndexByte(text, '"') < 0
	}
	if p.formats == nil || p.formats.ids[name] == 0 || p.formats.ids[name] == idMessage {
		return true // klog escapes nothing
	}
	for i := range len(text) {
		if !message.IsPlain(text[i]) {
			return false
		}
	}
	return true
}

// Recognizes reports whether the parser recognizes JSON, logfmt and text formats, as auto does.
func (p *Parser) Recognizes() bool { return p.formats != nil }

// WholeInMessage reports whether values consist of whole words of the message. The captures of a pattern or a regular expression may be
// parts of words.
func (p *Parser) WholeInMessage() bool { return p.pattern == nil && p.regexp == nil }

// index returns the capture with a name, -1 if there is none.
func (p *Parser) index(name string) int {
	if name == "" {
		return -1
	}
	i := slices.Index(p.captures, name)
	if own, ok := strings.CutPrefix(name, messagePrefix); ok && i < 0 {
		return p.index(own)
	}
	return i
}

// places are the start and the end of each capture. Those of a missing one are negative or behind the last.
type places []int

// of returns the text of a capture of a message, not ok if it is missing.
func (p places) of(message []byte, capture int) (text []byte, ok bool) {
	if p = p[min(2*capture, len(p)):]; len(p) == 0 || p[0] < 0 {
		return nil, false
	}
	return message[p[0]:p[1]:p[1]], true
}

// match appends the captures in a message.
func (p *Parser) match(dst places, message []byte) places {
	switch {
	case p.pattern != nil:
		return p.pattern.Append(dst, message)
	case p.regexp != nil:
		return p.regexp.FindSubmatchIndex(message)
	case p.name == nameW3C:
		return matchW3C(dst, message, len(p.captures))
	case p.name == nameCSV:
		return matchCSV(dst, message, p.separator, p.columns)
	}
	return dst
}
