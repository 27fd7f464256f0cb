// Package field has the names of fields as users write them in lists: fixed fields of a record, fields of its message, and time
// steps. Package where compiles conditions on them.
package field

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"logstow/internal/hint"
	"logstow/record/attributes"
)

// Fixed is one of the fields that every record has; "" is none.
type Fixed string

// The fixed fields.
const (
	Time     Fixed = "time"
	Level    Fixed = "level"
	Service  Fixed = "service"
	Source   Fixed = "source"
	Instance Fixed = "instance"
	Message  Fixed = "message"
)

// AllFixed are the fixed fields in the order in which they are printed.
func AllFixed() []Fixed { return []Fixed{Time, Level, Service, Source, Instance, Message} }

// IsFixed reports whether a name without more is that of a fixed field.
func IsFixed(name string) bool { return slices.Contains(AllFixed(), Fixed(name)) }

// Name is a name in a list: a fixed field, a time step or another field: an attribute or a field of the message.
//
//	time level service source instance message   a fixed field
//	5m, minute, hour, day                         a time step: a number and ms, s, m, h, d or w
//	message.level                                 the field of the whole message: see package parse
//	status, http-status, user.id                  a field of the message: no comma, bracket, quote or blank
//	field("any name"), field('any name')          a field of the message of any name, with Go's escapes
//	attribute.user.id, attribute("any name")      an attribute only, not a field of the message
type Name struct {
	// Text is the name as written.
	Text string
	// Fixed is the fixed field, "" if it is none.
	Fixed Fixed
	// Step is the time step; the zero value if it is none.
	Step Step
	// Field is the name of the attribute or field of the message, unless Fixed or Step is set.
	Field string
}

// IsField reports whether the name is that of a field of the message.
func (n Name) IsField() bool { return n.Fixed == "" && n.Step.IsZero() }

// The functions that denote fields of any name.
const (
	fieldCall     = "field"
	attributeCall = "attribute"
)

// CallPrefix returns what precedes the name in the name of the field that FUNCTION("NAME") denotes: nothing for field, and
// [attributes.Prefix] for attribute, which denotes attributes only.
func CallPrefix(function string) (prefix string, ok bool) {
	switch function {
	case fieldCall:
		return "", true
	case attributeCall:
		return attributes.Prefix, true
	}
	return "", false
}

// CallNames are the functions that denote fields.
func CallNames() []string { return []string{fieldCall, attributeCall} }

// WriteName writes the name of a field of the message in the shortest form that [ParseName] parses as that field. If the name is that
// of a fixed field, the form is message.NAME.
func WriteName(name string) string {
	if IsFixed(name) {
		return string(Message) + "." + name
	}
	if n, err := ParseName(name); err == nil && n.IsField() && n.Field == name && strings.IndexFunc(name, unprintable) < 0 {
		return name
	}
	if own, ok := strings.CutPrefix(name, attributes.Prefix); ok {
		return attributeCall + "(" + strconv.Quote(own) + ")"
	}
	return fieldCall + "(" + strconv.Quote(name) + ")"
}

func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// NameError is a syntax error in a name.
type NameError struct {
	// Name is the name as written.
	Name, Problem string
	// Offset is the position of the error in Name, in bytes.
	Offset int
}

// Error names the character, counted from 1.
func (e *NameError) Error() string {
	return fmt.Sprintf("%s: %s (at character %d)", e.Name, e.Problem, utf8.RuneCountInString(e.Name[:e.Offset])+1)
}

