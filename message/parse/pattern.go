package parse

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"logstow/message/pattern"
)

// compilePattern compiles a pattern; at is its position for errors, in characters.
func (p *Parser) compilePattern(at int) error {
	start, parts := at, pattern.Split(p.expression, true)
	for i, part := range parts {
		switch name := part.Capture; {
		case name == "":
			at += utf8.RuneCountInString(part.Literal)
			continue
		case i > 0 && parts[i-1].Capture != "":
			return fmt.Errorf("no text between capture <%s> and the capture before it (at character %d)", name, at)
		case name != pattern.Unnamed && slices.Contains(parts[:i], part):
			return fmt.Errorf("capture <%s> occurs twice (at character %d)", name, at)
		}
		at += len(part.Capture) + len("<>")
	}
	p.pattern = pattern.New(parts)
	if p.captures = p.pattern.Names; len(p.captures) == 0 {
		return fmt.Errorf("no capture: write at least one <name> (at character %d)", start)
	}
	return nil
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
