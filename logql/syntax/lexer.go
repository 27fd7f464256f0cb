package syntax

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"logstow/internal/units"
)

type tokenKind uint8

const (
	tokenEnd      tokenKind = iota
	tokenName               // a label, a keyword or a function
	tokenString             // "…" or `…`
	tokenNumber             // 5, 0.5, 1e3, 0x1f
	tokenDuration           // 1h30m
	tokenBytes              // 20MB
	tokenFlag               // --strict
	tokenSymbol             // an operator, a parenthesis, a comma
)

type token struct {
	kind       tokenKind
	start, end int     // byte offsets in the query
	text       string  // as written, unquoted for a tokenString
	value      float64 // of a quantity: a number, seconds or bytes
}

// is reports whether the token is a symbol.
func (t token) is(symbol string) bool { return t.kind == tokenSymbol && t.text == symbol }

// symbols, longer ones before their prefixes.
func symbols() []string {
	return []string{
		"|=", "|~", "|>", "!=", "!~", "!>", "=~", "==", ">=", "<=",
		"|", "=", ">", "<", "+", "-", "*", "/", "%", "^", "(", ")", "{", "}", "[", "]", ",", ":", "@",
	}
}

// lexer cuts a query into tokens.
type lexer struct {
	query   string
	pos     int
	symbols []string
}

// tokenize returns all tokens of a query, followed by a tokenEnd.
func tokenize(query string) ([]token, error) {
	l := &lexer{query: query, symbols: symbols()}
	var tokens []token
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.kind == tokenEnd {
			return tokens, nil
		}
	}
}

func (l *lexer) next() (token, error) {
	l.skipBlanks()
	start := l.pos
	if start == len(l.query) {
		return token{kind: tokenEnd, start: start, end: start}, nil
	}
	c := l.query[start]
	switch {
	case isNameStart(c):
		return l.take(tokenName, l.run(isNamePart)), nil
	case isDigit(c), c == '.' && l.digitAt(start+1):
		return l.quantity()
	case c == '"':
		return l.quoted()
	case c == '`':
		end := strings.IndexByte(l.query[start+1:], '`')
		if end < 0 {
			return token{}, errorAt(l.query, start, "string is not closed: ` is missing")
		}
		t := l.take(tokenString, start+end+2)
		t.text = t.text[1 : len(t.text)-1]
		return t, nil
	case strings.HasPrefix(l.query[start:], "--") && start+2 < len(l.query) && isNameStart(l.query[start+2]):
		l.pos += 2
		end := l.run(func(c byte) bool { return isNamePart(c) || c == '-' })
		l.pos = start
		return l.take(tokenFlag, end), nil
	}
	for _, s := range l.symbols {
		if strings.HasPrefix(l.query[start:], s) {
			return l.take(tokenSymbol, start+len(s)), nil
		}
	}
	return token{}, l.unknown()
}

// unknown is the error for a character that begins no token.
func (l *lexer) unknown() error {
	start := l.pos
	r, size := utf8.DecodeRuneInString(l.query[start:])
	switch r {
	case '\'':
		return errorAt(l.query, start, "strings are quoted with \" or `, not with '")
	case '$':
		l.pos += size
		end := l.run(func(c byte) bool { return isNamePart(c) || c == '{' || c == '}' })
		return errorAt(l.query, start, "variable %s has no value: Grafana replaces variables before it sends a query", l.query[start:end])
	}
	return errorAt(l.query, start, "unexpected character %q", r)
}

func (l *lexer) take(kind tokenKind, end int) token {
	t := token{kind: kind, start: l.pos, end: end, text: l.query[l.pos:end]}
	l.pos = end
	return t
}

// run is the end of the longest run of bytes that are part of it.
func (l *lexer) run(part func(byte) bool) int {
	end := l.pos
	for end < len(l.query) && part(l.query[end]) {
		end++
	}
	return end
}

func (l *lexer) skipBlanks() {
	for l.pos < len(l.query) {
		switch l.query[l.pos] {
		case ' ', '\t', '\n', '\r':
			l.pos++
		case '#':
			l.pos = l.run(func(c byte) bool { return c != '\n' })
		default:
			return
		}
	}
}

// quoted takes a string in double quotes, which has the escapes of Go.
func (l *lexer) quoted() (token, error) {
	start := l.pos
	for end := start + 1; end < len(l.query); end++ {
		switch l.query[end] {
		case '\\':
			end++
		case '\n':
			return token{}, errorAt(l.query, start, "string is not closed on its line: \" is missing")
		case '"':
			t := l.take(tokenString, end+1)
			text, err := strconv.Unquote(t.text)
			if err != nil {
				return token{}, errorAt(l.query, start,
					"string %s has an invalid escape: write \\\\ for a backslash, or quote with `", t.text)
			}
			t.text = text
			return t, nil
		}
	}
	return token{}, errorAt(l.query, start, "string is not closed: \" is missing")
}

// quantity takes a number, a duration or a number of bytes.
func (l *lexer) quantity() (token, error) {
	start := l.pos
	end := l.run(func(c byte) bool { return isNamePart(c) || c == '.' || c >= utf8.RuneSelf })
	if end < len(l.query) && (l.query[end] == '+' || l.query[end] == '-') && l.digitAt(end+1) && endsWithExponent(l.query[start:end]) {
		for end++; l.digitAt(end); end++ {
		}
	}
	t := l.take(tokenNumber, end)
	if n, err := parseNumber(t.text); err == nil {
		t.value = n
		return t, nil
	} else if errors.Is(err, units.ErrRange) {
		return token{}, errorAt(l.query, start, "number %s is too large", t.text)
	}
	if d, err := parseDuration(t.text); err == nil {
		t.kind, t.value = tokenDuration, d.Seconds()
		return t, nil
	} else if errors.Is(err, units.ErrRange) {
		return token{}, errorAt(l.query, start, "duration %s is too long", t.text)
	}
	if n, err := parseBytes(t.text); err == nil {
		t.kind, t.value = tokenBytes, n
		return t, nil
	}
	return token{}, errorAt(l.query, start, "%q is not a number, a duration such as 1h30m or a size such as 20MB", t.text)
}

func (l *lexer) digitAt(i int) bool { return i < len(l.query) && isDigit(l.query[i]) }

func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isNameStart(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
func isNamePart(c byte) bool  { return isNameStart(c) || isDigit(c) }

// endsWithExponent reports whether a number ends with the letter of an exponent: e, of a hexadecimal number p.
func endsWithExponent(s string) bool {
	number, letter := strings.ToLower(s[:len(s)-1]), s[len(s)-1]|0x20
	if digits, ok := strings.CutPrefix(number, "0x"); ok {
		return letter == 'p' && digits != "" && strings.Trim(digits, "0123456789abcdef._") == ""
	}
	return letter == 'e' && number != "" && strings.Trim(number, "0123456789._") == ""
}

// isLabelName reports whether s can be the name of a label.
func isLabelName(s string) bool {
	if s == "" || !isNameStart(s[0]) {
		return false
	}
	for i := range len(s) {
		if !isNamePart(s[i]) {
			return false
		}
	}
	return true
}