// ParseName parses one name. A syntax error is a [*NameError].
func ParseName(text string) (Name, error) {
	n := Name{Text: text}
	if IsFixed(text) {
		n.Fixed = Fixed(text)
		return n, nil
	}
	step, isStep, err := parseStep(text)
	if isStep || err != nil {
		n.Step = step
		return n, err
	}
	if function, quoted, call := strings.Cut(text, "("); call {
		if prefix, ok := CallPrefix(function); ok {
			n.Field, err = unquoteCall(function, quoted)
			n.Field = prefix + n.Field
			return n, err
		}
	}
	if text == "" {
		return n, errors.New("a name is empty")
	}
	if i := strings.IndexFunc(text, notBare); i >= 0 {
		err := &NameError{Name: text, Problem: fmt.Sprintf("a name cannot contain %q", firstRune(text[i:])), Offset: i}
		return n, hint.Wrap(err, "write field(%s)", strconv.Quote(text))
	}
	n.Field = text
	return n, nil
}

// notBare reports whether a character needs field("…") around the name.
func notBare(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune(",()[]{}\"'`", r)
}

func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

// unquoteCall parses the rest of FUNCTION("NAME") after the bracket.
func unquoteCall(function, rest string) (string, error) {
	before := function + "("
	fail := func(at int, problem string) (string, error) {
		at = min(at, len(rest))
		return "", &NameError{Name: before + rest, Problem: problem, Offset: len(before) + at}
	}
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return fail(0, "want a name in quotes")
	}
	quote := rest[0]
	var name []byte
	for at := 1; ; {
		switch {
		case at == len(rest):
			return fail(at, "the quote is not closed")
		case rest[at] == quote:
			if rest[at+1:] != ")" {
				return fail(at+1, "want ) at the end")
			}
			return string(name), nil
		case rest[at] != '\\':
			name = append(name, rest[at])
			at++
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(rest[at:], quote)
		if err != nil {
			return fail(at, "unknown escape")
		}
		if multibyte {
			name = utf8.AppendRune(name, r)
		} else {
			name = append(name, byte(r))
		}
		at = len(rest) - len(tail)
	}
}

// canonical returns a form in which names of the same thing are equal.
func (n Name) canonical() Name {
	n.Text = ""
	if own, ok := strings.CutPrefix(n.Field, string(Message)+"."); ok && IsFixed(own) {
		n.Field = own
	}
	return n
}

// Conflict returns an error if n cannot follow other in a list: they are the same, or both are time steps.
func (n Name) Conflict(other Name) error {
	switch {
	case n.canonical() == other.canonical() && n.Text == other.Text:
		return fmt.Errorf("%s is named twice", n.Text)
	case n.canonical() == other.canonical():
		return fmt.Errorf("%s and %s are the same", other.Text, n.Text)
	case !n.Step.IsZero() && !other.Step.IsZero():
		return adviseField(fmt.Errorf("%s and %s: a query has one time step", other.Text, n.Text), n.Text)
	}
	return nil
}

// ParseRecordNames is [ParseNames] without time steps.
func ParseRecordNames(texts []string) ([]Name, error) {
	names, err := ParseNames(texts)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if !n.Step.IsZero() {
			return nil, adviseField(fmt.Errorf("%s is a time step, not a field of a record", n.Text), n.Text)
		}
	}
	return names, nil
}

// adviseField adds a hint how to write a field of the message that has the name of a time step.
func adviseField(err error, name string) error {
	return hint.Wrap(err, "for a field of the message with this name write field(%q)", name)
}

// ParseNames parses the names of a list. Duplicates and more than one time step are errors.
func ParseNames(texts []string) ([]Name, error) {
	names := make([]Name, 0, len(texts))
	for _, text := range texts {
		n, err := ParseName(text)
		if err != nil {
			return nil, err
		}
		for _, other := range names {
			if err := n.Conflict(other); err != nil {
				return nil, err
			}
		}
		names = append(names, n)
	}
	return names, nil
}

// CutDirection splits off the direction of an item of an order, which follows a blank: asc or desc, "" if there is none.
func CutDirection(text string) (name, direction string) {
	text = strings.TrimSpace(text)
	if i := strings.LastIndexAny(text, " \t\n"); i >= 0 {
		if direction = strings.ToLower(text[i+1:]); direction == "asc" || direction == "desc" {
			return strings.TrimSpace(text[:i]), direction
		}
	}
	return text, ""
}
