// Package list splits lists as flags have them, such as 'level,field("a, b")', at commas outside quotes and
// brackets, and makes lists for messages. Errors name the character in the list as typed.
package list

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Item is an item of a list, or a part of one, as typed, without the blanks around it.
type Item struct {
	// List is the whole list, At the offset of Text in it in bytes.
	List, Text string
	At         int
}

// Error is a fault in a list.
type Error struct {
	Problem string
	// Character is its position in the list, from 1.
	Character int
}

// Error returns the problem and its position.
func (e *Error) Error() string { return fmt.Sprintf("%s (at character %d)", e.Problem, e.Character) }

// Errorf is an [*Error] at an offset in the item, in bytes.
func (i Item) Errorf(offset int, format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...), i.Character(offset)}
}

// Character is the number of the character at an offset in the item, from 1, in the list.
func (i Item) Character(offset int) int {
	return utf8.RuneCountInString(i.List[:min(i.At+offset, len(i.List))]) + 1
}

// Slice is a part of the item.
func (i Item) Slice(from, to int) Item {
	text := i.Text[from:to]
	trimmed := strings.TrimLeft(text, blanks)
	i.At += from + len(text) - len(trimmed)
	i.Text = strings.TrimRight(trimmed, blanks)
	return i
}

const blanks = " \t\n"

// Split splits a list into items. An empty item is an error.
func Split(list string) ([]Item, error) {
	items, err := Item{List: list, Text: list}.Split()
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		if i.Text == "" {
			return nil, i.Errorf(0, "empty item")
		}
	}
	return items, nil
}

// Texts are the items of a list as texts.
func Texts(list string) ([]string, error) {
	items, err := Split(list)
	texts := make([]string, 0, len(items))
	for _, i := range items {
		texts = append(texts, i.Text)
	}
	return texts, err
}

// Split splits an item at commas outside quotes and brackets.
func (i Item) Split() ([]Item, error) {
	var parts []Item
	start := 0
	if err := i.Walk(func(at int) {
		if i.Text[at] == ',' {
			parts = append(parts, i.Slice(start, at))
			start = at + 1
		}
	}); err != nil {
		return nil, err
	}
	return append(parts, i.Slice(start, len(i.Text))), nil
}

// Walk calls f with the offset of every byte outside quotes and brackets; it fails where they do
// not match.
func (i Item) Walk(f func(at int)) error {
	var open []int // offsets of brackets
	for at := 0; at < len(i.Text); at++ {
		switch c := i.Text[at]; c {
		case '"', '\'', '`':
			end := QuotedEnd(i.Text[at:])
			if end < 0 {
				return i.Errorf(at, "quote %c is not closed", c)
			}
			if len(open) == 0 {
				f(at)
			}
			at += end - 1
		case '(', '[', '{':
			open = append(open, at)
		case ')', ']', '}':
			if len(open) == 0 || !matches(i.Text[open[len(open)-1]], c) {
				return i.Errorf(at, "%c was not opened", c)
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
		return i.Errorf(at, "%c is not closed", i.Text[at])
	}
	return nil
}

func matches(open, end byte) bool {
	return open == '(' && end == ')' || open == '[' && end == ']' || open == '{' && end == '}'
}

// QuotedEnd is the length in bytes of the quoted text that s starts with, -1 if it does not end.
func QuotedEnd(s string) int {
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

// Alternatives is "a, b or c".
func Alternatives(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
