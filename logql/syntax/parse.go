package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of queries: the length in bytes, and how deep parentheses, functions and powers are nested.
const (
	maxLength = 128 << 10
	maxDepth  = 500
)

// Error is a mistake in a query, at a line and a column (in characters), from 1; Offset is its place in bytes, from 0.
type Error struct {
	Line, Col, Offset int
	Message           string
}

// Error reads "parse error at line L, col C: MESSAGE", as Loki's.
func (e *Error) Error() string {
	return fmt.Sprintf("parse error at line %d, col %d: %s", e.Line, e.Col, e.Message)
}

func errorAt(query string, pos int, format string, args ...any) *Error {
	before := query[:pos]
	return &Error{
		Line:    1 + strings.Count(before, "\n"),
		Col:     1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]),
		Offset:  pos,
		Message: fmt.Sprintf(format, args...),
	}
}

// Parse parses a query. Errors are an [*Error], also for constructs of Loki that Logstow does not support.
func Parse(query string) (Expr, error) {
	p, err := newParser(query)
	if err != nil {
		return nil, err
	}
	e := p.expr(0)
	p.expectEnd()
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

// ParseMatchers parses a stream selector without stages, {a="b"}, as in the parameters match[] of Loki's API. {} selects
// everything.
func ParseMatchers(selector string) ([]*Matcher, error) {
	p, err := newParser(selector)
	if err != nil {
		return nil, err
	}
	matchers := p.selector()
	p.expectEnd()
	if p.err != nil {
		return nil, p.err
	}
	return matchers, nil
}

// parser reads tokens. Behind the first error it reads no more of them: all that follows is the end of the query.
type parser struct {
	query  string
	tokens []token
	next   int
	depth  int
	// instructions are those of the regular expressions read so far.
	instructions int
	err          *Error
}

func newParser(query string) (*parser, error) {
	if len(query) > maxLength {
		return nil, errorAt(query, 0, "query of %d bytes is longer than the maximum of %d bytes", len(query), maxLength)
	}
	if !utf8.ValidString(query) {
		return nil, errorAt(query, 0, "query is not valid UTF-8")
	}
	tokens, err := tokenize(query)
	if err != nil {
		return nil, err
	}
	return &parser{query: query, tokens: tokens}, nil
}

func (p *parser) peek() token { return p.tokens[p.next] }

// following returns the token after the next one.
func (p *parser) following() token { return p.tokens[min(p.next+1, len(p.tokens)-1)] }

func (p *parser) take() token {
	t := p.tokens[p.next]
	if t.kind != tokenEnd {
		p.next++
	}
	return t
}

// fail records the first error, and ends the query.
func (p *parser) fail(at token, format string, args ...any) {
	if p.err == nil {
		p.err = errorAt(p.query, at.start, format, args...)
	}
	p.next = len(p.tokens) - 1
}

// unexpected fails at the next token.
func (p *parser) unexpected(expected string) {
	t := p.peek()
	p.fail(t, "unexpected %s, expected %s", p.describe(t), expected)
}

func (p *parser) describe(t token) string {
	switch t.kind {
	case tokenEnd:
		return "end of query"
	case tokenString:
		return "string " + quoted(t.text)
	case tokenName:
		if isKeyword(t.text) {
			return "keyword " + t.text
		}
	}
	return fmt.Sprintf("%q", p.query[t.start:t.end])
}

// accept consumes the next token if it is this symbol.
func (p *parser) accept(symbol string) bool {
	if !p.peek().is(symbol) {
		return false
	}
	p.next++
	return true
}

func (p *parser) expect(symbol, where string) {
	if !p.accept(symbol) {
		p.unexpected(fmt.Sprintf("%q %s", symbol, where))
	}
}

func (p *parser) expectEnd() {
	switch t := p.peek(); {
	case t.kind == tokenEnd:
	case t.is("@"):
		p.fail(t, "the modifier @ is not supported")
	case t.is("["):
		p.fail(t, "a range is allowed only inside a range aggregation, such as count_over_time")
	case isWord(t, "offset"):
		p.fail(t, "offset is allowed only after the range of a range aggregation: rate({…}[5m] offset 1h)")
	default:
		p.unexpected("end of query")
	}
}

// isWord reports whether a token is a keyword, in any case, as in Loki.
func isWord(t token, word string) bool {
	return t.kind == tokenName && strings.EqualFold(t.text, word)
}

// acceptWord consumes the next token if it is this keyword.
func (p *parser) acceptWord(word string) bool {
	if !isWord(p.peek(), word) {
		return false
	}
	p.next++
	return true
}

// call reports whether the next tokens are a name, in any case, and a parenthesis.
func (p *parser) call(name string) bool { return isWord(p.peek(), name) && p.following().is("(") }

func (p *parser) stringOf(what string) token {
	if p.peek().kind != tokenString {
		p.unexpected(what + " in quotes")
	}
	return p.take()
}

// label takes the name of a label.
func (p *parser) label(what string) string {
	t := p.peek()
	switch {
	case t.kind == tokenString:
		p.fail(t, "%s is not written in quotes", what)
	case t.kind != tokenName:
		p.unexpected(what)
	case isKeyword(t.text):
		p.fail(t, "%s is a keyword, and cannot be %s", t.text, what)
	}
	return p.take().text
}

const labelName = "a label name"

// labels takes label names between parentheses, which may end with a comma if trailing is set.
func (p *parser) labels(trailing bool) []string {
	p.expect("(", "and label names")
	var names []string
	for !p.accept(")") && p.err == nil {
		names = append(names, p.label(labelName))
		if !p.peek().is(")") {
			p.expect(",", "or \")\"")
			if p.peek().is(")") && !trailing {
				p.unexpected(labelName)
			}
		}
	}
	return names
}

// isKeyword reports whether a word cannot name a label: LogQL reserves it.
func isKeyword(word string) bool {
	switch strings.ToLower(word) {
	case "json", "logfmt", "unpack", "pattern", "regexp", "unwrap", "decolorize", "drop", "keep",
		"label_format", "line_format", "label_replace", "vector", "offset",
		"bool", "on", "ignoring", "group_left", "group_right":
		return true
	}
	return false
}

// enter counts a level of nesting, leave ends it.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.peek(), "query is nested deeper than %d levels", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }
