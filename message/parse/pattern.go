package parse

import (
	"bytes"
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// pattern is a compiled pattern: literal texts separated by captures.
//
// A message must start with the literal before the first capture. A capture ends at the next occurrence of the literal after it. If
// that does not occur, or there is none, the capture ends at the end of the message, and later captures are missing.
type pattern struct {
	prefix []byte
	steps  []step
}

// step is a capture and the literal after it.
type step struct {
	capture int // index of its name; -1 for <_>
	literal []byte
}

// unnamed is the capture that is not a field.
const unnamed = "_"

// compilePattern compiles a pattern; start is its position for errors, in characters. It returns the names of the captures.
func compilePattern(text string, start int) (p *pattern, names []string, err error) {
	p = &pattern{}
	literal := &p.prefix
	for i := 0; i < len(text); {
		name := captureAt(text[i:])
		if name == "" {
			*literal = append(*literal, text[i])
			i++
			continue
		}
		at := start + utf8.RuneCountInString(text[:i])
		if len(p.steps) > 0 && len(*literal) == 0 {
			return nil, nil, fmt.Errorf("no text between capture <%s> and the capture before it (at character %d)", name, at)
		}
		capture := -1
		if name != unnamed {
			if slices.Contains(names, name) {
				return nil, nil, fmt.Errorf("capture <%s> occurs twice (at character %d)", name, at)
			}
			capture = len(names)
			names = append(names, name)
		}
		p.steps = append(p.steps, step{capture: capture})
		literal = &p.steps[len(p.steps)-1].literal
		i += len(name) + len("<>")
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("no capture: write at least one <name> (at character %d)", start)
	}
	return p, names, nil
}

// captureAt returns the name of the capture that text starts with, "" if there is none. A name consists of letters, digits,
// underscores and dots, and does not start with a digit or dot.
func captureAt(text string) string {
	inner, ok := strings.CutPrefix(text, "<")
	if !ok {
		return ""
	}
	for i := range len(inner) {
		c := inner[i]
		switch {
		case c|0x20-'a' < 26 || c == '_':
		case (isDigit(c) || c == '.') && i > 0:
		case c == '>':
			return inner[:i]
		default:
			return ""
		}
	}
	return ""
}

// match finds the captures in a message and sets their places in out, by index.
func (p *pattern) match(message []byte, out []span) {
	if !bytes.HasPrefix(message, p.prefix) {
		return
	}
	i := len(p.prefix)
	for _, s := range p.steps {
		end, found := len(message), false
		if len(s.literal) > 0 {
			if n := bytes.Index(message[i:], s.literal); n >= 0 {
				end, found = i+n, true
			}
		}
		if s.capture >= 0 {
			out[s.capture] = span{set: true, start: i, end: end}
		}
		if !found {
			return
		}
		i = end + len(s.literal)
	}
}

// regexpError adds the position to an error of an expression, which starts at a character.
func regexpError(err error, expression string, start int) error {
	var at *syntax.Error
	if !errors.As(err, &at) {
		return err
	}
	i := max(strings.Index(expression, at.Expr), 0)
	return fmt.Errorf("%s: %q (at character %d)", at.Code, at.Expr, start+utf8.RuneCountInString(expression[:i]))
}
