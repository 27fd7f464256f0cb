package aggregate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"logstow/internal/hint"
	"logstow/internal/suggest"
)

// item is one item of a list as typed, trimmed, with its place in the flag's value.
type item struct {
	flag string
	list string
	text string
	at   int // offset of text in list, in bytes
}

// errorf is an error at an offset in the item.
func (i item) errorf(offset int, format string, args ...any) error {
	character := utf8.RuneCountInString(i.list[:min(i.at+offset, len(i.list))]) + 1
	return fmt.Errorf("invalid --%s: %s (at character %d)", i.flag, fmt.Sprintf(format, args...), character)
}

// unknown is the error of a name that is none of candidates.
func (i item) unknown(offset int, kind, name string, candidates []string) error {
	err := i.errorf(offset, "unknown %s %q", kind, name)
	if near := suggest.DidYouMean(name, candidates); near != "" {
		return hint.Wrap(err, "%s", near)
	}
	return hint.Wrap(err, "known: %s", strings.Join(candidates, ", "))
}

// slice is a part of the item.
func (i item) slice(from, to int) item {
	text := i.text[from:to]
	trimmed := strings.TrimLeft(text, " \t\n")
	i.at += from + len(text) - len(trimmed)
	i.text = strings.TrimRight(trimmed, " \t\n")
	return i
}

// splitLists splits the values of a flag at commas outside quotes and brackets.
func splitLists(flag string, lists []string) ([]item, error) {
	var items []item
	for _, list := range lists {
		whole := item{flag: flag, list: list, text: list}
		parts, err := whole.split()
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			if part.text == "" {
				return nil, part.errorf(0, "empty item")
			}
		}
		items = append(items, parts...)
	}
	return items, nil
}

// split splits an item at commas outside quotes and brackets.
func (i item) split() ([]item, error) {
	var parts []item
	start := 0
	if err := i.walk(func(at int) {
		if i.text[at] == ',' {
			parts = append(parts, i.slice(start, at))
			start = at + 1
		}
	}); err != nil {
		return nil, err
	}
	return append(parts, i.slice(start, len(i.text))), nil
}

// walk calls f with the offset of every byte outside quotes and brackets; it fails where they do
// not match.
func (i item) walk(f func(at int)) error {
	var open []int // offsets of brackets
	for at := 0; at < len(i.text); at++ {
		switch c := i.text[at]; c {
		case '"', '\'', '`':
			end := quotedEnd(i.text[at:])
			if end < 0 {
				return i.errorf(at, "quote %c without its end", c)
			}
			if len(open) == 0 {
				f(at)
			}
			at += end - 1
		case '(', '[', '{':
			open = append(open, at)
		case ')', ']', '}':
			if len(open) == 0 || !matches(i.text[open[len(open)-1]], c) {
				return i.errorf(at, "%c without its start", c)
			}
			open = open[:len(open)-1]
		default:
			if len(open) == 0 {
				f(at)
			}
		}
	}
	if len(open) > 0 {
		at := open[len(open)-1]
		return i.errorf(at, "%c without its end", i.text[at])
	}
	return nil
}

func matches(open, end byte) bool {
	return open == '(' && end == ')' || open == '[' && end == ']' || open == '{' && end == '}'
}

// quotedEnd is the length of the quoted text that s starts with, -1 if it does not end.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] != '`':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return -1
}

// unquote is quoted text without quotes.
func unquote(s string) (string, bool) {
	if len(s) < 2 || quotedEnd(s) != len(s) {
		return "", false
	}
	if s[0] == '\'' {
		var b strings.Builder
		for rest := s[1 : len(s)-1]; rest != ""; {
			c, _, tail, err := strconv.UnquoteChar(rest, '\'')
			if err != nil {
				return "", false
			}
			b.WriteRune(c)
			rest = tail
		}
		return b.String(), true
	}
	text, err := strconv.Unquote(s)
	return text, err == nil
}

// cutCall takes NAME(ARGUMENTS) apart; call is not set for an item without brackets.
func (i item) cutCall() (name string, arguments item, call bool, err error) {
	open := strings.IndexAny(i.text, "([{\"'`")
	if open < 0 {
		return i.text, i, false, nil
	}
	if open == 0 || i.text[open] != '(' {
		return "", i, false, i.errorf(open, "unexpected %c", i.text[open])
	}
	if i.text[len(i.text)-1] != ')' || closing(i.text, open) != len(i.text)-1 {
		return "", i, false, i.errorf(min(closing(i.text, open)+1, len(i.text)-1), "unexpected text after the closing bracket")
	}
	return strings.TrimRight(i.text[:open], " \t\n"), i.slice(open+1, len(i.text)-1), true, nil
}

// closing is the offset of the bracket that closes the one at open, outside quotes; walk saw that
// brackets match.
func closing(s string, open int) int {
	depth := 0
	for at := open; at < len(s); at++ {
		switch s[at] {
		case '"', '\'', '`':
			at += quotedEnd(s[at:]) - 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return at
			}
		}
	}
	return len(s)
}

// Field is the name of a field.
type Field struct {
	Name string
	// Fixed is set for one of the six fixed fields of a record: time, level, service, source,
	// instance, message. Otherwise it is a field of the message, whatever its name.
	Fixed bool
}

// fixedFields are the names of the fixed fields.
func fixedFields() []string {
	return []string{"time", "level", "service", "source", "instance", "message"}
}

func isFixed(name string) bool {
	for _, fixed := range fixedFields() {
		if name == fixed {
			return true
		}
	}
	return false
}

// field reads a field's name: a bare name without commas, brackets, quotes and blanks,
// field("any name"), or message.NAME for a field of the message with the name of a fixed one.
func (i item) field() (Field, error) {
	if i.text == "" {
		return Field{}, i.errorf(0, "missing field name")
	}
	name, arguments, call, err := i.cutCall()
	if err != nil {
		return Field{}, err
	}
	if call {
		if name != "field" {
			return Field{}, i.unknown(0, "function", name, []string{"field"})
		}
		text, ok := unquote(arguments.text)
		if !ok {
			return Field{}, arguments.errorf(0, `field() requires a name in quotes: field("any name")`)
		}
		return Field{Name: text}, nil
	}
	if blank := strings.IndexAny(name, " \t\n"); blank >= 0 {
		return Field{}, i.errorf(blank, `unexpected blank in a name; other names are written field("any name")`)
	}
	if bad := strings.IndexAny(name, ",)]}"); bad >= 0 {
		return Field{}, i.errorf(bad, "unexpected %c", name[bad])
	}
	if own, ok := strings.CutPrefix(name, "message."); ok && isFixed(own) {
		return Field{Name: own}, nil
	}
	return Field{Name: name, Fixed: isFixed(name)}, nil
}
