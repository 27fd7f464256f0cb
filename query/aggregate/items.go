package aggregate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"logstow/field"
	"logstow/internal/hint"
	"logstow/internal/list"
	"logstow/internal/suggest"
)

// item is one item of a list as typed, or a part of one.
type item struct{ list.Item }

// unknown returns the error of a name that is not among candidates.
func (i item) unknown(kind, name string, candidates []string) error {
	err := i.Errorf(0, "unknown %s %q", kind, name)
	if near := suggest.DidYouMean(name, candidates); near != "" {
		return hint.Wrap(err, "%s", near)
	}
	return hint.Wrap(err, "known: %s", strings.Join(candidates, ", "))
}

// slice returns a part of the item.
func (i item) slice(from, to int) item { return item{i.Slice(from, to)} }

// parseLists calls parse with every item of the lists that are the values of a flag.
func parseLists(flag string, lists []string, parse func(item) error) error {
	for _, one := range lists {
		items, err := list.Split(one)
		for _, i := range items {
			if err == nil {
				err = parse(item{i})
			}
		}
		if err != nil {
			return fmt.Errorf("invalid --%s: %w", flag, err)
		}
	}
	return nil
}

// split splits an item at commas outside quotes and brackets.
func (i item) split() ([]item, error) {
	parts, err := i.Split()
	items := make([]item, 0, len(parts))
	for _, part := range parts {
		items = append(items, item{part})
	}
	return items, err
}

// unquote removes the quotes and escapes of quoted text.
func unquote(s string) (string, bool) {
	if len(s) < 2 || list.QuotedEnd(s) != len(s) {
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

// cutCall splits NAME(ARGUMENTS); call is not set for an item without brackets.
func (i item) cutCall() (name string, arguments item, call bool, err error) {
	open := strings.IndexAny(i.Text, "([{\"'`")
	if open < 0 {
		return i.Text, i, false, nil
	}
	if open == 0 || i.Text[open] != '(' {
		return "", i, false, i.Errorf(open, "unexpected %c", i.Text[open])
	}
	if i.Text[len(i.Text)-1] != ')' || closing(i.Text, open) != len(i.Text)-1 {
		return "", i, false, i.Errorf(min(closing(i.Text, open)+1, len(i.Text)-1), "unexpected text after the closing bracket")
	}
	return strings.TrimRight(i.Text[:open], " \t\n"), i.slice(open+1, len(i.Text)-1), true, nil
}

// closing returns the offset of the bracket that closes the one at open, outside quotes. [list.Split] has checked that
// brackets match.
func closing(s string, open int) int {
	depth := 0
	for at := open; at < len(s); at++ {
		switch s[at] {
		case '"', '\'', '`':
			at += list.QuotedEnd(s[at:]) - 1
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

// name reads a name, as [field.ParseName] does.
func (i item) name() (field.Name, error) {
	if i.Text == "" {
		return field.Name{}, i.Errorf(0, "missing field name")
	}
	n, err := field.ParseName(i.Text)
	var bad *field.NameError
	if errors.As(err, &bad) {
		at := i.Errorf(bad.Offset, "%s: %s", bad.Name, bad.Problem)
		return n, hintOf(at, err)
	}
	if err != nil {
		return n, i.at(err)
	}
	return n, nil
}

// at returns an error about the whole item.
func (i item) at(err error) error { return hintOf(i.Errorf(0, "%v", err), err) }

// hintOf adds the hint of another error to err, if it has one.
func hintOf(err, other error) error {
	if advice := hint.Of(other); advice != "" {
		return hint.Wrap(err, "%s", advice)
	}
	return err
}

// field reads the name of a field.
func (i item) field() (field.Name, error) {
	n, err := i.name()
	if err == nil && !n.Step.IsZero() {
		err = hint.Wrap(i.Errorf(0, "%s is a time step, not a field", n.Text),
			"for a field of the message with this name write field(%q)", n.Text)
	}
	n.Text = "" // names that denote the same are equal
	return n, err
}
